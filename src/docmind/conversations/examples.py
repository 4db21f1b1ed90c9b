"""Example questions from the user's own documents: their names, headings and central sentences.

Each is asked before it is offered, and one that gets no sure answer from its document is dropped. They are made in the
background, once for each state of the vault.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from itertools import zip_longest

from docmind.answers import Language, headed_passages
from docmind.conversations.answerer import Answerer
from docmind.documents import Catalog
from docmind.embedding import STOP_WORDS, words
from docmind.errors import CancelledError, DocMindError
from docmind.ingest import IngestQueue
from docmind.records.documents import DocumentInfo
from docmind.records.query import Query
from docmind.runtime import Background, log_mistake

OFFERED = 3  # questions
DOCUMENTS = 6  # the newest, of which they are made
PAGES = 8  # of each, at its beginning, whose headings are read
LONGEST = 5  # words of a topic
TRIED = 6  # questions of a document until one is answered

_SAYS: dict[Language, str] = {
    "en": "What does “{name}” say about {topic}?",
    "pt": "O que diz “{name}” sobre {topic}?",
    "es": "¿Qué dice “{name}” sobre {topic}?",
}
_IS_ABOUT: dict[Language, str] = {
    "en": "What is “{name}” about?",
    "pt": "De que trata “{name}”?",
    "es": "¿De qué trata “{name}”?",
}
_TABLES = frozenset(("csv", "xlsx", "code"))  # their sentences say little of the whole
ALL = "What documents do I have?"

_PLAIN = re.compile(r"[^\W\d_][\w '’-]{2,47}")  # nothing that could be markup, and nothing too long for a button
_WORDS = re.compile(r"[^\W\d_](?:[^\W\d_]|[ '’-]){2,47}")
_NUMBER = re.compile(
    r"(?:(?:chapter|section|article|part|cap[íi]tulo|se[cç][ãa]o|secci[óo]n|t[íi]tulo|art[íi]culo|artigo|parte)\b)?"
    r"[\s§]*(?:\d{1,3}(?:\.\d{1,3}){0,3}|[ivxlc]{1,6}\b|[A-Z](?=[.)]))?[\s.:)–-]*",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:not?|never|without|none|no|não|nunca|sem|nenhum|nenhuma|sin|ningún|ninguna|contents|índice|sumário)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(r"(?:what|who|where|when|why|how|which|que|quem|onde|quando|como|qual|quais|qu[ée]|cu[áa]l)\b", re.I)
_LINKS = frozenset(("about", "de", "da", "do", "das", "dos", "del", "dear", "and", "sobre"))
_SUBJECT = re.compile(
    r"((?:the|our|your|[oa]s?|el|la|los|las)\s+[^\W\d_][\w ’'-]{2,40}?)\s+(?:is|are|was|costs?|lasts?|ends?|begins?|"
    r"must|may|rises?|é|são|custa|dura|termina|deve|es|son|cuesta|termina|debe)\s",
    re.IGNORECASE,
)


class Examples:
    """Makes example questions in the background, once no file is being read. Thread-safe."""

    def __init__(self, *, catalog: Catalog, answerer: Answerer, queue: IngestQueue) -> None:
        self._catalog, self._answerer, self._queue = catalog, answerer, queue
        self._work = Background("examples", "Example questions are no longer needed.")
        self._lock = threading.Lock()
        self._made: tuple[int, tuple[str, ...]] | None = None
        self._dropped = 0  # how often `drop` was called

    def get(self) -> tuple[str, ...] | None:
        """Return at most three questions; None while they are being made, which this starts. Never waits."""
        epoch = self._catalog.epoch()
        with self._lock:
            made = self._made
        if made is not None and made[0] == epoch:
            return made[1]
        if self._queue.progress().is_busy:
            return (ALL,)
        self._work.start(self._make)
        return None

    def wait(self, timeout_s: float) -> tuple[str, ...] | None:
        """Return the questions as soon as they are made, at the latest after `timeout_s`."""
        until = time.monotonic() + timeout_s
        while (made := self.get()) is None and (left := until - time.monotonic()) > 0:
            self._work.join(left)  # documents that come meanwhile have it made again
        return made

    def drop(self) -> None:
        """Drop the questions that are kept, and those that are being made: a document that they name is erased."""
        with self._lock:
            self._made, self._dropped = None, self._dropped + 1

    def close(self) -> None:
        """End the work; the question that is being tried is waited for. Idempotent."""
        self._work.close()
        self._work.join()

    def _make(self) -> None:
        epoch, dropped, made = self._catalog.epoch(), self._dropped, (ALL,)
        try:
            made = self._questions()
        except CancelledError:
            return
        except DocMindError as error:  # a search that fails is reported where the user asks
            log_mistake("docmind.answers", "example questions failed", error)
        finally:  # they are not tried again and again
            with self._lock:
                if dropped == self._dropped:
                    self._made = epoch, made

    def _questions(self) -> tuple[str, ...]:
        documents = [info for info in self._catalog.documents() if info.status == "ready"]
        if not documents:
            return ()
        named = [(info, name) for info in documents if (name := plain_name(info))][:DOCUMENTS]
        about: list[str] = []
        says: list[list[str]] = []
        for info, name in named:
            self._work.check()
            question = _IS_ABOUT[_language(info)].format(name=name)
            if not about and info.kind not in _TABLES and self._is_answered(question, info, "summary"):
                about.append(question)
            tried = [_SAYS[_language(info)].format(name=name, topic=topic) for topic in self._topics(info, name)]
            sure = (question for question in tried[:TRIED] if self._is_answered(question, info, "answer"))
            says.append([question for question, _ in zip(sure, range(OFFERED), strict=False)])
            if len(about) + sum(len(some) > 0 for some in says) > OFFERED:
                break
        in_turn = [question for row in zip_longest(*says) for question in row if question]
        found = [*in_turn[: OFFERED - len(about)], *about]
        return tuple([*found, ALL][: max(OFFERED, len(found))])

    def _is_answered(self, question: str, info: DocumentInfo, outcome: str) -> bool:
        self._work.check()
        answer = self._answerer.ask(Query(question))
        return answer.outcome == outcome and bool(answer.sources) and answer.sources[0].doc_id == info.doc_id

    def _topics(self, info: DocumentInfo, name: str) -> Iterator[str]:
        """Yield what a document is likely to speak of: its headings, then subjects of its central sentences."""
        first = 2 if info.pages > PAGES else 1  # the first page of a long document is its cover
        pages = self._catalog.pages((info.doc_id, number) for number in range(first, PAGES + 1))
        headed = (headed_passages(page.text, (), page.structure()) for page in pages.values())
        headings = [heading for found in headed for heading, _ in found]
        sentences = [source.quote for _, source in self._answerer.direct.summarizer.summarize(info).parts]
        subjects = [found[1] for sentence in sentences if (found := _SUBJECT.match(" ".join(sentence.split())))]
        seen = set(words(name))
        for topic in filter(None, map(topic_of, (*headings, *subjects))):
            new = set(words(topic))
            if new and not new <= seen:
                seen |= new
                yield topic


def topic_of(heading: str) -> str:
    """Return a heading as the topic of a question; empty where it does not make one, as a denial or a question."""
    line = _NUMBER.sub("", " ".join(heading.split()), count=1).strip(" .:")
    parts = line.split()
    if not _WORDS.fullmatch(line) or _DENIES.search(line) or _ASKS.match(line) or len(parts) > LONGEST:
        return ""
    if parts[0].lower() in _LINKS or parts[-1].lower() in STOP_WORDS:
        return ""
    is_title = len(parts) > 1 and parts[-1][0].isupper()  # as names are written; others begin in lower case
    return line.lower() if line.isupper() else line if is_title else line[0].lower() + line[1:]


def plain_name(info: DocumentInfo) -> str:
    """Return a document's file name in words; empty where it is too long, or has characters beside words."""
    stem = info.document.rpartition(".")[0] or info.document
    name = " ".join(re.split(r"[\s_.]+", stem)).strip()
    return name if _PLAIN.fullmatch(name) else ""


def _language(info: DocumentInfo) -> Language:
    return info.language if info.language in ("pt", "es") else "en"  # type: ignore[return-value]
