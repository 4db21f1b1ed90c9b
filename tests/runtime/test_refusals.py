"""Network calls that children are refused are counted in their owner, and counts of a hostile child are checked."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from docmind.errors import WorkerFailedError
from docmind.network import network_ledger
from docmind.runtime import Worker, refusals, refused_calls
from docmind.runtime.worker import read_request, write_frame


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let children import their entry functions from this file; other tests do not find what they counted."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    before = refusals.take()
    yield
    refusals.take()
    refusals.add(before)


def reaching(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Try to reach other machines by Python calls, then answer; the entry of a child."""
    while read_request(incoming) is not None:
        for attempt in (
            lambda: socket.create_connection(("192.0.2.9", 443)),
            lambda: socket.getaddrinfo("telemetry.invalid", 80),
        ):
            with contextlib.suppress(OSError):
                attempt()
        write_frame(outgoing, {"done": True})


def test_python_calls_of_a_child_are_counted_in_its_owner() -> None:
    before = refused_calls()
    worker = Worker("test_refusals:reaching")
    try:
        assert worker.call({}, timeout_s=60) == ({"done": True}, [])
        worker.call({}, timeout_s=60)
    finally:
        worker.close()
    now = {place: number - before.get(place, 0) for place, number in refused_calls().items()}
    assert now["telemetry.invalid:80"] == 2
    report = network_ledger().report()
    assert ("telemetry.invalid:80", "children") in {(one.place, one.part) for one in report.refused}


def lying(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Send counts that are none; the entry of a child."""
    read_request(incoming)
    told = {"\x1b[2J" + "y" * 200: 3, "negative": -1, "text": "1", "true": True, "huge": 1 << 70}
    write_frame(outgoing, {"refused": told})
    write_frame(outgoing, {"refused": ["no", "counts"]})


def test_counts_of_a_hostile_child_are_checked() -> None:
    before = refused_calls()
    worker = Worker("test_refusals:lying")
    try:
        assert worker.call({}, timeout_s=60) == ({}, [])
        assert worker.receive(60) == ({}, [])
        with pytest.raises(WorkerFailedError):
            worker.receive(60)
    finally:
        worker.close()
    new = {place: number for place, number in refused_calls().items() if place not in before}
    assert new == {"?[2J" + "y" * 76: 3}
