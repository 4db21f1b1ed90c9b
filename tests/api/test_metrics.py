"""Metrics of the app: for programs with a token, of an open library and of a locked one, and by a real Prometheus."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.responses import Response
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from conftest import ROOT, require
from desks import settings_in, text_pdf
from docmind.access import Launch
from docmind.api.metrics import MetricsPage
from docmind.api.programs import Programs
from docmind.application import DocMind
from docmind.client import connect
from docmind.errors import KeyUnavailableError
from docmind.records.documents import Upload
from served import Server

HERONS = text_pdf(["Herons wait in shallow water for fish.", "Herons nest in tall trees."])


async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
    await Response("the app", 418)(scope, receive, send)


def page(opened: Callable[[], DocMind]) -> TestClient:
    launch = Launch()
    return TestClient(MetricsPage(nothing, launch, Programs(launch, opened), opened), "http://127.0.0.1")


@pytest.mark.slow
def test_who_may_ask_and_what_a_locked_library_tells(tmp_path: Path) -> None:
    is_locked = False

    with DocMind(settings_in(tmp_path)) as desk:

        def opened() -> DocMind:
            if is_locked:
                raise KeyUnavailableError("It is locked.")
            return desk

        desk.add([Upload("herons.pdf", HERONS)])
        made = desk.tokens.new("prometheus")
        given = {"authorization": f"Bearer {made.secret}"}
        client = page(opened)
        assert client.get("/metrics").status_code == 401
        assert client.get("/metrics", headers={"authorization": f"Bearer {made.secret}x"}).status_code == 401
        assert client.get("/metrics", headers={**given, "origin": "http://127.0.0.1"}).status_code == 403
        assert client.get("/metrics", headers={**given, "host": "evil.example"}).status_code == 403
        assert client.post("/metrics", headers=given).status_code == 405
        assert client.get("/metrics/more", headers=given).status_code == 418
        told = client.get("/metrics", headers=given)
        assert told.status_code == 200
        assert told.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert told.headers["cache-control"] == "no-store"
        assert "\nrag_documents 1.0\nrag" in re.sub(r"# .*\n", "", told.text)
        assert "\nrag_pages 2.0\n" in told.text
        assert "\nrag_queue_length 0.0\n" in told.text
        assert "\nrag_library_open 1.0\n" in told.text
        assert 'rag_degraded{part="text model"} 0.0' in told.text
        assert float(re.findall(r"\nrag_index_size_bytes (\S+)", told.text)[0]) > 0
        assert 'rag_refused_connections_total{part="native"}' in told.text
        assert not re.search(r"heron|prometheus\b", told.text, re.IGNORECASE)
        assert str(tmp_path) not in told.text

        assert "rag_eval_" not in told.text
        run = desk.evaluation.run(sample_in(tmp_path / "birds"), k=2)
        told = client.get("/metrics", headers=given)
        assert re.findall(r"\nrag_eval_(ndcg|recall|mrr) (\S+)", told.text) == [
            (name, str(run.figures[name].mean)) for name in ("ndcg", "recall", "mrr")
        ]

        lost = {"authorization": f"Bearer {desk.tokens.new('lost').secret}"}
        assert client.get("/metrics", headers=lost).status_code == 200
        desk.tokens.revoke("lost")  # nobody asks between this and the lock
        is_locked = True
        assert client.get("/metrics", headers=lost).status_code == 423
        told = client.get("/metrics", headers=given)
        assert told.status_code == 200
        assert "\nrag_library_open 0.0\n" in told.text
        assert "process_start_time_seconds" in told.text
        assert not re.search(r"^rag_(?!library_open|refused|child)", told.text, re.MULTILINE)
        assert client.get("/metrics", headers={"authorization": f"Bearer docmind_{'x' * 43}"}).status_code == 423
        # The app was started again, and nobody has opened the library yet.
        assert page(opened).get("/metrics", headers=given).status_code == 423


def sample_in(folder: Path) -> Path:
    """Write a labelled set of one document and two questions, of which one finds nothing."""
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "storks.txt").write_text("Storks nest on chimneys and clatter.")
    relevant = [{"doc": "storks.txt", "page": 1, "relevance": 2}], [{"doc": "owls.txt", "page": 1, "relevance": 2}]
    rows = [
        {"id": f"q{n}", "query": "storks on chimneys", "lang": "en", "category": "number", "relevant": one}
        for n, one in enumerate(relevant)
    ]
    (folder / "queries.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    return folder


@contextmanager
def prometheus(folder: Path, token: str, port: int) -> Iterator[str]:
    """Run the real Prometheus by the example of `monitoring/`, and yield its address."""
    program = shutil.which("prometheus")
    require(program, "Prometheus (apt-get install prometheus)")
    assert program
    shutil.copytree(ROOT / "monitoring", folder)
    example = (folder / "prometheus.yml").read_text("utf-8")
    assert "127.0.0.1:8600" in example
    own = example.replace("127.0.0.1:8600", f"127.0.0.1:{port}").replace("scrape_interval: 15s", "scrape_interval: 1s")
    (folder / "prometheus.yml").write_text(own, "utf-8")
    (folder / "docmind.token").write_text(token, "utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        listening = f"127.0.0.1:{probe.getsockname()[1]}"
    command = [
        program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
        f"--web.listen-address={listening}", "--log.level=error",
    ]  # fmt: skip
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "GOMAXPROCS": "1"})
    try:
        yield f"http://{listening}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def value_of(address: str, expression: str) -> float | None:
    """Return what Prometheus says of an expression; None while it knows nothing."""
    try:
        with urllib.request.urlopen(
            f"{address}/api/v1/query?{urllib.parse.urlencode({'query': expression})}", timeout=10
        ) as answer:
            result = json.load(answer)["data"]["result"]
    except OSError:
        return None
    return float(result[0]["value"][1]) if result else None


@pytest.mark.slow
def test_prometheus_scrapes_the_app(tmp_path: Path) -> None:
    server = Server(tmp_path, DOCMIND_EMBEDDING__MODEL="fake", DOCMIND_READING__OCR="off")
    server.start()
    try:
        client = connect(tmp_path / "data")
        client.add([Upload("herons.pdf", HERONS)])
        client.ask("Where do herons nest?")
        secret = client.tokens.new("prometheus").secret
        with prometheus(tmp_path / "monitoring", secret, server.port) as address:
            until = time.monotonic() + 60
            while value_of(address, "rag_ingestion_docs_total") is None and time.monotonic() < until:
                time.sleep(0.2)
            log = (tmp_path / "monitoring" / "log").read_text()
            assert value_of(address, 'up{job="docmind"}') == 1, log
            assert value_of(address, "rag_ingestion_docs_total") == 1
            assert value_of(address, "rag_ingestion_chunks_total") == 2
            assert value_of(address, 'rag_retrieval_latency_ms_count{list="text"}') == 1
            assert value_of(address, 'sum(rag_answers_total{outcome=~"answer|maybe"})') == 1
            assert value_of(address, "rag_library_open") == 1
            assert value_of(address, "rag_queue_length") == 0
            assert (value_of(address, "rag_index_size_bytes") or 0) > 0
            assert (value_of(address, "process_resident_memory_bytes") or 0) > 1 << 20
            with urllib.request.urlopen(f"{address}/api/v1/rules", timeout=10) as answer:
                groups = json.load(answer)["data"]["groups"]
            assert [rule["health"] in ("ok", "unknown") for rule in groups[0]["rules"]] == [True] * 4
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("GET", "/metrics")
        assert connection.getresponse().status == 401
    finally:
        server.stop()
    assert "Traceback" not in server.log()
