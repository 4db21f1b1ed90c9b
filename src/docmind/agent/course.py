"""What one run works with and does not keep: the means of the vault, and the scratch of the run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from docmind.agent.extractive import Extract, Extractive
from docmind.agent.verify import Passage, Verifier
from docmind.catalog import Catalog
from docmind.config import Settings
from docmind.conversation import MemoryList, RunStage, WebResult
from docmind.llm.contract import ChatModel, Message, Stop
from docmind.schema import Degraded, Filters, SearchResult


class Search(Protocol):
    """Questions to hits, as the facade does it."""

    def __call__(self, question: str, *, k: int | None = None, filters: Filters = Filters()) -> SearchResult: ...


class Tell(Protocol):
    """What is being done now, and a piece of the answer as it is written; `anew` drops what was written before."""

    def __call__(self, stage: RunStage, piece: str = "", *, anew: bool = False) -> None: ...


@dataclass(frozen=True, slots=True)
class Means:
    """What every run uses. `recall` gives remembered facts that matter to a question of a thread, `propose` facts in
    what the user typed; `web` is None while web search is off."""

    settings: Settings
    catalog: Catalog
    search: Search
    extractive: Extractive
    lenient: Extractive
    """The same without a threshold: for pages that the question itself points at."""
    verifier: Verifier
    epoch: Callable[[], int]
    recall: Callable[[str, str | None], MemoryList]
    propose: Callable[[str], tuple[str, ...]]
    web: Callable[[str], tuple[WebResult, ...]] | None = None


@dataclass(slots=True)
class Course:
    """One run while it lasts; used by its own thread alone. `said` are earlier turns as (question, answer)."""

    stop: Stop
    tell: Tell
    model: ChatModel | None = None
    thread_id: str | None = None
    said: tuple[tuple[str, str], ...] = ()
    quoted: frozenset[str] = frozenset()
    """What the turn before quoted: a follow-up asks for something else."""
    search: SearchResult | None = None
    is_recalled: bool = False
    """Whether the question fell back on documents of the turn before, or on a page beside the last source."""
    passages: list[Passage] = field(default_factory=list)
    extract: Extract | None = None
    web: list[WebResult] = field(default_factory=list)
    degraded: list[Degraded] = field(default_factory=list)
    timings_ms: dict[str, float] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    steps: int = 0
    written_tokens: int = 0
    started: float = field(default_factory=time.perf_counter)

    def lasted(self, name: str, since: float) -> None:
        """Note that `name` took from `since` (of `time.perf_counter`) until now."""
        self.timings_ms[name] = self.timings_ms.get(name, 0.0) + (time.perf_counter() - since) * 1000
