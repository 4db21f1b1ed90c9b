"""The data of one run, which is stored nowhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Protocol

from docmind.answers import Extract, Passage
from docmind.conversations.checkpoints import refuse
from docmind.conversations.shared_result import SharedResult
from docmind.conversations.state import Written
from docmind.errors import LanguageModelBrokenError, StateRefusedError
from docmind.llm import ChatModel, Message, Stop
from docmind.records.conversations import RunStage, WebResult
from docmind.records.search import (
    Degraded,
    Hit,
    MultimodalHit,
    PageHit,
    SearchResult,
)

PageKey = tuple[str, int]
"""A page: its document's id and its number."""


class ReportStage(Protocol):
    """A report of the current stage and a piece of the answer; `restart` discards the pieces reported so far.

    `parts` are how many parts of a summary are done, of how many.
    """

    def __call__(
        self, stage: RunStage, piece: str = "", *, restart: bool = False, parts: tuple[int, int] | None = None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Picture:
    """The image of one page as it is sent: a JPEG file, and about how many tokens a model needs for it."""

    place: PageKey
    label: str
    tokens: int
    jpeg: bytes = field(repr=False)


@dataclass(slots=True)
class RunContext:
    """The data of one run; used by its own thread only.

    `earlier_turns` are (question, answer), oldest first; `topics` are the questions of those about documents.
    """

    stop: Stop
    report: ReportStage
    show: Callable[[Sequence[Hit]], None]
    """A report of the pages that were found, before anything is written about them."""
    model: ChatModel | None = None
    thread_id: str | None = None
    earlier_turns: tuple[tuple[str, str], ...] = ()
    earlier_documents: frozenset[str] = frozenset()
    """The documents that the answers of these cite, as far as they were there when the run began."""
    topics: tuple[str, ...] = ()
    led: frozenset[str] = frozenset()
    """The quotes that led the previous answer: what answers a follow-up as well comes before them."""
    search: SearchResult | None = None
    shared: SharedResult = field(default_factory=SharedResult)
    """The result of the search, where recognising the question needed it."""
    is_recalled: bool = False
    """Whether documents of the previous turn were searched instead of all, or a page beside the last source."""
    is_pointed_at: bool = False
    """Whether the question itself points to what was searched: its quotes need no threshold."""
    passages: list[Passage] = field(default_factory=list)
    looks: list[MultimodalHit] = field(default_factory=list)
    """Pages found by their look, best first."""
    extract: Extract | None = None
    web: list[WebResult] = field(default_factory=list)
    degraded: list[Degraded] = field(default_factory=list)
    timings_ms: dict[str, float] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    """The page images that the model sees, in the order of their numbers."""
    found: list[PageHit] = field(default_factory=list)
    """Pages that tools found since the model was last asked."""
    is_blind: bool = False
    """Whether the model's server refused images in this run."""
    steps: int = 0
    written_tokens: int = 0
    started: float = field(default_factory=time.perf_counter)

    def lasted(self, name: str, since: float) -> None:
        """Add the time from `since` (of `time.perf_counter`) until now to the timing of `name`."""
        self.timings_ms[name] = self.timings_ms.get(name, 0.0) + (time.perf_counter() - since) * 1000


def written_of(text: str, model: str, context: RunContext, failure: Sequence[str] = ()) -> Written:
    """Return what a model wrote in a run; a failure where its text cannot be stored in a conversation."""
    try:
        refuse(text, "answer")
    except StateRefusedError:
        failure, text = ("The language model wrote what is no text.", LanguageModelBrokenError.hint), ""
    written: Written = {
        "text": text,
        "model": model,
        "is_stopped": context.stop(),
        "failure": list(failure),
        "web": [asdict(result) for result in context.web],
    }
    return {**written, "images": [list(picture.place) for picture in context.pictures]} if context.pictures else written
