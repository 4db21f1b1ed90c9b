"""What metrics and logs cost: the same work in turn with what listens to events and without, in one process."""

from __future__ import annotations

import argparse
import logging
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from harness import Times, filled_vault, paper, questions

from docmind.application import DocMind
from docmind.observability import Event, Metrics, add_sink, remove_sink
from docmind.observability.logs import EventLog
from docmind.records.documents import Upload
from docmind.runtime.logging import JsonLines

_DOCUMENTS, _NODES, _PAGES = 200, 4_000, 4
_SEARCHES, _FILES = 300, 12  # pairs, unless `--size` says how many searches; a file for each 25 of them


class Observed:
    """Metrics and a log at level info, as the app has them; how long they took, and what the log wrote later."""

    def __init__(self) -> None:
        self.metrics, self.log = Metrics(), EventLog()
        self.inside_ms = 0.0

    def take(self, event: Event) -> None:
        """Give an event to both, as `emit` does, and add the time."""
        started = time.perf_counter()
        self.metrics.count(event)
        self.log.take(event)
        self.inside_ms += (time.perf_counter() - started) * 1_000

    def written_ms(self) -> float:
        """Write what the log holds back, and return the milliseconds: in the app this runs beside other work."""
        started = time.perf_counter()
        self.log.flush()
        return (time.perf_counter() - started) * 1_000

    def answered_ms(self) -> float:
        """Return the milliseconds that one answer to Prometheus takes, with the counting of what waits."""
        started = time.perf_counter()
        self.metrics.exposition({}, is_open=True)
        return (time.perf_counter() - started) * 1_000


def bench_observed(options: argparse.Namespace) -> None:
    """Compare a search and adding a file with metrics and JSON logs, and without; in turn, so that pairs are fair."""
    searches = options.size or _SEARCHES
    files = max(2, searches * _FILES // _SEARCHES)
    with _logging_to_a_file(), filled_vault(documents=_DOCUMENTS, nodes=_NODES) as settings, DocMind(settings) as desk:
        desk.search("warm")
        desk.add([Upload("warm.pdf", paper(_PAGES, seed=9_999))])
        asked = questions(searches)

        def search(number: int) -> None:
            desk.queries.drop()
            desk.search(asked[number // 2])

        def add(number: int) -> None:
            (result,) = desk.add([Upload(f"{number}.pdf", paper(_PAGES, seed=number))])
            assert result.status == "added", result

        _compare("search", search, searches)
        _compare(f"add a PDF of {_PAGES} pages", add, files)


def _compare(name: str, work: Callable[[int], object], pairs: int) -> None:
    """Do the work twice for each pair, with and without, the one that begins by turns; print what it cost."""
    observed = Observed()
    with_them, without, inside, later = Times(), Times(), Times(), Times()
    for pair in range(pairs):
        for is_with in (True, False) if pair % 2 else (False, True):
            observed.inside_ms = 0.0
            if is_with:
                add_sink(observed.take)
            with (with_them if is_with else without).one():
                work(2 * pair + is_with)
            if is_with:
                remove_sink(observed.take)
                inside.append(observed.inside_ms)
                later.append(observed.written_ms())
    answer, empty = observed.answered_ms(), observed.answered_ms()
    counted = max(0.0, answer - empty) / pairs
    differences = [one - other for one, other in zip(with_them, without, strict=True)]
    low, high = _interval(differences)
    percent = 100 / without.median
    print(f"{name}, {pairs} pairs: with {with_them.median:.2f} ms, without {without.median:.2f} ms (medians)")
    print(
        f"{name}: difference of a pair {statistics.median(differences):+.3f} ms, 95% interval {low:+.3f} to {high:+.3f}"
        f" ms ({low * percent:+.2f}% to {high * percent:+.2f}%)"
    )
    print(f"{name}: inside metrics and logs {inside.median * 1e3:.0f} µs ({inside.median * percent:.3f}%)")
    both = later.median + counted
    print(
        f"{name}: later, in other threads, written {later.median * 1e3:.0f} µs, counted {counted * 1e3:.0f} µs"
        f" ({both * percent:.3f}%); an answer to Prometheus {empty:.1f} ms"
    )


def _interval(values: list[float]) -> tuple[float, float]:
    """Return the 95% bootstrap interval of the median."""
    random = np.random.default_rng(5)
    medians = np.median(np.asarray(values)[random.integers(0, len(values), (2_000, len(values)))], axis=1)
    low, high = np.quantile(medians, (0.025, 0.975))
    return float(low), float(high)


@contextmanager
def _logging_to_a_file() -> Iterator[None]:
    """Write the log of events to a file, as JSON at level info."""
    events = logging.getLogger("docmind.events")
    with tempfile.TemporaryFile("w", encoding="utf-8") as file:
        handler = logging.StreamHandler(file)
        handler.setFormatter(JsonLines())
        events.addHandler(handler)
        events.setLevel(logging.INFO)
        events.propagate = False
        yield
        events.removeHandler(handler)
