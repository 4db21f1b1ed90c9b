"""Child processes forked and spawned: their start, the first file of an open app, memory."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Literal

import psutil
from harness import ROOT, Times, app_over, environment_of, fresh_vault, memory_of_tree_mb, paper, wait_for_server

from docmind.client import connect
from docmind.records.documents import Upload
from docmind.runtime import Limits, Worker, fork_server_pid, start_children

_WAYS: tuple[Literal["auto", "spawn"], ...] = ("auto", "spawn")
_ENTRY = "docmind.reading.process:serve"
_FILES, _STARTS, _PAGES = 5, 10, 20


def bench_children() -> None:
    """Start reading processes, then add files to an open app, with children forked and with an interpreter for each."""
    for way in _WAYS:
        start_children(way)
        first = _started()
        rest = [_started() for _ in range(_STARTS)]
        wall, cpu, memory = (sorted(values)[len(values) // 2] for values in zip(*rest, strict=True))
        print(
            f"{way}: the first reading process answers after {first[0]:.0f} ms; later ones after {wall:.1f} ms,"
            f" {cpu:.0f} ms of processor time, {memory:.0f} MB of their own"
        )
        if (number := fork_server_pid()) is not None and way == "auto":
            used = psutil.Process(number).cpu_times()
            print(
                f"      forked from a process of {psutil.Process(number).memory_info().rss >> 20} MB,"
                f" {1000 * (used.user + used.system):.0f} ms of processor time"
            )
    start_children("auto")
    for way in _WAYS:
        _in_an_app(way)


def _started() -> tuple[float, float, float]:
    """Start a reading process; return ms until it answers, its processor time in ms, and the MB it shares with none."""
    began = time.perf_counter()
    worker = Worker(_ENTRY, Limits(memory_mb=2_048, file_mb=0, is_confined=True))
    try:
        worker.isolation()
        wall_ms = (time.perf_counter() - began) * 1000
        time.sleep(0.5)  # what it imports after its first frame counts too
        child = psutil.Process(worker.pid)
        used = child.cpu_times()
        return wall_ms, 1000 * (used.user + used.system), child.memory_full_info().uss / 2**20
    finally:
        worker.kill()


def _in_an_app(way: str) -> None:
    with fresh_vault() as settings, tempfile.TemporaryDirectory() as folder:
        with app_over(settings, DOCMIND_PROCESSES__START=way) as (port, server):
            wait_for_server(port)
            environment = environment_of(settings)
            client = connect(settings.data_dir)
            client.search("warm")
            time.sleep(5)
            texts, pages = Times(), Times()
            for number in range(_FILES):
                path = Path(folder, f"{number}.txt")
                path.write_text(f"Note {number}. " + "The heron nests beside the river. " * 30)
                with texts.one():
                    subprocess.run(
                        [sys.executable, "-m", "docmind", "add", str(path)],
                        cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL,
                    )  # fmt: skip
            for number in range(_FILES):
                before = client.queue.progress().pages_done
                with pages.one():
                    (upload_id,) = client.queue.submit([Upload(f"{number}.pdf", paper(_PAGES, seed=number))])
                    while client.queue.progress().pages_done == before:
                        time.sleep(0.005)
                client.wait_for([upload_id])
            memory = memory_of_tree_mb(server.pid)
        print(f"{way}: `docmind add` of 1 KB beside the app {texts[0]:.0f} ms, then {Times(texts[1:])}")
        print(f"      the first pages of a PDF {pages[0]:.0f} ms, then {Times(pages[1:])}; {memory:.0f} MB in all")
