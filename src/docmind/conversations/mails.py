"""Answers to questions about mails by who wrote them, to whom and when: the headers of all mails answer, not a search.

A question counts as one where it names a person who wrote or got a mail of the library. Each mail is told with its day,
its sender and its subject, and quotes what it says about the topic, or how it begins.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from docmind.answers import Language, MailQuestion, Wanted, mail_questions, passage_source, stored_passages
from docmind.documents import Catalog, PageRecord, is_answer
from docmind.records.answers import Source
from docmind.records.documents import DocumentInfo
from docmind.records.search import Filters, has_person
from docmind.rich_text import one_line
from docmind.wording import A_many, date, number_text, say, say_many

SHOWN = 12  # mails that an answer quotes
_READ = 400  # mails that are read for a topic
_PAGES = 3  # pages of each


@dataclass(frozen=True, slots=True)
class FoundMails:
    """The mails that a question asks for, the latest first, and the question as it was read."""

    asked: MailQuestion
    mails: tuple[DocumentInfo, ...]


class Mails:
    """Answers about mails by their headers. Thread-safe: the latest one is replaced as a whole."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._latest: tuple[object, FoundMails | None] | None = None

    def drop(self) -> None:
        """Drop the mails that are kept in memory, because a document is erased."""
        self._latest = None

    def answer(self, question: str, filters: Filters) -> FoundMails | None:
        """Return the mails that a question asks for; None for a question that is none about mails.

        A question that names nobody who wrote or got a mail is none, unless it has a word for mails.
        """
        readings = list(mail_questions(question))
        if not readings or not self._catalog.holds("mail"):
            return None
        key, kept = (question, filters, self._catalog.epoch()), self._latest
        if kept is None or kept[0] != key:
            kept = self._latest = key, self._answer(readings, filters)
        return kept[1]

    def _answer(self, readings: Sequence[MailQuestion], filters: Filters) -> FoundMails | None:
        mails = self._mails(filters)
        for asked in readings:
            if asked.who and not any(has_person(info.sender, asked.who) for info in mails):
                continue
            if asked.to and not any(has_person(info.recipients, asked.to) for info in mails):
                continue
            found = [info for info in mails if _is_meant(info, asked)]
            found = self._about(asked.about, found) if asked.about else found
            is_told = len({info.sender for info in found}) > 1 if asked.kind == "who" else bool(found) or asked.is_mail
            if is_told:
                return FoundMails(asked, tuple(found))
            if not asked.about:
                return None
        asked = readings[0]
        is_surely = asked.is_mail and asked.kind in ("list", "count") and len(asked.who.split()) <= 3
        return FoundMails(asked, ()) if is_surely and mails and not asked.about else None

    def _mails(self, filters: Filters) -> list[DocumentInfo]:
        allowed = set(self._catalog.allowed(filters))
        if filters.snapshots:
            mails = [info for info in self._catalog.asked(filters.snapshots) if info.kind == "mail"]
            mails.sort(key=lambda info: info.sent_at, reverse=True)
        else:
            mails = self._catalog.mails()
        return [info for info in mails if info.doc_id in allowed and info.sender]

    def _about(self, topic: str, mails: Sequence[DocumentInfo]) -> list[DocumentInfo]:
        """Return the mails that have the words of a topic in their subject or text."""
        wanted = Wanted(topic.lower())
        if not wanted:
            return []
        return [
            info
            for info in mails[:_READ]
            if wanted.mentions(info.shown_title, info.language)
            or any(self._mentions(wanted, page) for page in self._pages(info))
        ]

    def _mentions(self, wanted: Wanted, page: PageRecord) -> bool:
        return any(
            wanted.mentions(passage.text(page.text), page.language)
            for passage in stored_passages(self._catalog, page)
            if passage.is_own
        )

    def _pages(self, info: DocumentInfo) -> Collection[PageRecord]:
        numbers = range(1, min(info.pages, _PAGES) + 1)
        return self._catalog.pages((info.doc_id, number) for number in numbers).values()

    def told(self, found: FoundMails, language: Language) -> tuple[str, list[Source | str], str]:
        """Return the words before the mails, each mail with a quote, and the words after them."""
        asked, mails = found.asked, found.mails
        topic = one_line(asked.about)
        about = say(language, " about “{topic}”").format(topic=topic) if asked.about else ""
        time = f" ({one_line(asked.period.words)})" if asked.period.words else ""
        who = say(language, " from {name}").format(name=_names(mails, asked.who)) if asked.who else ""
        who += say(language, " to {name}").format(name=one_line(asked.to)) if asked.to else ""
        one, many = A_many("{n} mail{who}{about}{when}:", "{n} mails{who}{about}{when}, the latest first:")
        form = say_many(language, one, many, len(mails))
        form = form if mails else say(language, "There is no mail{who}{about}{when}.")
        lead = form.format(n=number_text(len(mails), code=language), who=who, about=about, when=time)
        if asked.kind == "who" and mails:
            mails = tuple({info.sender: info for info in reversed(mails)}.values())
            several = say(language, "{n} people wrote about “{topic}”: {names}.")
            lead = several.format(n=len(mails), topic=topic, names=_names(mails, ""))
        parts = list[Source | str]()
        for info in mails[:SHOWN]:
            day = f"{date(datetime.fromisoformat(info.dated), language)}, " if info.dated else ""
            parts.append(f"{day}{one_line(info.author or info.sender)}: {one_line(info.label)}")
            quote = self._quote(info, asked)
            parts += [quote] if quote is not None else []
        more = len(mails) - SHOWN
        rest = say(language, "And {n} more.").format(n=number_text(more, code=language)) if more > 0 else ""
        return lead, parts, rest

    def _quote(self, info: DocumentInfo, asked: MailQuestion) -> Source | None:
        """Return what a mail says of what is asked: a line of its header, or a sentence of its own."""
        wanted = Wanted(asked.about.lower())
        field = {"when": "Date", "who": "From"}.get(asked.kind, "")
        own: Source | None = None
        for page in self._pages(info):
            for passage in stored_passages(self._catalog, page):
                if passage.field and passage.field == field:
                    return passage_source(page, info.document, replace(passage, lead=None))
                text = page.text[passage.start : passage.end]
                if field or not passage.is_own or not passage.is_whole:
                    continue
                if wanted and wanted.mentions(text, page.language):
                    return passage_source(page, info.document, passage)
                if own is None and text.rstrip().endswith((".", "!", "?")):
                    own = passage_source(page, info.document, passage)
        return own


def _is_meant(info: DocumentInfo, asked: MailQuestion) -> bool:
    return (
        (not asked.who or has_person(info.sender, asked.who))
        and (not asked.to or has_person(info.recipients, asked.to))
        and asked.period.has(info.dated)
        and (not asked.is_answer or bool(info.refers_to) or is_answer(info.topic))
    )


def _names(mails: Sequence[DocumentInfo], given: str) -> str:
    """Return the names of those who wrote, each once; what was asked where there is none."""
    found = list(dict.fromkeys(one_line(info.author or info.sender) for info in mails))
    return ", ".join(found[:SHOWN]) or one_line(given)
