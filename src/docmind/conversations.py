"""Conversations, as the facade offers them: threads, turns, and the ways back and aside."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from docmind.artifacts import Artifacts
from docmind.catalog import Catalog
from docmind.config import Settings
from docmind.conversation import (
    Comparison,
    Exported,
    ExportFormat,
    Mode,
    RunProgress,
    Thread,
    ThreadReceipt,
    ThreadView,
    Turn,
)
from docmind.database import Database
from docmind.embed.contract import TextEmbedder
from docmind.errors import NotFoundError
from docmind.memories import Memories
from docmind.models import Models
from docmind.schema import ArtifactRef, Filters, Source
from docmind.sessions import Sessions

if TYPE_CHECKING:
    from docmind.agent.course import Search
    from docmind.agent.runs import Watch
    from docmind.agent.talk import Talk


class Conversations:
    """Threads and their turns. Safe from any thread; turns of one thread follow one another.

    Opening is cheap: LangGraph is loaded by the first question, the first look into a thread, or `warm`.
    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        artifacts: Artifacts,
        catalog: Catalog,
        embedder: TextEmbedder,
        search: Search,
        epoch: Callable[[], int],
        memories: Memories,
        models: Models,
    ) -> None:
        self._settings, self._database, self._artifacts, self._catalog = settings, database, artifacts, catalog
        self._embedder, self._search, self._epoch, self._memories, self._models = (
            embedder, search, epoch, memories, models,
        )  # fmt: skip
        self._sessions = Sessions(database)
        self._lock = threading.Lock()
        self._talk: Talk | None = None
        self._said: dict[str, tuple[int, str]] = {}  # thread_id: when it was read, and its words in lower case

    def warm(self) -> None:
        """Load what the first question needs."""
        self._started()

    def close(self) -> None:
        """Stop what is being answered; what was written so far is kept. Harmless twice."""
        with self._lock:
            talk = self._talk
        if talk is not None:
            talk.runs.close()

    # threads

    def threads(self, search: str = "", *, deleted: bool = False) -> tuple[Thread, ...]:
        """All threads, or those whose title, questions or answers hold every word of `search`; newest first."""
        threads = self._sessions.all(deleted)
        wanted = search.casefold().split()
        return tuple(thread for thread in threads if all(word in self._words_of(thread) for word in wanted))

    def thread(self, thread_id: str) -> Thread:
        """Raises `NotFoundError`."""
        return self._sessions.get(thread_id)

    def find_thread(self, name: str) -> Thread:
        """The one thread with this id, beginning of an id, or title. Raises `NotFoundError`."""
        return self._sessions.find(name)

    def create(self, title: str = "", *, thread_id: str | None = None) -> Thread:
        """A new thread; its first question becomes the title where there is none. Raises `ConfigError`."""
        return self._sessions.create(title, thread_id)

    def rename(self, thread_id: str, title: str) -> Thread:
        """Raises `NotFoundError`, `ConfigError`."""
        return self._sessions.rename(thread_id, title)

    def delete(self, thread_id: str) -> Thread:
        """Put a thread aside; `restore` brings it back. Raises `NotFoundError`."""
        return self._sessions.delete(thread_id)

    def restore(self, thread_id: str) -> Thread:
        """Undo `delete`. Raises `NotFoundError`."""
        return self._sessions.restore(thread_id)

    def purge(self, thread_id: str) -> ThreadReceipt:
        """Erase a thread, its turns and its memories; nothing brings it back. Raises `NotFoundError`, and
        `DiskFullError` before anything is taken away."""
        thread = self._sessions.get(thread_id)
        self._database.check_room()
        runs = self._started().runs
        live = runs.live(thread_id)
        if live is not None:
            live.stop()
        with runs.alone(thread_id):
            with self._database.transaction():
                checkpoints = self._started().checkpoints.purge(thread_id)
                memories = self._memories.drop(thread_id)
                self._sessions.drop(thread_id)
            self._said.pop(thread_id, None)
            self._database.scrub()
        return ThreadReceipt(thread_id, thread.title, checkpoints, memories)

    def view(self, thread_id: str, checkpoint_id: str | None = None, *, last: int | None = None) -> ThreadView:
        """A thread at a point, where it stands by default, with the `last` turns before. Raises `NotFoundError`."""
        thread = self._sessions.get(thread_id)
        history = self._started().history(thread_id)
        turns, earlier = history.turns(checkpoint_id or thread.checkpoint_id, last)
        return ThreadView(thread, tuple(turns), history.runs(thread.checkpoint_id), earlier)

    # time travel

    def resume(self, thread_id: str, checkpoint_id: str) -> Thread:
        """Continue at a point: what was asked after it stays in the tree. Raises `NotFoundError`."""
        talk = self._started()
        with talk.runs.alone(thread_id):
            self._sessions.get(thread_id)
            talk.check(thread_id, checkpoint_id)
            return self._sessions.touch(thread_id, checkpoint_id, _now_ms())

    def fork(self, thread_id: str, checkpoint_id: str) -> Thread:
        """Begin a branch at a point, and continue there. Raises `NotFoundError`."""
        talk = self._started()
        with talk.runs.alone(thread_id):
            self._sessions.get(thread_id)
            return self._sessions.touch(thread_id, talk.branch(thread_id, checkpoint_id), _now_ms())

    def compare(self, thread_id: str, left_checkpoint_id: str, right_checkpoint_id: str) -> Comparison:
        """Two turns of a thread side by side. Raises `NotFoundError`."""
        from docmind.agent.comparison import compare

        self._sessions.get(thread_id)
        history = self._started().history(thread_id)
        return compare(history.turn_at(left_checkpoint_id), history.turn_at(right_checkpoint_id))

    # asking

    def start(
        self,
        question: str,
        *,
        thread_id: str,
        checkpoint_id: str | None = None,
        filters: Filters = Filters(),
        mode: Mode | None = None,
        web: bool = False,
        k: int | None = None,
    ) -> str:
        """Ask in the background; returns the run's id. `web` is the user's consent for this question.

        Raises `NotFoundError`, and `ConfigError` where the question is empty.
        """
        self._sessions.get_open(thread_id)
        talk = self._started()
        run, asked = talk.begin(thread_id, question, filters, mode, k, None, web=web)
        return talk.runs.start(run, lambda run: talk.turn(run, asked, checkpoint_id))

    def retry(self, thread_id: str, checkpoint_id: str | None = None) -> str:
        """Answer the question of a turn, the last by default: anew and beside it where it has an answer.

        Returns the run's id. Raises `NotFoundError`.
        """
        thread = self._sessions.get_open(thread_id)
        return self._started().retry(thread_id, checkpoint_id or thread.checkpoint_id)

    def ask(
        self,
        question: str,
        *,
        thread_id: str | None = None,
        checkpoint_id: str | None = None,
        filters: Filters = Filters(),
        mode: Mode | None = None,
        web: bool = False,
        k: int | None = None,
        on_progress: Watch | None = None,
    ) -> Turn:
        """Ask and wait. Without a thread nothing is kept. `on_progress` is called with each piece that is written.

        Raises what `start` and the run raise.
        """
        if thread_id is not None:
            self._sessions.get_open(thread_id)
        talk = self._started()
        run, asked = talk.begin(thread_id or "", question, filters, mode, k, on_progress, web=web)
        if thread_id is None:
            return talk.runs.here(run, lambda run: talk.once(run, asked))
        return talk.runs.here(run, lambda run: talk.turn(run, asked, checkpoint_id))

    def run(self, run_id: str) -> RunProgress:
        """How far a question is. Raises `NotFoundError`."""
        return self._started().runs.get(run_id).progress()

    def live(self, thread_id: str) -> RunProgress | None:
        """What is being answered in a thread now, or waits to be."""
        talk = self._talk  # nothing runs before it is there
        run = talk.runs.live(thread_id) if talk is not None else None
        return run.progress() if run is not None else None

    def stop(self, run_id: str) -> None:
        """Stop writing; what was written so far is kept and checked. Raises `NotFoundError`."""
        self._started().runs.get(run_id).stop()

    def wait(self, run_id: str, timeout_s: float) -> RunProgress:
        """The same as `run`, after it is over or that many seconds have passed. Raises `NotFoundError`."""
        run = self._started().runs.get(run_id)
        run.wait(timeout_s)
        return run.progress()

    # what an answer rests on

    def source_image(self, source: Source) -> bytes:
        """The page as it was when it was cited (WebP). Raises `NotFoundError`, `DamagedError`, `TamperedError`."""
        if source.image_artifact_id:
            return self._artifacts.get(ArtifactRef(source.image_artifact_id, source.image_artifact_suffix))
        return self._artifacts.get(self._catalog.page(source.doc_id, source.page_no).image)

    def export(self, thread_id: str, format: ExportFormat, checkpoint_id: str | None = None) -> Exported:  # noqa: A002
        """A thread as a file, up to one of its points. Raises `NotFoundError`."""
        from docmind.export import export_thread

        def image(source: Source) -> bytes | None:
            try:
                return self.source_image(source)
            except NotFoundError:  # the document was deleted: the quote stays
                return None

        return export_thread(self.view(thread_id, checkpoint_id), format, image)

    # inside

    def _started(self) -> Talk:
        with self._lock:
            if self._talk is None:
                from docmind.agent.talk import Talk

                self._talk = Talk(
                    self._settings, self._database, self._sessions, self._catalog, self._embedder, self._search,
                    self._epoch, self._memories, self._models,
                )  # fmt: skip
            return self._talk

    def _words_of(self, thread: Thread) -> str:
        """Title, questions and answers; read once per state of the thread."""
        known = self._said.get(thread.thread_id)
        if known is None or known[0] != thread.updated_at_ms:
            words = "" if thread.checkpoint_id is None else self._started().history(thread.thread_id).words()
            known = self._said[thread.thread_id] = (thread.updated_at_ms, words.casefold())
        return f"{thread.title.casefold()} {known[1]}"


def _now_ms() -> int:
    return int(time.time() * 1000)
