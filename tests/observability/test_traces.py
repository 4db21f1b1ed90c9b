"""Traces: off by default, of parts inside one another, without text, and sent only where it is allowed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode, get_current_span

from desks import opened, text_pdf
from docmind.config import LLMSettings, Settings, TraceSettings
from docmind.errors import ConfigError, EndpointRefusedError, ExtraMissingError
from docmind.network import network_ledger
from docmind.observability import Embedded, OcrRead, emit, start_traces, stop_traces, traced, traces
from docmind.records.documents import Upload
from docmind.runtime import extras


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    traces._trace_to(exporter, is_at_once=True)
    yield exporter
    stop_traces()


def tree(exporter: InMemorySpanExporter) -> list[tuple[str, str]]:
    """Return each span's name with that of the one it lies in."""
    ended = exporter.get_finished_spans()
    names = {span.context.span_id: span.name for span in ended if span.context}
    return [(span.name, names.get(span.parent.span_id, "?") if span.parent else "") for span in ended]


def one(exporter: InMemorySpanExporter, name: str) -> ReadableSpan:
    (found,) = [span for span in exporter.get_finished_spans() if span.name == name]
    return found


def lasted(span: ReadableSpan) -> int:
    return (span.end_time or 0) - (span.start_time or 0)


@pytest.mark.slow
def test_a_reading_and_an_answer_are_traced(tmp_path: Path, spans: InMemorySpanExporter) -> None:
    with opened(tmp_path) as desk:
        (added,) = desk.add([Upload("herons.pdf", text_pdf(["Herons wait in shallow water for fish."]))])
        (event,) = one(spans, "ingest").events
        assert event.name == "ingestion_completed"
        told = dict(event.attributes or {})
        assert (told["docmind.document_id"], told["docmind.chunks"]) == (added.doc_id, 1)
        spans.clear()
        desk.ask("Where do herons wait?")
        assert {("search.text", "search"), ("search", "answer"), ("answer", "")} <= set(tree(spans))
        assert dict(one(spans, "answer").attributes or {})["docmind.outcome"] == "answer"
        assert dict(one(spans, "search").attributes or {})["docmind.hits"] == 1
        whole, part = one(spans, "search"), one(spans, "search.text")
        assert 0 < lasted(part) <= lasted(whole)
        spans.clear()
        desk.conversations.ask("Where do herons wait?")
        assert ("answer", "") in tree(spans)


def test_an_error_is_told_by_its_class_alone(spans: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match="secret"), traced("search"):
        raise ValueError("secret")
    span = one(spans, "search")
    assert dict(span.attributes or {}) == {"error.type": "ValueError"}
    assert (span.status.status_code, span.status.description, span.events) == (StatusCode.ERROR, None, ())


def test_events_of_a_span_lie_in_it_and_others_are_dropped(spans: InMemorySpanExporter) -> None:
    emit(OcrRead("a::page::1", 0.9))
    with traced("ingest"):
        emit(OcrRead("a::page::2", 0.8))
        emit(Embedded("e5", 3, 40.0))
        assert not get_current_span().get_span_context().is_valid  # libraries that trace do not see it
    assert tree(spans) == [("embed", "ingest"), ("ingest", "")]
    (event,) = one(spans, "ingest").events
    assert dict(event.attributes or {})["docmind.page_id"] == "a::page::2"
    assert lasted(one(spans, "embed")) == 40_000_000


@pytest.mark.slow
def test_nothing_is_traced_and_nothing_imported_where_no_address_is_set() -> None:
    script = (
        "import sys\nfrom docmind.config import Settings\nfrom docmind.observability import start_traces, traced\n"
        "start_traces(Settings())\nwith traced('search'):\n    pass\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# --- what is sent -----------------------------------------------------------------------------------------------------


class Collector(BaseHTTPRequestHandler):
    """Keeps what it is sent, and answers with a status."""

    got: list[tuple[str, dict[str, str], bytes]]
    status = 200
    elsewhere = ""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(self.status)
        if self.elsewhere:
            self.send_header("Location", self.elsewhere)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002 - the name there


@pytest.fixture
def collector() -> Iterator[tuple[str, type[Collector]]]:
    handler = type("Handler", (Collector,), {"got": [], "status": 200, "elsewhere": ""})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/traces", handler
    server.shutdown()
    thread.join()
    server.server_close()
    stop_traces()


def test_spans_are_sent_without_this_machine_and_without_the_environment(
    collector: tuple[str, type[Collector]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, handler = collector
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "host.name=secret")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "secret=secret")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "secret")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    start_traces(Settings(traces=TraceSettings(url=url)))
    start_traces(Settings(traces=TraceSettings(url=url)))  # once in a process
    with traced("search"):
        pass
    stop_traces()
    ((path, headers, body),) = handler.got
    assert path == "/v1/traces"
    assert set(headers) <= {
        "host", "user-agent", "accept", "accept-encoding", "connection", "content-length", "content-type",
    }  # fmt: skip
    assert b"secret" not in body
    sent = ExportTraceServiceRequest.FromString(body).resource_spans[0]
    assert [one.key for one in sent.resource.attributes] == ["service.name", "service.version"]
    assert [span.name for span in sent.scope_spans[0].spans] == ["search"]


def test_a_collector_that_refuses_is_a_line_in_the_log(
    collector: tuple[str, type[Collector]], caplog: pytest.LogCaptureFixture
) -> None:
    url, handler = collector
    handler.status = 503
    start_traces(Settings(traces=TraceSettings(url=url)))
    with traced("search"):
        pass
    stop_traces()
    assert "traces were not taken: status 503" in caplog.text


ODD = {
    "OTEL_ATTRIBUTE_COUNT_LIMIT": "-1", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "many", "OTEL_BSP_MAX_QUEUE_SIZE": "-5",
    "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "100000", "OTEL_PYTHON_METER_PROVIDER": "none", "OTEL_PYTHON_CONTEXT": "none",
    "OTEL_TRACES_SAMPLER": "always_off", "OTEL_SDK_DISABLED": "true",
}  # fmt: skip


@pytest.mark.slow
def test_variables_of_opentelemetry_stop_and_change_nothing(collector: tuple[str, type[Collector]]) -> None:
    url, handler = collector
    script = (
        "import os\nfrom docmind.config import Settings, TraceSettings\n"
        "from docmind.observability import start_traces, stop_traces, traced\n"
        f"start_traces(Settings(traces=TraceSettings(url={url!r})))\nwith traced('search'):\n    pass\nstop_traces()\n"
        "assert [name for name in os.environ if name.startswith('OTEL_')] == ['OTEL_SDK_DISABLED']\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | ODD, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert len(handler.got) == 1


def test_a_collector_that_sends_elsewhere_is_not_followed(collector: tuple[str, type[Collector]]) -> None:
    url, handler = collector
    handler.status, handler.elsewhere = 307, url.replace("/v1/traces", "/elsewhere")
    start_traces(Settings(traces=TraceSettings(url=url)))
    with traced("search"):
        pass
    stop_traces()
    assert [path for path, _headers, _body in handler.got] == ["/v1/traces"]


def test_a_collector_that_does_not_answer_is_waited_for_once(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:  # the system accepts, and nobody answers
        start_traces(Settings(traces=TraceSettings(url=f"http://127.0.0.1:{server.getsockname()[1]}/v1/traces")))
        for _ in range(1_500):  # three batches
            with traced("search"):
                pass
        stop_traces()
        server.setblocking(False)
        server.accept()[0].close()
        with pytest.raises(BlockingIOError):
            server.accept()
    assert caplog.text.count("traces could not be sent") == 1


@pytest.mark.parametrize(
    "url", ["http://user:secret@127.0.0.1:4318/v1/traces", "http://2130706433:4318/v1/traces", "file:///etc/passwd"]
)
def test_addresses_that_hide_where_they_lead_are_refused(url: str) -> None:
    with pytest.raises((EndpointRefusedError, ConfigError, ValueError)) as refused:
        start_traces(Settings(traces=TraceSettings(url=url)))
    assert "secret" not in str(refused.value)


def test_another_machine_is_refused_unless_it_is_allowed() -> None:
    before = sum(place.count for place in network_ledger().report().refused)
    there = TraceSettings(url="http://192.0.2.7:4318/v1/traces")
    with pytest.raises(EndpointRefusedError, match=r"192\.0\.2\.7"):
        start_traces(Settings(traces=there))
    assert sum(place.count for place in network_ledger().report().refused) == before + 1
    start_traces(Settings(traces=there, llm=LLMSettings(allowed_hosts="192.0.2.7")))
    stop_traces()


def test_without_the_extra_the_install_line_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.EXTRAS, "traces", ("Traces", ("no_such_package.inner",)))
    with pytest.raises(ExtraMissingError, match=r"no_such_package\.inner") as error:
        start_traces(Settings(traces=TraceSettings(url="http://127.0.0.1:4318/v1/traces")))
    assert error.value.hint == 'Run: pip install "docmind[traces]".'
