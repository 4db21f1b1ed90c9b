"""Frozen records of conversations: threads, their runs, memories, and the language models that may answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal
from urllib.parse import urlsplit

from docmind.records.answers import Answer
from docmind.records.query import Mode as Mode
from docmind.records.search import Degraded, Filters, Hit, ListName

_NEAREST, _EXCERPT = 4, 160  # pages; characters of their text

TurnState = Literal["answered", "stopped", "unanswered"]
RunState = Literal["waiting", "running", "done", "stopped", "failed"]
RunStage = Literal[
    "waiting", "reading the question", "searching", "summarising", "writing", "checking", "remembering", ""
]
ExportFormat = Literal["markdown", "pdf"]


@dataclass(frozen=True, slots=True)
class Thread:
    """One entry of the list of conversations. `checkpoint_id` is its current state.

    `bound` has the ids of the documents and of the collections that it is bound to: its questions are asked in them.
    Empty: in all documents. A document in the bin is left out until it is restored.
    """

    thread_id: str
    title: str
    created_at_ms: int
    updated_at_ms: int
    checkpoint_id: str | None = None
    deleted_at_ms: int | None = None
    is_pinned: bool = False
    is_archived: bool = False
    bound: Filters = Filters()


@dataclass(frozen=True, slots=True)
class WebResult:
    """One result of a web search: quoted as such, never a source of an answer about the documents."""

    title: str
    url: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One question and its outcome.

    `checkpoint_id` is the state after it and `before_id` the one before it: None at the beginning of a conversation.
    `asked_as` is the question as it was searched for, where it referred to earlier turns or used a term that the user
    defined. An `unanswered` turn was
    interrupted by a crash, or by a failure described in `message`; it can be tried again.
    """

    checkpoint_id: str
    before_id: str | None
    question: str
    asked_at_ms: int
    state: TurnState
    answer: Answer | None = None
    asked_as: str = ""
    mode: Mode = "standard"
    filters: Filters = Filters()
    lists: tuple[ListName, ...] = ()
    """The lists that were searched; empty: as configured."""
    nearest: tuple[Hit, ...] = ()
    recalled: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    web: tuple[WebResult, ...] = ()
    message: str = ""
    hint: str = ""
    completed: str = field(default="", compare=False, metadata={"is_inner": True})
    """The question with the words of the one before, without what its terms stand for; empty where it has none."""

    @property
    def is_incomplete(self) -> bool:
        """Whether the search went on without a model that was starting: the answer is completed once it is there."""
        return (
            self.state == "answered"
            and self.answer is not None
            and any(one.is_starting for one in self.answer.degraded)
        )


@dataclass(frozen=True, slots=True)
class Run:
    """A turn in the tree of a conversation: `parent_id` is the turn's checkpoint before it."""

    checkpoint_id: str
    parent_id: str | None
    question: str
    asked_at_ms: int
    state: TurnState
    is_current: bool
    """Whether it lies on the path from the beginning to the current state of the conversation."""
    is_found: bool = True
    """Whether its answer is more than that nothing was found."""
    is_sure: bool = True
    """Whether it is more than passages that may answer."""


@dataclass(frozen=True, slots=True)
class ThreadView:
    """A conversation opened at one state: the turns that lead to it, oldest first, and the whole tree of runs.

    `earlier` counts the turns before the first one given.
    """

    thread: Thread
    turns: tuple[Turn, ...]
    runs: tuple[Run, ...]
    earlier: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two turns side by side.

    `changes` are (`same` | `only_left` | `only_right`, sentence) in reading order; pages are page ids.
    """

    left: Turn
    right: Turn
    changes: tuple[tuple[Literal["same", "only_left", "only_right"], str], ...]
    pages_both: tuple[str, ...]
    pages_left: tuple[str, ...]
    pages_right: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A snapshot of a question that is being answered.

    `pages` are those that were found first, `text` is what was written so far. `turn` is the turn as it stands: by its
    quotes, as soon as they are there and while a language model writes, then as it is stored. While parts of documents
    are summarised, `parts_done` of `parts_total` are; both are 0 for any other question.
    """

    run_id: str
    thread_id: str
    question: str
    state: RunState
    stage: RunStage
    text: str = ""
    pages: tuple[Hit, ...] = ()
    model: str = ""
    started_at_ms: int = 0
    first_text_ms: float | None = None
    elapsed_ms: float = 0.0
    parts_done: int = 0
    parts_total: int = 0
    turn: Turn | None = None
    message: str = ""
    hint: str = ""

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "stopped", "failed")


@dataclass(frozen=True, slots=True)
class ThreadReceipt:
    """What purging a conversation removed."""

    thread_id: str
    title: str
    checkpoints: int
    memories: int


@dataclass(frozen=True, slots=True)
class Exported:
    """A file made of a conversation: a zip of Markdown and page images, or a PDF."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Memory:
    """One remembered fact that the user accepted.

    Without a `thread_id` it applies to the whole vault.

    `score` is the cosine with the query, where it was found by a search.
    """

    memory_id: str
    text: str
    thread_id: str | None
    created_at_ms: int
    updated_at_ms: int
    score: float | None = None


@dataclass(frozen=True, slots=True)
class MemoryList:
    """Memories, the best or newest first, and the stages that were skipped."""

    memories: tuple[Memory, ...]
    degraded: tuple[Degraded, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A language model that a server offers, or that runs inside DocMind (from a GGUF file; its `url` is empty).

    `is_remote` means that the server is not this machine. `is_tool_calling` and `takes_images` are None where the
    server does not tell. `note` says what to know before it is chosen, and `context_tokens` is the most that it takes
    in at once, 0 where unknown; two models do not differ by these.
    """

    provider: Literal["ollama", "openai", "inside"]
    url: str
    model: str
    is_tool_calling: bool | None = None
    is_remote: bool = False
    takes_images: bool | None = None
    note: str = field(default="", compare=False)
    context_tokens: int = field(default=0, compare=False)

    @property
    def name(self) -> str:
        return f"{self.provider}/{self.model}"

    @property
    def place(self) -> str:
        """Where it runs: this machine, or the host of its server."""
        return (urlsplit(self.url).hostname or "another machine") if self.is_remote else "this machine"

    @property
    def where(self) -> str:
        """Where it runs, for after its name: `inside DocMind`, or `on` its machine."""
        return "inside DocMind" if self.provider == "inside" else f"on {self.place}"


@dataclass(frozen=True, slots=True)
class ModelList:
    """The models that were found, the one in use, and the servers that could not be asked.

    `waiting` is a model on a server that was found and that the user was not asked about: nothing is sent to it.
    """

    models: tuple[ModelInfo, ...]
    chosen: ModelInfo | None
    is_off: bool = False
    degraded: tuple[Degraded, ...] = ()
    waiting: ModelInfo | None = None


def closest(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return the first hits with shortened text, without boxes and ranks, to show where nothing was found."""
    plain = [Hit(**{each.name: getattr(hit, each.name) for each in fields(Hit)}) for hit in hits[:_NEAREST]]
    return tuple(replace(hit, text=hit.text[:_EXCERPT], boxes=(), ranks=(), usual=None) for hit in plain)
