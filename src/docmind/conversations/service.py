"""Conversations as the facade offers them: threads, turns, time travel, comparison, export."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal

from docmind.config import Settings
from docmind.conversations.answerer import Answerer
from docmind.conversations.boundary import within
from docmind.conversations.instructions import Instructions
from docmind.conversations.sessions import Sessions
from docmind.errors import DamagedError, NotFoundError, StateRefusedError
from docmind.llm import LanguageModels
from docmind.reading import PagePictures
from docmind.records.answers import Source
from docmind.records.conversations import (
    Comparison,
    Exported,
    ExportFormat,
    RunProgress,
    Thread,
    ThreadReceipt,
    ThreadView,
    Turn,
)
from docmind.records.documents import ArtifactRef, readable_name
from docmind.records.query import Query
from docmind.records.search import Filters
from docmind.storage import Database

if TYPE_CHECKING:
    from docmind.conversations.erasing import Erasing
    from docmind.conversations.runs import Watch
    from docmind.conversations.turns import TurnRunner


Change = tuple[Literal["same", "only_left", "only_right"], str]


def compare(left: Turn, right: Turn) -> Comparison:
    """Compare two turns: sentences apart from white space, page ids in order of citation."""
    says_left, says_right = _sentences(left), _sentences(right)
    changes: list[Change] = []
    for kind, a, b, c, d in SequenceMatcher(None, says_left, says_right, autojunk=False).get_opcodes():
        if kind == "equal":
            changes.extend(("same", text) for text in says_left[a:b])
        else:
            changes.extend(("only_left", text) for text in says_left[a:b])
            changes.extend(("only_right", text) for text in says_right[c:d])
    pages_left, pages_right = _pages(left), _pages(right)
    return Comparison(
        left=left,
        right=right,
        changes=tuple(changes),
        pages_both=tuple(page for page in pages_left if page in pages_right),
        pages_left=tuple(page for page in pages_left if page not in pages_right),
        pages_right=tuple(page for page in pages_right if page not in pages_left),
    )


def _sentences(turn: Turn) -> list[str]:
    if turn.answer is None:
        return []
    if not turn.answer.sentences:
        return [" ".join(turn.answer.answer.split())] if turn.answer.answer.strip() else []
    return [" ".join(sentence.text.split()) for sentence in turn.answer.sentences]


def _pages(turn: Turn) -> list[str]:
    """Return the pages that sentences cite; those of all sources where no sentence cites one."""
    if turn.answer is None:
        return []
    pages = {source.n: source.page_id for source in turn.answer.sources}
    cited = [pages[n] for sentence in turn.answer.sentences for n in sentence.sources if n in pages]
    return list(dict.fromkeys(cited or pages.values()))


class Conversations:
    """Threads and their turns. Thread-safe; turns of one thread run one after another.

    Opening is cheap: LangGraph is loaded by the first question, the first view of a thread, or `warm`.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        database: Database,
        pictures: PagePictures,
        models: LanguageModels,
        answerer: Answerer,
    ) -> None:
        self._settings, self._database, self._pictures = settings, database, pictures
        self._models, self._answerer = models, answerer
        self._sessions, self._instructions = Sessions(database), Instructions(database)
        self._lock = threading.Lock()
        self._runner: TurnRunner | None = None
        self._texts: dict[str, tuple[int, str]] = {}  # thread_id: when it was read, and its text in lower case

    def warm(self) -> None:
        """Load what the first question needs."""
        self._started()

    @property
    def is_busy(self) -> bool:
        """Tell whether a question is being answered."""
        with self._lock:
            return self._runner is not None and self._runner.runs.is_busy

    def close(self) -> None:
        """Stop running questions; what was written so far is kept. Idempotent."""
        with self._lock:
            runner = self._runner
        if runner is not None:
            runner.completions.close()
            runner.runs.close()
            runner.completions.join(10)

    # threads

    def threads(self, search: str = "", *, deleted: bool = False, archived: bool = False) -> tuple[Thread, ...]:
        """Return the threads of the list whose title, questions or answers hold every word of `search`.

        All of them where it is empty; pinned ones first, then newest first. With `archived` those of the archive, with
        `deleted` the deleted ones.
        """
        threads = self._sessions.all(deleted, archived)
        wanted = search.casefold().split()
        return tuple(thread for thread in threads if all(word in self._words_of(thread) for word in wanted))

    def thread(self, thread_id: str) -> Thread:
        """Return a thread. Raises `NotFoundError`."""
        return self._sessions.get(thread_id)

    def find_thread(self, name: str) -> Thread:
        """Return the one thread with this id, start of an id, or title. Raises `NotFoundError`."""
        return self._sessions.find(name)

    def create(
        self,
        title: str = "",
        *,
        thread_id: str | None = None,
        collections: Sequence[str] = (),
        documents: Sequence[str] = (),
    ) -> Thread:
        """Create a thread, bound as `bind` does; without a title, its first question becomes the title.

        Raises `ConfigError`.
        """
        made = self._sessions.create(title, thread_id)
        if collections or documents:
            return self._sessions.bind(made.thread_id, collections, documents)
        return made

    def bind(self, thread_id: str, collections: Sequence[str] = (), documents: Sequence[str] = ()) -> Thread:
        """Bind a thread to these collections and documents, by their ids, instead of those it is bound to.

        Without any, it asks all documents. The thread keeps them as `Thread.bound` until they are deleted. Its
        questions are asked there alone; filters of a question can only narrow that. Raises `NotFoundError`.
        """
        return self._sessions.bind(thread_id, collections, documents)

    def scope(self, thread_id: str, filters: Filters = Filters()) -> Filters:
        """Return the filters under which a question with `filters` is asked in a thread.

        Raises `NotFoundError`, and `ConfigError` where they name only documents that it is not bound to.
        """
        return within(filters, self._sessions.get(thread_id).bound, self._answerer.catalog)

    def rename(self, thread_id: str, title: str) -> Thread:
        """Rename a thread. Raises `NotFoundError`, `ConfigError`."""
        return self._sessions.rename(thread_id, title)

    def bin(self, thread_id: str) -> Thread:
        """Move a thread to the bin, from where `restore` brings it back. Raises `NotFoundError`."""
        return self._sessions.bin(thread_id)

    def restore(self, thread_id: str) -> Thread:
        """Undo `bin`. Raises `NotFoundError`."""
        return self._sessions.restore(thread_id)

    def pin(self, thread_id: str, is_pinned: bool = True) -> Thread:
        """Keep a thread at the top of the list, which takes it out of the archive; or unpin it.

        Raises `NotFoundError`.
        """
        return self._sessions.pin(thread_id, is_pinned)

    def archive(self, thread_id: str, is_archived: bool = True) -> Thread:
        """Move a thread from the list to the archive, or back. It can be opened and asked in both.

        Raises `NotFoundError`.
        """
        return self._sessions.archive(thread_id, is_archived)

    def instructions(self, thread_id: str | None = None) -> str:
        """Return the user's instructions for the answers of a thread, or for those of all; empty without any.

        Raises `NotFoundError`, `DamagedError`.
        """
        if thread_id is not None:
            self._sessions.get(thread_id)
        return self._instructions.get(thread_id)

    def instruct(self, text: str, thread_id: str | None = None) -> str:
        """Keep instructions for the answers of a thread, or for those of all; return them as they are kept.

        Both go to the language model with each question; an empty text means none. Raises `NotFoundError`, and
        `ConfigError` above 2,000 characters.
        """
        if thread_id is not None:
            self._sessions.get_open(thread_id)
        return self._instructions.put(text, thread_id)

    def erase_thread(self, thread_id: str) -> ThreadReceipt:
        """Erase a thread, its turns, its memories and its instructions; this cannot be undone.

        Raises `NotFoundError`, and `DiskFullError` before anything is erased.
        """
        thread = self._sessions.get(thread_id)
        self._database.check_room()
        runs = self._started().runs
        for live in runs.all_live(thread_id):
            live.stop()
        with runs.alone(thread_id):
            with self._answerer.memories.held(), self._database.transaction():
                checkpoints = self._started().checkpoints.erase(thread_id)
                memories = self._answerer.memories.remove_all(thread_id)
                self._instructions.remove(thread_id)
                self._sessions.erase(thread_id)
            self._texts.pop(thread_id, None)
            runs.forget_over()
            self._database.scrub()
        return ThreadReceipt(thread_id, thread.title, checkpoints, memories)

    def erase_quotes(self, doc_id: str, traces: Sequence[str]) -> int:
        """Erase what threads hold of a document, on all branches: quotes, sentences that cite it, its name in answers.

        `traces` are texts that stand in no other document. Returns how many quotes and sentences were erased. The
        turns stay, and their sources say "erased". Waits for questions that are being answered. Idempotent. Raises
        `DiskFullError`.
        """
        if self._runner is not None:
            self._runner.runs.forget_over()
        if not self._has_states():
            return 0
        self._texts.clear()
        return self._erasing().erase(doc_id, traces)

    def left_of(self, doc_id: str, traces: Sequence[str]) -> int:
        """Return how many quotes and sentences of a document threads hold."""
        return self._erasing().left(doc_id, traces) if self._has_states() else 0

    def _erasing(self) -> Erasing:
        from docmind.conversations.erasing import Erasing

        runner = self._started()
        return Erasing(checkpoints=runner.checkpoints, runs=runner.runs)

    def _has_states(self) -> bool:
        """Tell whether any thread was ever begun: without one, LangGraph need not be loaded."""
        return self._database.one("SELECT 1 FROM chat_session LIMIT 1") is not None

    def view(self, thread_id: str, checkpoint_id: str | None = None, *, last: int | None = None) -> ThreadView:
        """Return a thread up to a point, by default where it stands, with its `last` turns.

        Raises `NotFoundError`.
        """
        thread = self._sessions.get(thread_id)
        history = self._started().history(thread_id)
        turns, earlier = history.turns(checkpoint_id or thread.checkpoint_id, last)
        return ThreadView(thread, tuple(turns), history.runs(thread.checkpoint_id), earlier)

    # time travel

    def resume(self, thread_id: str, checkpoint_id: str) -> Thread:
        """Continue at a point: what was asked after it stays in the tree.

        Raises `NotFoundError`.
        """
        runner = self._started()
        with runner.runs.alone(thread_id):
            self._sessions.get(thread_id)
            runner.check(thread_id, checkpoint_id)
            return self._sessions.touch(thread_id, checkpoint_id, _now_ms())

    def fork(self, thread_id: str, checkpoint_id: str) -> Thread:
        """Begin a branch at a point, and continue there. Raises `NotFoundError`."""
        runner = self._started()
        with runner.runs.alone(thread_id):
            self._sessions.get(thread_id)
            return self._sessions.touch(thread_id, runner.branch(thread_id, checkpoint_id), _now_ms())

    def compare(self, thread_id: str, left_checkpoint_id: str, right_checkpoint_id: str) -> Comparison:
        """Compare two turns of a thread. Raises `NotFoundError`."""

        self._sessions.get(thread_id)
        history = self._started().history(thread_id)
        return compare(history.turn_at(left_checkpoint_id), history.turn_at(right_checkpoint_id))

    # asking

    def start(self, query: Query | str, *, thread_id: str, checkpoint_id: str | None = None) -> str:
        """Ask in the background and return the run's id; `web` of the query is the user's consent for this question.

        It is asked within what the thread is bound to. Raises `NotFoundError`, and `ConfigError` where the query asks
        nothing, or only in documents that the thread is not bound to.
        """
        self._sessions.get_open(thread_id)
        runner = self._started()
        run, stored = runner.begin(thread_id, query)
        return runner.runs.start(run, lambda run: runner.turn(run, stored, checkpoint_id))

    def start_once(self, query: Query | str) -> str:
        """Ask in the background outside of any thread and return the run's id: nothing is stored.

        Raises `ConfigError` where the query asks nothing.
        """
        runner = self._started()
        run, stored = runner.begin("", query)
        return runner.runs.start(run, lambda run: runner.once(run, stored))

    def retry(self, thread_id: str, checkpoint_id: str | None = None) -> str:
        """Answer the question of a turn, the last by default; beside its answer where it has one.

        Returns the run's id. Raises `NotFoundError`.
        """
        thread = self._sessions.get_open(thread_id)
        return self._started().retry(thread_id, checkpoint_id or thread.checkpoint_id)

    def complete(self, thread_id: str, checkpoint_id: str) -> bool:
        """Have an answer completed that went without a model that was starting; return whether that is under way.

        Answers are completed by themselves; this takes up one that the end of the process left. Raises `NotFoundError`.
        """
        self._sessions.get_open(thread_id)
        return self._started().complete(thread_id, checkpoint_id)

    def ask(
        self,
        query: Query | str,
        *,
        thread_id: str | None = None,
        checkpoint_id: str | None = None,
        on_progress: Watch | None = None,
    ) -> Turn:
        """Ask and wait, within what the thread is bound to; without a thread nothing is stored.

        `on_progress` is called with each piece that is written.

        Raises what `start` and the run raise.
        """
        if thread_id is not None:
            self._sessions.get_open(thread_id)
        runner = self._started()
        run, stored = runner.begin(thread_id or "", query, on_progress)
        if thread_id is None:
            return runner.runs.here(run, lambda run: runner.once(run, stored))
        return runner.runs.here(run, lambda run: runner.turn(run, stored, checkpoint_id))

    def run(self, run_id: str) -> RunProgress:
        """Return how far a question is. Raises `NotFoundError`."""
        return self._started().runs.get(run_id).progress()

    def live(self, thread_id: str) -> RunProgress | None:
        """Return the progress of a thread's running or waiting question; None without one."""
        runner = self._runner  # nothing runs before it exists
        run = runner.runs.live(thread_id) if runner is not None else None
        return run.progress() if run is not None else None

    def all_live(self, thread_id: str) -> tuple[RunProgress, ...]:
        """Return the progress of a thread's unfinished questions, the oldest first.

        Those with a `turn` have their quotes: a language model writes, or will write next.
        """
        runner = self._runner
        return tuple(run.progress() for run in runner.runs.all_live(thread_id)) if runner is not None else ()

    def stop(self, run_id: str) -> None:
        """Stop the language model; the quotes and what was written so far are kept. Raises `NotFoundError`."""
        self._started().runs.get(run_id).stop()

    def wait(self, run_id: str, timeout_s: float, *, since: RunProgress | None = None) -> RunProgress:
        """Return the progress after the run is over or `timeout_s` seconds have passed.

        With `since`, also once it has more text, other pages, quotes or another stage than this earlier progress of
        the run.
        Raises `NotFoundError`.
        """
        run = self._started().runs.get(run_id)
        if since is None:
            run.wait(timeout_s)
        else:
            run.wait_for_news(since, timeout_s)
        return run.progress()

    # sources and export

    def source_image(self, source: Source) -> bytes:
        """Return the page as it was when it was cited (WebP).

        Raises `NotFoundError`, `DamagedError`, `TamperedError`.
        """
        if source.image_artifact_id:
            return self._pictures.get(ArtifactRef(source.image_artifact_id, source.image_artifact_suffix))
        return self._pictures.get(self._answerer.catalog.page(source.doc_id, source.page_no).image)

    def export(self, thread_id: str, format: ExportFormat, checkpoint_id: str | None = None) -> Exported:  # noqa: A002
        """Export a thread to a file, up to one of its points. Raises `NotFoundError`."""
        from docmind.conversations.export import export_thread

        def image(source: Source) -> bytes | None:
            try:
                return self.source_image(source)
            except (NotFoundError, DamagedError):  # the document was deleted, or its image is damaged: the quote stays
                return None

        return export_thread(self._titled(self.view(thread_id, checkpoint_id)), format, image)

    def _titled(self, view: ThreadView) -> ThreadView:
        """Return a thread for a reader: the documents of its sources by their titles, with their file names behind."""

        def called(doc_id: str, document: str) -> str:
            label = self._answerer.catalog.label(doc_id, document)
            return label if label in ("", document, readable_name(document)) else f"{label} ({document})"

        def titled(turn: Turn) -> Turn:
            nearest = tuple(replace(hit, document=called(hit.doc_id, hit.document), place="") for hit in turn.nearest)
            if turn.answer is None:
                return replace(turn, nearest=nearest)
            sources = tuple(
                replace(one, document=called(one.doc_id, one.document), place="") for one in turn.answer.sources
            )
            return replace(turn, nearest=nearest, answer=replace(turn.answer, sources=sources))

        return replace(view, turns=tuple(map(titled, view.turns)))

    # inside

    def _started(self) -> TurnRunner:
        with self._lock:
            if self._runner is None:
                from docmind.conversations.turns import TurnRunner

                self._runner = TurnRunner(
                    self._settings,
                    database=self._database,
                    sessions=self._sessions,
                    instructions=self._instructions,
                    pictures=self._pictures,
                    models=self._models,
                    answerer=self._answerer,
                )
            return self._runner

    def _words_of(self, thread: Thread) -> str:
        """Return title, questions and answers in lower case; read once per state of the thread."""
        known = self._texts.get(thread.thread_id)
        if known is None or known[0] != thread.updated_at_ms:
            words = ""
            if thread.checkpoint_id is not None:
                with suppress(DamagedError, StateRefusedError):  # the others are searched; opening this one tells it
                    words = self._started().history(thread.thread_id).words()
            known = self._texts[thread.thread_id] = (thread.updated_at_ms, words.casefold())
        return f"{thread.title.casefold()} {known[1]}"


def _now_ms() -> int:
    return int(time.time() * 1000)
