"""Nothing leaves this machine and nothing is left on it elsewhere, measured below Python.

The Python hook of conftest.py sees neither native code nor other programs. Here strace does. Each detector is shown to
catch what it is for: the fault is put in, and it must be found.
"""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

from papers import book, line, pdf, picture, print_of, word_file
from served import WAIT_MS, Server, tab
from watched import CALLS, IS_CI, QUICK, STRACE, Place, require_strace, run
from watched import seen as watched

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.skipif(sys.platform != "linux", reason="strace")]

QUIET_S = 16.0
"""Longer than onnxruntime waits before it calls its maker: 10 s."""
SESSION = """
import sys, time
started = time.monotonic()
from docmind.cli import main

def docmind(*arguments):
    try:
        main(list(arguments), prog_name="docmind")
    except SystemExit as ended:
        assert not ended.code, (arguments, ended.code)

folder = sys.argv[1] if len(sys.argv) > 1 else "expected"
docmind("add", folder)
docmind("list")
docmind("search", "apples in the orchard")
docmind("ask", "What do orchards grow?")
docmind("search", "--image", folder + "/print.png")
docmind("status")
time.sleep(max(0, QUIET_S - (time.monotonic() - started)))
""".replace("QUIET_S", str(QUIET_S))
OBSERVED = """
import os, threading
from http.server import BaseHTTPRequestHandler, HTTPServer

class Collector(BaseHTTPRequestHandler):
    sent = 0
    def do_POST(self):
        Collector.sent += len(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_): ...

server = HTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=server.serve_forever, daemon=True).start()
from docmind.config import Settings, TraceSettings
from docmind.network import network_guard
from docmind.observability import OcrFailed, emit, process_metrics, start_logs, start_traces, stop_traces, traced

settings = Settings(log_format="json", traces=TraceSettings(url=f"http://127.0.0.1:{server.server_port}/v1/traces"))
network_guard().hold(settings.network.strict)
start_logs(settings)
metrics = process_metrics()
start_traces(settings)
with traced("ingest"):
    emit(OcrFailed("d::page::1"))
stop_traces()
assert Collector.sent > 0
assert b"rag_ocr_failures_total 1.0" in metrics.exposition({}, is_open=True)
"""
HOSTILE = {
    "OTEL_EXPORTER_OTLP_ENDPOINT": "http://192.0.2.7:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://192.0.2.7/t",
    "OTEL_EXPORTER_ZIPKIN_ENDPOINT": "http://192.0.2.7:9411", "OTEL_TRACES_EXPORTER": "otlp,zipkin,console",
    "OTEL_METRICS_EXPORTER": "otlp", "OTEL_LOGS_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "false",
    "OTEL_EXPERIMENTAL_RESOURCE_DETECTORS": "host,os,process", "OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED": "true",
    "OTEL_EXPORTER_OTLP_HEADERS": "a=b", "HTTP_PROXY": "http://192.0.2.8:3128", "ALL_PROXY": "socks5://192.0.2.8:1080",
}  # fmt: skip
"""What a person or another program may have set for OpenTelemetry."""
WRITES_VALUES = """
import prometheus_client
prometheus_client.Counter("herons", "Herons.").inc()
"""
WITHOUT_SWITCH = """
import os, time
from docmind.runtime import quiet
quiet.VARIABLES.pop("ORT_DISABLE_TELEMETRY")
os.environ.pop("ORT_DISABLE_TELEMETRY")
from docmind.late_interaction.maxsim_onnx import OrtKernel
OrtKernel()
time.sleep(QUIET_S)
""".replace("QUIET_S", str(QUIET_S))
WITHOUT_DOCMIND = """
import ctypes
found = ctypes.c_void_p()
ctypes.CDLL(None).getaddrinfo(b"telemetry.invalid", b"443", None, ctypes.byref(found))
"""
LEAVES_FILES = """
import pathlib, subprocess, sys
pathlib.Path.home().joinpath(".surprise").mkdir()
make = "import os, pathlib, tempfile; os.chdir(tempfile.gettempdir()); pathlib.Path('left').touch()"
subprocess.run([sys.executable, "-c", make], check=True)
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def documents(folder: Path) -> None:
    """One of each kind that is read by another process: PDF, scan, book, office file, picture."""
    folder.mkdir()
    (folder / "text.pdf").write_bytes(pdf([line("Orchards grow apples and pears."), line("The harvest is in autumn.")]))
    out = io.BytesIO()
    page = pypdfium2.PdfDocument(pdf([line("The assembly meets in the hall.", size=30)]))[0]
    page.render(scale=2).to_pil().convert("RGB").save(out, "PDF")
    (folder / "scan.pdf").write_bytes(out.getvalue())
    (folder / "book.epub").write_bytes(book(["<h1>Trees</h1><p>An orchard is planted in rows.</p>"]))
    (folder / "office.docx").write_bytes(word_file())
    (folder / "half.png").write_bytes(picture())
    print_of(["Orchards grow apples", "in the valley of the river"]).save(folder / "print.png")


def test_no_command_reaches_out_or_leaves_files(place: Place) -> None:
    documents(place.folder / "expected")
    seen = run(place, SESSION)
    assert seen.calls > 1_000, "the trace is empty"
    assert not seen.outside
    assert not seen.left


@pytest.mark.browser
def test_the_app_reaches_nobody_and_leaves_no_files(
    browser: Any, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_strace()
    for name in IS_CI:
        monkeypatch.delenv(name, raising=False)
    documents(place.folder / "expected")
    # The guard would answer each connection itself, unseen by a quick trace: it is on in the test above.
    own = {name: value for name, value in place.environment.items() if not name.startswith("DOCMIND_")}
    server = Server(place.folder, PYTHONDONTWRITEBYTECODE="1", **own, DOCMIND_NETWORK__STRICT="off")
    server.before = (*STRACE, CALLS, QUICK, "-o", str(place.folder / "trace"))
    server.start()
    try:
        with tab(browser, server) as one:
            one.page.set_default_timeout(4 * WAIT_MS)  # six readers start, on a busy machine
            one.open("Documents")
            one.add(*((path.name, path.read_bytes()) for path in sorted((place.folder / "expected").iterdir())))
            read = time.monotonic()
            one.go("Ask")
            one.ask("What do orchards grow?")
            one.go("Settings")
            one.page.get_by_role("tab", name="Appearance").wait_for()
            one.page.wait_for_timeout(max(0.0, QUIET_S - (time.monotonic() - read)) * 1_000)
    finally:
        server.stop()
    seen = watched(place, place.folder / "trace")
    assert seen.calls > 1_000, "the trace is empty"
    assert not seen.outside
    assert not seen.left


def test_telemetry_that_is_not_switched_off_is_caught(place: Place) -> None:
    seen = run(place, WITHOUT_SWITCH, is_quick=True)
    assert any("port 53" in call or "name service" in call for call in seen.outside)
    assert any(path.endswith("deviceid") for path in seen.left)
    assert any(path.endswith(".ses") for path in seen.left)


def test_a_name_looked_up_by_native_code_is_caught(place: Place) -> None:
    assert run(place, WITHOUT_DOCMIND, is_quick=True).outside


def test_a_file_left_elsewhere_is_caught(place: Place) -> None:
    seen = run(place, LEAVES_FILES, is_quick=True)
    assert {Path(path).name for path in seen.left} == {".surprise", "left"}
    assert not seen.outside


def test_metrics_logs_and_traces_reach_and_leave_nothing_whatever_the_environment_says(place: Place) -> None:
    values = place.home / "values"
    values.mkdir()
    told = HOSTILE | {"PROMETHEUS_MULTIPROC_DIR": str(values), "OTEL_CONFIG_FILE": str(values / "c.yml")}
    seen = run(place, OBSERVED, **told)  # pyright: ignore[reportArgumentType]
    assert seen.calls > 50, "the trace is empty"
    assert not seen.outside
    assert not seen.left
    assert list(values.iterdir()) == []


def test_values_of_metrics_that_are_written_are_caught(place: Place) -> None:
    values = place.home / "values"
    values.mkdir()
    assert run(place, WRITES_VALUES, is_quick=True, PROMETHEUS_MULTIPROC_DIR=str(values)).left
