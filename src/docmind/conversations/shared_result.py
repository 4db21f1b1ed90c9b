"""One search for a question, whichever of the steps of its answer needs it first."""

from __future__ import annotations

from docmind.records.query import Query
from docmind.records.search import MultimodalResult
from docmind.search import MultimodalSearch


class SharedResult:
    """The latest result of the searches for one question; used by one thread only."""

    __slots__ = ("_query", "_result")

    def __init__(self) -> None:
        self._query: Query | None = None
        self._result: MultimodalResult | None = None

    def of(self, search: MultimodalSearch, query: Query) -> MultimodalResult:
        """Return the result of a query, which is searched unless it was the latest one; raises what the search does."""
        if self._result is None or query != self._query:
            self._query, self._result = query, search.search(query)
        return self._result
