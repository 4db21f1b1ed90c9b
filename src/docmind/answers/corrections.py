"""Corrections within an exchange of mails: what a later mail says in place of an earlier one.

A correction says that it is one ("Correction: 950", "sorry, at ten instead of nine") or is the same sentence with
another value. It says what the earlier mail does, or nothing but the new value: what else a later mail says is about
something else. See ADR 0120.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal, NamedTuple

from docmind.answers.kinds import asked_of, content_words, holds
from docmind.answers.passages import Passage, stored_passages
from docmind.answers.values import values
from docmind.answers.versions import Earlier, most_alike
from docmind.documents import Catalog, PageRecord
from docmind.embedding import prefix, words
from docmind.language import lowered_alike
from docmind.records.answers import Source
from docmind.records.documents import MAIL, DocumentInfo
from docmind.records.search import Filters
from docmind.rich_text import one_line
from docmind.wording import _, date


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_MOST_MAILS, _MOST_PAGES = 20, 3  # later or earlier mails that are read, and pages of each
_LONGEST = 400  # characters of a correction
_NEW_WORDS = 2  # words of a correction that neither the question nor what is corrected has
_TOLD = 2  # words of a correction without a value that both have
_CUE = re.compile(  # on folded words
    r"\b(?:correct(?:ion|ions|ed|ing)?|erratum|mistaken?|wrong|sorry|apolog\w+|meant|instead|rather|actually"
    r"|no longer|not|changed?|revised?|update[ds]?|should (?:be|read|have)|moved|postponed"
    r"|korrektur|korrigier\w+|berichtig\w+|irrtum|irrtumlich|vertan|verschrieben|verrechnet|meinte|statt|anstatt|sondern"
    r"|nicht|geandert|entschuldig\w+|verschoben|richtig"
    r"|rectifi\w+|corrig\w+|erreur|trompee?s?|au lieu|plutot|en fait|finalement|non pas|pas|desormais|voulais dire"
    r"|pardon|desolee?|modifi\w+|reporte\w*"
    r"|correcci\w+|corrij\w+|error|equivo\w+|en lugar|en vez|en realidad|al final|ya no|quise decir|queria decir|perdon"
    r"|disculp\w+|sino|cambi\w+|aplaz\w+"
    r"|correc\w+|retific\w+|erro|engan\w+|em vez|na verdade|afinal|ja nao|nao|queria dizer|desculp\w+|mas sim|alter\w+"
    r"|adiad\w+)\b"
)
_FILLERS = _set(
    """hi hello dear hey please kindly thanks thank regards just now right new oh oops well so that this it here all
    hallo liebe lieber bitte danke jetzt neu neue neuer neuen doch ja also leider betragt lautet gruss
    bonjour cher chere merci maintenant nouveau nouvelle oui bien bonsoir salut s il plait vous
    hola buenos dias estimado estimada gracias ahora nuevo nueva si favor por correcto correcta
    ola bom dia caro cara obrigado obrigada agora novo nova sim certo certa"""
)
_UNITS = _set("euro euros eur dollars pounds usd gbp chf uhr o clock h hours horas heures")


def is_corrected(question: str, earlier: str, later: str, people: Collection[str] = ()) -> bool:
    """Return whether a passage of a later mail says something else in place of what an earlier one says.

    `people` are folded words of their names, with which a mail greets.
    """
    if len(later) > _LONGEST or not holds(asked_of(question), later):
        return False
    old, new = _readings(earlier), _readings(later)
    if old and not any(one.isdisjoint(frozenset().union(*old)) for one in new):
        return False  # no other value
    if most_alike(earlier, [later]) is not None and (not old or any(one not in new for one in old)):
        return bool(old)
    said = lowered_alike(later)
    if _CUE.search(said) is None:
        return False
    known = {*words(question), *words(earlier)}
    starts = {prefix(word) for word in known} - {None}
    own = {word for token in content_words(_CUE.sub(" ", _without_values(said))) for word in words(token)}
    own = own - _FILLERS - _UNITS - set(people)
    met = {word for word in own if word in known or prefix(word) in starts}
    if any(not one.isdisjoint(two) for one in old for two in new):
        return True  # `950, not 900`
    if not old:
        return len(met) >= _TOLD and len(own - met) <= _NEW_WORDS
    return len(own - met) <= (_NEW_WORDS if met else 0)


def _readings(text: str) -> list[frozenset[str]]:
    return [one.readings for one in values(text)]


def _without_values(text: str) -> str:
    """Return a text with white space in place of its values, among them the months of dates."""
    for one in values(text):
        text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
    return text


class _Found(NamedTuple):
    info: DocumentInfo
    page: PageRecord
    passage: Passage


class Exchanges:
    """The mails around one that is quoted. Thread-safe."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def correction(self, question: str, source: Source, filters: Filters) -> _Found | None:
        """Return what a later mail says in place of a quote; None where none does, or the quote is of no mail."""
        return next(self._others(question, source, filters, "later"), None)

    def corrected(self, question: str, source: Source, filters: Filters) -> _Found | None:
        """Return what an earlier mail says that the quote corrects."""
        return next(self._others(question, source, filters, "earlier"), None)

    def _others(
        self, question: str, source: Source, filters: Filters, where: Literal["later", "earlier"]
    ) -> Iterator[_Found]:
        """Yield such passages, those of the newest mail first."""
        mails, here = self._mails(source.doc_id, filters, where)
        if here is None:
            return
        people = {word for one in (here, *mails) for word in words(f"{one.sender} {one.recipients}")}
        asked = {prefix(word) or word for word in words(question) if len(word) > 2}
        for info in mails[:_MOST_MAILS]:
            for page, passage in self._passages(info):
                text = passage.text(page.text)
                if where == "later":
                    is_it = is_corrected(question, source.quote, text, people)
                else:
                    has_topic = not asked.isdisjoint(prefix(word) or word for word in words(text))
                    is_it = has_topic and is_corrected(question, text, source.quote, people)
                if is_it:
                    yield _Found(info, page, passage)

    def _mails(
        self, doc_id: str, filters: Filters, where: Literal["later", "earlier"]
    ) -> tuple[list[DocumentInfo], DocumentInfo | None]:
        """Return the mails that were sent after, or before, one of an exchange, the newest first, and that one."""
        named = self._catalog.thread_of(doc_id)
        thread = self._catalog.in_thread(named) if named else []
        here = next((one for one in thread if one.doc_id == doc_id), None)
        if here is None or not here.sent_at:
            return [], None
        is_wanted = (lambda sent: sent > here.sent_at) if where == "later" else (lambda sent: sent < here.sent_at)
        others = [one for one in reversed(thread) if one.kind == MAIL and one.sent_at and is_wanted(one.sent_at)]
        if others and (filters.is_of_documents or filters.doc_ids):
            allowed = set(self._catalog.allowed(filters))
            others = [one for one in others if one.doc_id in allowed]
        return others, here

    def _passages(self, info: DocumentInfo) -> Iterator[tuple[PageRecord, Passage]]:
        numbers = range(1, min(info.pages, _MOST_PAGES) + 1)
        for _key, page in sorted(self._catalog.pages((info.doc_id, number) for number in numbers).items()):
            yield from ((page, passage) for passage in stored_passages(self._catalog, page) if passage.is_own)


def earlier_of(info: DocumentInfo, source: Source) -> Earlier:
    """Return what an earlier mail says, with the words before it."""
    day = date(datetime.fromisoformat(info.dated or info.sent_at[:10]))
    name = one_line(info.author or info.sender)
    return Earlier(_("An earlier mail, of {name} on {date}, says:").format(name=name, date=day), source)


def numbered(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Return sources in their order with numbers from 1, each passage once."""
    once = dict[tuple[str, int, str], Source]()
    for one in sources:
        once.setdefault((one.doc_id, one.page_no, one.quote), one)
    return tuple(replace(one, n=n) for n, one in enumerate(once.values(), 1))
