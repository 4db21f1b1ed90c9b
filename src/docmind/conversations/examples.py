"""Example questions that the user's own documents answer, made from the statements in them.

Each is asked before it is offered, and dropped unless it is surely answered by the statement it was made from. They are
made in the background, once for each state of the library and each limit of what is asked, and kept in memory only.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

from docmind.answers import Example, edges, headed_passages, question_of
from docmind.conversations.answerer import Answerer
from docmind.conversations.service import Conversations
from docmind.documents import Catalog
from docmind.errors import CancelledError, DamagedError, DocMindError
from docmind.ingest import IngestQueue
from docmind.records.documents import DocumentInfo
from docmind.records.query import Query
from docmind.records.search import Filters
from docmind.runtime import Background, log_mistake
from docmind.wording import N_, _, say

OFFERED = 3  # questions
DOCUMENTS = 40  # the newest, of which they are made
PAGES = 30  # of each, at its beginning
STATEMENTS = 40  # of each, of which the best are tried
TRIED = 4  # questions of a document until one is answered
SECONDS = 30.0  # after which no further document is read
SCOPES = 8  # of which the questions are kept

ALL = N_("What documents do I have?")
_SHEETS = frozenset(("csv", "xlsx", "xls", "xlsb", "ods", "bib", "csl", "ris", "vcard", "calendar"))
_SUMMARIZED_IN = ("en", "es", "pt")  # languages in which a summary is asked for
_PLAIN_TITLE = re.compile(r"[^\W\d_][\w ,:’'–-]{6,58}\w")  # nothing that could be markup, or too long for a button
_WORTH = ("amount", "date", "duration", "person", "count", "place", "number", "definition")  # the most telling first


class Examples:
    """Makes example questions in the background, while no file is read and nothing asked. Thread-safe."""

    def __init__(
        self, *, catalog: Catalog, answerer: Answerer, queue: IngestQueue, conversations: Conversations
    ) -> None:
        self._catalog, self._answerer, self._queue, self._conversations = catalog, answerer, queue, conversations
        self._work = Background("examples", "Example questions are no longer needed.")
        self._lock = threading.Lock()
        self._made: dict[Filters, tuple[int, tuple[str, ...]]] = {}
        self._dropped = 0  # how often `drop` was called

    def get(self, filters: Filters = Filters()) -> tuple[str, ...] | None:
        """Return at most three questions about the documents that `filters` allow. Never waits.

        None while they are being made, which this starts, or until nothing is asked any more.
        """
        epoch = self._catalog.epoch()
        with self._lock:
            made = self._made.get(filters)
        if made is not None and made[0] == epoch:
            return tuple(_(question) if question == ALL else question for question in made[1])
        if self._queue.progress().is_busy:
            return (_(ALL),)
        if not self._conversations.is_busy:
            self._work.start(lambda: self._make(filters))
        return None

    def wait(self, timeout_s: float, filters: Filters = Filters()) -> tuple[str, ...] | None:
        """Return the questions as soon as they are made, at the latest after `timeout_s`."""
        until = time.monotonic() + timeout_s
        while (made := self.get(filters)) is None and (left := until - time.monotonic()) > 0:
            self._work.join(left)  # documents that come meanwhile have it made again
            self._work.rest(0.02)
        return made

    def drop(self) -> None:
        """Drop the questions that are kept, and those that are being made: a document that they name is erased."""
        with self._lock:
            self._made.clear()
            self._dropped += 1

    def close(self) -> None:
        """End the work; the question that is being tried is waited for. Idempotent."""
        self._work.close()
        self._work.join()

    def _make(self, filters: Filters) -> None:
        epoch, dropped, made = self._catalog.epoch(), self._dropped, (ALL,)
        try:
            made = self._questions(filters)
        except CancelledError:
            return
        except DocMindError as error:  # a search that fails is reported where the user asks
            log_mistake("docmind.answers", "example questions failed", error)
        with self._lock:  # they are not tried again and again
            if dropped == self._dropped:
                self._made = {} if len(self._made) >= SCOPES else self._made
                self._made[filters] = epoch, made

    def _questions(self, filters: Filters) -> tuple[str, ...]:
        allowed = set(self._catalog.allowed(filters))
        asked = self._catalog.asked(filters.snapshots)
        documents = [info for info in asked if info.doc_id in allowed and info.status == "ready"][:DOCUMENTS]
        if not documents:
            return ()
        found: list[str] = []
        until = time.monotonic() + SECONDS
        for info in documents:
            if len(found) == OFFERED or time.monotonic() > until:
                break
            question = self.about(info, filters, besides=found)
            found += [question] if question else []
        titled = (info for info in documents if info.language in _SUMMARIZED_IN and _is_plain(info.shown_title))
        if len(found) < OFFERED and (info := next(titled, None)) is not None:
            question = say(info.language, "What is “{title}” about?").format(title=info.shown_title)
            self._check()
            answer = self._answerer.ask(Query(question, filters=filters))
            if answer.outcome == "summary" and {source.doc_id for source in answer.sources} == {info.doc_id}:
                found.append(question)
        return tuple([*found, ALL][: max(OFFERED, len(found))])

    def about(self, info: DocumentInfo, filters: Filters = Filters(), besides: list[str] | None = None) -> str:
        """Return a question that a document surely answers; empty where none of those tried is.

        Those in `besides` are not asked again.
        """
        if info.kind == "code":
            return ""
        tried = self._of_tables(info) if info.kind in _SHEETS else self._of_statements(info)
        asked = {question.split()[0] for question in besides or ()}
        in_turn = sorted(tried, key=lambda one: one[0].split()[0] in asked)  # questions of another kind come first
        fresh = ((question, said) for question, said in in_turn if question not in (besides or ()))
        for _number, (question, said) in zip(range(TRIED), fresh, strict=False):
            self._check()
            answer = self._answerer.ask(Query(question, filters=filters))
            if answer.outcome != "answer" or not answer.sources or answer.sources[0].doc_id != info.doc_id:
                continue
            first = answer.sources[0]
            is_same = said in _on_one_line(first.quote) if said else answer.computed is not None
            if is_same and first.kind == "quote":
                return question
        return ""

    def _check(self) -> None:
        """Raise `CancelledError` once the application closes, a file is read, or a question is asked."""
        self._work.check()
        if self._queue.progress().is_busy or self._conversations.is_busy:
            raise CancelledError("Example questions wait for other work.")

    def _of_tables(self, info: DocumentInfo) -> Iterator[tuple[str, str]]:
        return ((question, "") for question in self._answerer.direct.tables.questions_of(info))

    def _of_statements(self, info: DocumentInfo) -> Iterator[tuple[str, str]]:
        """Yield questions with the statements that they are made from, the best first."""
        ranked: list[tuple[float, str, str]] = []
        statements: dict[str, set[str]] = {}  # by the question that they make
        pages = [page for _key, page in sorted(self._catalog.pages(
            (info.doc_id, number) for number in range(1, min(info.pages, PAGES) + 1)).items())]  # fmt: skip
        for at, page in enumerate(pages):
            self._check()
            running = set[str]().union(*(edges(other.text) for n, other in enumerate(pages) if 0 < abs(n - at) <= 2))
            with suppress(DamagedError):  # reported where the page is read
                for _heading, passage in headed_passages(page.text, running, page.structure()):
                    if passage.is_row or not passage.is_own:
                        continue
                    said = page.text[passage.start : passage.end]
                    if (example := question_of(said, info.language)) is not None:
                        statements.setdefault(example.question, set()).add(_on_one_line(said))
                        if passage.is_whole:
                            ranked.append((_cost(example, len(ranked)), example.question, _on_one_line(said)))
            if len(ranked) >= STATEMENTS:
                break
        return (
            (question, said) for _worth, question, said in sorted(ranked)
            if len(statements[question]) == 1  # of two quarters, or two purchases, the question does not tell which
        )  # fmt: skip


def _is_plain(title: str) -> bool:
    """Return whether a title can stand in a question: words that are safe to show, and are not all in capitals."""
    return _PLAIN_TITLE.fullmatch(title) is not None and not title.isupper() and len(title.split()) > 1


def _cost(example: Example, at: int) -> float:
    """Return how little a question is worth: by its kind, the place of its statement, and the words that it needs."""
    return _WORTH.index(example.kind) + at / 4 + max(0, len(example.question.split()) - 8)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
