"""What an export says in every format: texts about a turn, and the cited pages.

Each page is there once, with all quoted words marked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from docmind.answers import NOT_FOUND, SENTENCES
from docmind.language import folded
from docmind.records.answers import NOTED, SEEN, STOPPED, TOLD, Answer, Outcome, Source
from docmind.records.conversations import ThreadView, Turn
from docmind.records.documents import Box
from docmind.records.rich_text import Block, Break, Paragraph, Run, SentenceEnd
from docmind.records.search import stage_name
from docmind.rich_text import blocks_of, highlight, one_line, quote_lines
from docmind.wording import N_, _, date, ngettext

UNSUPPORTED, UNSUPPORTED_AGAIN = N_("not found in your documents"), N_("not found")
_MADE_OF: dict[Outcome, str] = {
    "maybe": N_("passages that may answer"),
    "documents": N_("a list of documents"),
    "summary": N_("central sentences"),
    "list": N_("a complete list"),
}
DELETED = N_("This document has been deleted. The quote is kept from when it was cited.")
NAMELESS = N_("erased document")


def lost(source: Source) -> str:
    """Return the sentence about a source whose page cannot be shown; empty where its `how` says it."""
    if source.gone == "binned":
        return _("This document is in the bin.")
    return "" if source.gone == "erased" and not source.quote else _(DELETED)


def when(at_ms: int) -> str:
    """Format the local date and time."""
    moment = datetime.fromtimestamp(at_ms / 1000).astimezone()
    return f"{date(moment)}, {moment:%H:%M}"


def opening(view: ThreadView) -> list[str]:
    """Return the lines below the title."""
    count = len(view.turns)
    line = ngettext(
        "A conversation in DocMind, {n} question, {first} to {last}.",
        "A conversation in DocMind, {n} questions, {first} to {last}.",
        count,
    )
    told = [line.format(n=count, first=when(view.thread.created_at_ms), last=when(view.thread.updated_at_ms))]
    if view.earlier:
        told.append(_("The first {earlier} questions are not in this file.").format(earlier=view.earlier))
    if any(turn.answer and turn.answer.model for turn in view.turns):
        told.append(
            _(
                "Numbers in brackets name the sources below an answer. What no page supports is marked “{unsupported}”."
            ).format(unsupported=_(UNSUPPORTED))
        )
    if any(sentence.seen for turn in view.turns if turn.answer for sentence in turn.answer.sentences):
        told.append(
            _("What rests on the image of a page, on the model's word alone, is marked “{seen}”.").format(seen=_(SEEN))
        )
    return told


def byline(turn: Turn) -> str:
    """Describe who answered, when, and how."""
    answer = turn.answer
    parts = [when(turn.asked_at_ms)]
    if answer is not None and answer.model:
        parts.append(_("written by {writer}").format(writer=answer.writer))
    elif answer is not None and answer.found:
        parts.append(_(_MADE_OF.get(answer.outcome, N_("quoted from the pages"))))
    if turn.mode == "agent":
        parts.append(_("agent mode"))
    if turn.asked_as and turn.asked_as != turn.question:
        parts.append(_("searched for “{asked_as}”").format(asked_as=turn.asked_as))
    return " · ".join(parts)


def remarks(turn: Turn) -> list[str]:
    """Return the notes about an answer: stopped, unanswered, stages that were skipped."""
    told = []
    if turn.state == "stopped":
        is_quoted = turn.answer is not None and turn.answer.found and not turn.answer.model
        told.append(_(STOPPED) if is_quoted else _("The answer was stopped before it was finished."))
    elif turn.state == "unanswered":
        told.append(turn.message or _("This question was not answered."))
    if turn.answer is not None:
        told += [
            _("Without {stage}: {reason}").format(stage=stage_name(skipped.stage), reason=skipped.reason)
            for skipped in turn.answer.degraded
        ]
    return told


def body(answer: Answer) -> tuple[Block, ...]:
    """Return the answer's blocks; quotes keep their `[n]` markers as text, and the lines of lists and tables."""
    if answer.model:
        return blocks_of(answer.answer, answer.sentences)
    if answer.outcome == "noted":
        return tuple(Paragraph((Run(text),)) for text in (_(NOTED), *(f"“{one_line(fact)}”" for fact in answer.told)))
    known = tuple(Paragraph((Run(f"{_(TOLD)}: “{one_line(fact)}”"),)) for fact in answer.told)
    if answer.outcome == "told":
        return known
    if not answer.found:
        is_told = not answer.is_searched or answer.answer in SENTENCES
        said = (answer.answer if is_told else NOT_FOUND, answer.needs)
        return (*known, *(Paragraph((Run(text),)) for text in said if text))
    parts = [part for part in answer.answer.split("\n\n") if part.strip()]
    shown = parts[:1] if answer.outcome == "maybe" else parts  # the quotes that may answer are listed below
    return (*known, *(Paragraph(_quoted(part)) for part in shown))


def groups_of(answer: Answer) -> list[tuple[str, tuple[Source, ...]]]:
    """Return the sources under their headings: those of the answer, and quotes that are also relevant."""
    further = answer.further
    first = tuple(source for source in answer.sources if source not in further)
    return [(name, group) for name, group in ((_("Sources"), first), (_("Also relevant"), further)) if group]


def _quoted(text: str) -> tuple[Run | Break | SentenceEnd, ...]:
    lines = [Run(line) for line in quote_lines(text)]
    return tuple(part for line in lines for part in (line, Break()))[:-1]


def badge_of(answer: Answer, cited: Callable[[int], str], unsupported: Callable[[str], str]) -> Callable[[int], str]:
    """Return a function that formats the marks after a sentence, given its index.

    The marks are its sources, or that it rests on the image of a page, or that there are none (in full the first time).
    """
    numbers = {source.n for source in answer.sources}
    told: list[int] = []

    def badge(index: int) -> str:
        sentence = answer.sentences[index]
        known = [number for number in sentence.sources if number in numbers]
        if sentence.supported and known:
            return "".join(cited(number) for number in known)
        if sentence.seen and known:
            return unsupported(_(SEEN)) + "".join(cited(number) for number in known)
        if not sentence.is_claim:
            return ""
        told.append(index)
        return unsupported(UNSUPPORTED if len(told) == 1 else UNSUPPORTED_AGAIN)

    return badge


Key = tuple[str, str]
"""An image: its artifact or, without one, its page, and the size that the boxes are measured in."""


@dataclass(slots=True)
class CitedPage:
    """A cited page.

    `image` is None where its document was deleted; `cited` are (question, source) numbers.
    """

    name: str
    """The picture's path in a bundle."""
    document: str
    page_no: int
    size: tuple[int, int]
    image: bytes | None
    boxes: list[Box] = field(default_factory=list)
    cited: list[tuple[int, int]] = field(default_factory=list)

    def jpeg(self) -> bytes | None:
        """Return the page as JPEG with all quoted words marked; None without an image."""
        return None if self.image is None else highlight.marked(self.image, self.boxes, self.size)

    def strip(self, source: Source) -> bytes | None:
        """Return the part of the page that this source quotes; None without an image."""
        return None if self.image is None else highlight.strip(self.image, source.boxes, self.size)


class Pages:
    """All cited pages, in order of first citation."""

    def __init__(self, turns: Sequence[Turn], image: Callable[[Source], bytes | None]) -> None:
        self._pages: dict[Key, CitedPage] = {}
        for number, turn in enumerate(turns, start=1):
            for source in turn.answer.sources if turn.answer else ():
                page = self._pages.get(_key(source))
                if page is None:
                    name = f"pages/{len(self._pages) + 1:03d}-{_slug(source.document)}-p{source.page_no}.jpg"
                    size = (source.page_width, source.page_height)
                    page = CitedPage(name, source.placed, source.page_no, size, image(source))
                    self._pages[_key(source)] = page
                page.boxes += [box for box in source.boxes if box not in page.boxes]
                page.cited.append((number, source.n))

    def __iter__(self) -> Iterator[CitedPage]:
        return iter(self._pages.values())

    def __getitem__(self, source: Source) -> CitedPage:
        return self._pages[_key(source)]


def _key(source: Source) -> Key:
    return source.image_artifact_id or source.page_id, f"{source.page_width}x{source.page_height}"


def _slug(document: str) -> str:
    """Return up to 40 ASCII letters, digits and dashes of a document's name; never empty."""
    plain = folded(one_line(document).rpartition(".")[0] or document)
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40] or "document"
