"""Metrics at `/metrics` of the app's own server, for a Prometheus of its user with a token.

A request is checked as one of REST is (`docmind.api.programs`). It opens no library and is no use of the app: a library
that locks itself when idle does so although it is asked every few seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from docmind.access import Launch
from docmind.api.programs import PRIVATE, Permit, Programs
from docmind.errors import DocMindError, KeyUnavailableError
from docmind.network import network_ledger
from docmind.records.evaluation import Metric
from docmind.runtime import restarts

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.observability import Reading

_FORMAT = "text/plain; version=0.0.4; charset=utf-8"
_LOOKED_S = 60.0  # what is installed is looked up this often
_EVALUATED: tuple[Metric, ...] = ("ndcg", "recall", "mrr")


class MetricsPage:
    """ASGI middleware that answers at `/metrics`; it belongs outside the guard of browsers."""

    def __init__(self, app: ASGIApp, launch: Launch, programs: Programs, opened: Callable[[], DocMind]) -> None:
        """Tell of the library that `opened` returns; it opens none, and raises `KeyUnavailableError` where none is."""
        self._app, self._launch, self._programs, self._opened = app, launch, programs, opened
        self._looked_s, self._degraded = float("-inf"), dict[str, float]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].rstrip("/") != f"{self._launch.prefix}/metrics":
            await self._app(scope, receive, send)
            return
        answer = await self._programs.admit(scope)
        if isinstance(answer, Permit):
            if scope["method"] in ("GET", "HEAD"):
                told = await run_in_threadpool(self._told)
                answer = Response(told, media_type=_FORMAT, headers=PRIVATE)
            else:
                answer = Response(status_code=405, headers={**PRIVATE, "allow": "GET, HEAD"})
        await answer(scope, receive, send)

    def _told(self) -> bytes:
        from docmind.observability import process_metrics

        refused = network_ledger().report().refused
        parts = ("python", "native", "children")
        readings: dict[str, Reading] = {
            "rag_child_restarts": _by_child(restarts()),
            "rag_refused_connections": {part: sum(one.count for one in refused if one.part == part) for part in parts},
        }
        is_open = False
        try:
            readings |= self._of_library(self._opened())
            is_open = True
        except KeyUnavailableError:
            pass
        except DocMindError:  # it is being closed, or the disk fails: what was counted is told
            is_open = True
        return process_metrics().exposition(readings, is_open=is_open)

    def _of_library(self, docmind: DocMind) -> dict[str, Reading]:
        from docmind import capabilities  # loads much, and the app answers first

        documents, pages, _nodes = docmind.documents.counts()
        if time.monotonic() - self._looked_s >= _LOOKED_S:
            parts = capabilities.of(docmind.configured, docmind.vault.keys.source, docmind.models.capability())
            missing = {part.name for part in parts if part.state == "missing"}
            self._degraded = {name: float(name in missing) for name in capabilities.NAMES}
            self._looked_s = time.monotonic()
        size = docmind.index.size_bytes()
        newest = next((run for run in docmind.evaluation.runs() if run.answerable), None)
        figures = newest.figures if newest is not None else {}
        return {
            **{f"rag_eval_{name}": figures[name].mean for name in _EVALUATED if name in figures},
            **({"rag_index_size_bytes": size} if size is not None else {}),
            "rag_degraded": self._degraded,
            "rag_documents": documents,
            "rag_pages": pages,
            "rag_queue_length": docmind.queue.progress().unread,
        }


def _by_child(counts: Mapping[str, int]) -> dict[str, float]:
    """Return the restarts of children by the module that each runs."""
    return {entry.partition(":")[0].removeprefix("docmind."): count for entry, count in counts.items()}
