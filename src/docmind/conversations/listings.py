"""Complete lists: every mention of words, all values of a kind, or whole lists and tables, over all pages.

Pages are read in their order, a few at a time, without an index and without a ranking: a list is what they say, all of
it, or it tells why it is not complete.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from docmind.answers import (
    Fit,
    ItemList,
    ListQuestion,
    ListReader,
    Wanted,
    drop_words,
    fit,
    imports_in,
    is_everywhere,
    is_named,
    is_this,
    list_questions,
    mention_of,
    opening_of,
    page_source,
    values_of,
    without_genre,
    words_of_list,
)
from docmind.blocks import PageBlock
from docmind.documents import Catalog, PageRecord, Uploads, Words
from docmind.embedding import name_of
from docmind.errors import ConfigError, DamagedError
from docmind.records.answers import with_days_apart
from docmind.records.code import languages_of
from docmind.records.documents import DocumentInfo
from docmind.records.listed import Listed, ListedItem
from docmind.records.listings import MOST_ITEMS, Listable, ListedDocument, Listing
from docmind.records.search import Filters
from docmind.records.values import Question, check
from docmind.rich_text import one_line
from docmind.wording import _, ngettext, number_text

Progress = Callable[[int, int], None]
"""Called with the pages that were read, and all pages. What it raises ends the work."""

FoundPages = Callable[[], Collection[tuple[str, int]]]
"""The pages that a search for a question finds: the document's id and the page's number of each."""

MOST_PAGES = 100_000
SECONDS = 600.0  # for a list that was asked for as such
ASKED_SECONDS = 20.0  # for a question that surely asks for a list
TRIED_SECONDS = 0.8  # for a question that may name a list, in all: its quotes wait for that
_BATCH = 64  # pages in memory at once
_MOST_AT_ONCE = 64  # pages that are read without a search for those that may have a list, however busy the computer is
_SMALL = 8  # pages of a document that is read whole where a page of it was found
_MOST_FOR_BARE = 1_000  # pages that are read for a question of a few words without a verb
_LONGEST = 1_000  # characters of an item
_OPENED = 2_000  # documents whose first lines are compared with a name
_BLANK = re.compile(r"\n\s*\n")  # between blocks, where a word goes on
_EQUAL = 0.01  # between the fits of two lists
_NAMED = 3  # documents that a sentence names


@dataclass(slots=True)
class _Place:
    """Where an item stands, and how often it stands in its document."""

    page_no: int
    span: tuple[int, int]
    times: int = 1


@dataclass(slots=True)
class _Walk:
    """The pages that a list is made of, and what was left out of it."""

    pages_total: int
    until: float
    progress: Progress | None
    pages_read: int = 0
    is_late: bool = False
    is_long: bool = False
    damaged: dict[str, int] = field(default_factory=dict[str, int])

    def goes_on(self) -> bool:
        """Return whether another page may be read; what the progress raises ends the walk."""
        if self.progress is not None:
            self.progress(self.pages_read, self.pages_total)
        self.is_late = self.is_late or time.monotonic() > self.until
        self.is_long = self.is_long or self.pages_read >= MOST_PAGES
        return not (self.is_late or self.is_long)

    def structure_of(self, info: DocumentInfo, page: PageRecord) -> tuple[PageBlock, ...]:
        """Return the blocks of a page; none where they are damaged, which the list tells."""
        try:
            return page.structure()
        except DamagedError:
            self.damaged.setdefault(info.document, page.page_no)
            return ()


class Listings:
    """Makes complete lists. Thread-safe: a list has all of its own data, and the latest one is kept under a lock."""

    def __init__(self, *, catalog: Catalog, uploads: Uploads) -> None:
        self._catalog, self._uploads = catalog, uploads
        self._lock = threading.Lock()
        self._latest: tuple[object, Listed | None] | None = None

    def drop(self) -> None:
        """Drop the list that is kept in memory, and the words that were compared, because a document is erased."""
        drop_words()
        with self._lock:
            self._latest = None

    def find(
        self,
        words: str = "",
        what: Listable = "mentions",
        filters: Filters = Filters(),
        *,
        progress: Progress | None = None,
        seconds: float = SECONDS,
    ) -> Listed:
        """Return every item of a list, in the documents that `filters` leave, the newest first.

        `words` are what is mentioned ("in quotation marks" for this form alone), or a question that names lists
        (`what="items"`); values of a kind need none, and with words only those are listed that have all of them.

        `progress` gets the pages that were read and all pages; what it raises ends the work. Raises `ConfigError`
        where words are missing or too long.
        """
        check(Question, words, "words")
        if what in ("mentions", "items", "imports") and not words.strip():
            raise ConfigError(_("There is no word to look for."), hint=_("Give one word or more."))
        if what == "items":
            questions = [one for one in list_questions(words) if one.what == "items"]
            asked = questions[0] if questions else ListQuestion("items", words, (("", ""),), is_explicit=True)
            return self._with_provenance(self._list(asked, words, filters, (), progress, seconds))
        words = words.strip()
        asked = mention_of(words) if what == "mentions" else ListQuestion(what, words, ((words, ""),))
        asked = asked._replace(places=((asked.words, ""),))
        return self._with_provenance(self._list(asked, words, filters, (), progress, seconds))

    def _with_provenance(self, found: Listed) -> Listed:
        sources = with_days_apart(self._catalog.with_provenance(item.source for item in found.items))
        items = (replace(item, source=source) for item, source in zip(found.items, sources, strict=True))
        return replace(found, items=tuple(items))

    def answer(
        self, question: str, filters: Filters, talked_about: Sequence[str], found_pages: FoundPages
    ) -> Listed | None:
        """Return the list that a question asks for; None where it asks for none, or names one that is not there.

        A question that does not say that it asks for a list, over many pages, is taken for one where the pages that a
        search finds for it have such a list: `found_pages` is then called, once at most.
        """
        key = question, filters, tuple(talked_about), self._catalog.epoch()
        with self._lock:
            if self._latest is not None and self._latest[0] == key:
                return self._latest[1]
        found = self._answer(question, filters, talked_about, found_pages)
        with self._lock:
            self._latest = key, found
        return found

    def _answer(
        self, question: str, filters: Filters, talked_about: Sequence[str], found_pages: FoundPages
    ) -> Listed | None:
        started = time.monotonic()
        for asked in list_questions(question):
            if asked.what == "imports" and not self._catalog.holds("code"):
                continue
            documents = self._within(filters)
            pages = sum(info.pages for info in documents)
            if asked.what == "items" and not asked.is_explicit:
                if asked.is_bare and pages > _MOST_FOR_BARE:
                    continue  # a search for a few words must not wait
                if pages > _MOST_AT_ONCE and not self._is_near(asked, documents, filters, found_pages()):
                    continue
            for before, place in asked.places:
                left = TRIED_SECONDS - (time.monotonic() - started)
                seconds = left if asked.what == "items" and pages > _MOST_AT_ONCE else ASKED_SECONDS
                doc_ids = self._meant(place, filters, talked_about)
                if place and not doc_ids and not is_everywhere(place):
                    continue
                within = replace(filters, doc_ids=doc_ids) if doc_ids else filters
                words = {"mentions": before, "items": question, "imports": before}.get(asked.what, "")
                if asked.is_quoted:
                    words = f'"{words}"'
                found = self._list(asked._replace(places=((before, ""),)), words, within, doc_ids, None, seconds)
                may_be_none = asked.what != "items" and (asked.what != "imports" or asked.is_explicit)
                if found.items or (may_be_none and place == asked.places[-1][1]):
                    return found
        return None

    def _is_near(
        self,
        asked: ListQuestion,
        documents: Sequence[DocumentInfo],
        filters: Filters,
        found: Collection[tuple[str, int]],
    ) -> bool:
        """Return whether a list that answers a question is on pages that a search found, or beside them."""
        words, walk = words_of_list(asked.words), _Walk(len(found), time.monotonic() + TRIED_SECONDS, None)
        for info in documents if words else ():
            near = {no + step for doc_id, no in found if doc_id == info.doc_id for step in (-1, 0, 1)}
            if near and info.pages > _SMALL:
                near.add(1)  # what it opens with names a document
            numbers = range(1, info.pages + 1) if near and info.pages <= _SMALL else sorted(near)
            numbers = [number for number in numbers if 1 <= number <= info.pages]
            if numbers and self._fits(asked, words, info, filters, walk, numbers):
                return True
        return False

    def _meant(self, place: str, filters: Filters, talked_about: Sequence[str]) -> tuple[str, ...]:
        """Return the documents that words name; none for all documents, or where no document has such a name."""
        if not place or is_everywhere(place):
            return ()
        documents = self._within(filters)
        if is_this(place):
            return tuple(info.doc_id for info in documents if info.doc_id in talked_about)
        exact = [info.doc_id for info in documents if place.casefold() in _file_names(info)]
        named = exact or [info.doc_id for info in documents if is_named(place, _label(info))]
        if named:
            return tuple(named)
        bare = without_genre(place)
        if bare and bare != place:
            named = [info.doc_id for info in documents if is_named(bare, _label(info))]
        return tuple(named or [info.doc_id for info in documents[:_OPENED] if is_named(bare, self._opening(info))])

    def _opening(self, info: DocumentInfo) -> str:
        """Return what names a document, with the lines that it opens with."""
        page = self._catalog.pages([(info.doc_id, 1)]).get((info.doc_id, 1))
        try:
            opening = opening_of(page.text, page.structure()) if page is not None else ""
        except DamagedError:
            opening = ""
        return f"{_label(info)} {opening}"

    def _within(self, filters: Filters) -> list[DocumentInfo]:
        """Return the documents that are asked, the newest first."""
        allowed = set(self._catalog.allowed(filters))
        return [info for info in self._catalog.asked(filters.snapshots) if info.doc_id in allowed]

    def _list(
        self,
        asked: ListQuestion,
        words: str,
        filters: Filters,
        doc_ids: tuple[str, ...],
        progress: Progress | None,
        seconds: float,
    ) -> Listed:
        documents = self._within(filters)
        walk = _Walk(sum(info.pages for info in documents), time.monotonic() + seconds, progress)
        maker = self._items if asked.what == "items" else self._values
        items, counts, total = list[ListedItem](), list[ListedDocument](), 0
        epoch = self._catalog.epoch()
        for info, places in maker(asked, documents, filters, walk):
            if places:
                counts.append(ListedDocument(info.doc_id, info.document, len(places)))
                items += self._listed(info, places[: max(0, MOST_ITEMS - total)], total, epoch, walk)
                total += len(places)
        unread = self._unread(filters, walk, total)
        listing = Listing(asked.what, words, total, tuple(counts), walk.pages_read, not unread, tuple(unread), doc_ids)
        return Listed(listing, tuple(items))

    def _listed(
        self, info: DocumentInfo, places: Sequence[_Place], before: int, epoch: int, walk: _Walk
    ) -> Iterator[ListedItem]:
        """Yield the items of a document, numbered from behind `before`; of pages that are erased meanwhile none."""
        page: PageRecord | None = None
        for n, place in enumerate(places, start=before + 1):
            if page is None or page.page_no != place.page_no:
                page = self._catalog.pages([(info.doc_id, place.page_no)]).get((info.doc_id, place.page_no))
            if page is None:
                continue
            start, end = place.span
            try:
                boxes = Words.unpack(page.words).boxes_of(start, end)
            except DamagedError:
                walk.damaged.setdefault(info.document, page.page_no)
                boxes = ()
            quote = _BLANK.sub("\n", page.text[start:end])
            source = page_source(n, info.document, page, epoch=epoch, quote=quote, boxes=boxes)
            yield ListedItem(one_line(quote)[:_LONGEST], place.times, source)

    def _pages(
        self, info: DocumentInfo, filters: Filters, walk: _Walk, numbers: Sequence[int] = ()
    ) -> Iterator[PageRecord]:
        """Yield pages of a document, all without `numbers`, a few in memory at a time, as long as the walk goes on."""
        numbers = numbers or range(1, info.pages + 1)
        for first in range(0, len(numbers), _BATCH):
            batch = numbers[first : first + _BATCH]
            pages = self._catalog.pages((info.doc_id, number) for number in batch)
            for number in batch:
                if not walk.goes_on():
                    return
                page = pages.get((info.doc_id, number))
                walk.pages_read += 1
                if page is None:
                    walk.damaged.setdefault(info.document, number)
                elif not filters.languages or page.language in filters.languages:
                    yield page

    def _values(
        self, asked: ListQuestion, documents: Sequence[DocumentInfo], filters: Filters, walk: _Walk
    ) -> Iterator[tuple[DocumentInfo, list[_Place]]]:
        """Yield the mentions or values of each document; a value that stands there again counts, and is one."""
        wanted = Wanted(asked.places[0][0], is_exact=asked.is_quoted)
        if asked.what == "mentions" and not wanted:
            raise ConfigError(_("There is no word to look for."), hint=_("Give one word or more."))
        for info in documents:
            found: dict[object, _Place] = {}
            for page in self._pages(info, filters, walk):
                text, blocks = page.text, walk.structure_of(info, page)
                if asked.what == "mentions":
                    for start, end, times in wanted.mentions(text, page.language, blocks):
                        found[page.page_no, start] = _Place(page.page_no, (start, end), times)
                    continue
                if asked.what == "imports":
                    if page.page_no == 1 and not _is_in(info, asked.context):
                        break
                    for start, end in imports_in(text, blocks, asked.places[0][0]):
                        found[page.page_no, start] = _Place(page.page_no, (start, end))
                    continue
                for start, end, key in values_of(asked.what, text, page.language, blocks):
                    if key in found:
                        found[key].times += 1
                    elif not wanted or wanted.mentions(text[start:end], page.language):
                        found[key] = _Place(page.page_no, (start, end))
            yield info, list(found.values())

    def _items(
        self, asked: ListQuestion, documents: Sequence[DocumentInfo], filters: Filters, walk: _Walk
    ) -> Iterator[tuple[DocumentInfo, list[_Place]]]:
        """Yield the items of the lists that fit the question best: those of equal fit, in all documents."""
        words = words_of_list(asked.words)
        fitting = [(info, self._fits(asked, words, info, filters, walk)) for info in documents if words]
        top = max((one.score for _info, fits in fitting for one in fits), default=0.0)
        for info, fits in fitting:
            best = [item for one in fits if one.score >= top - _EQUAL for item in one.items]
            places = {(item.page_no, item.start): _Place(item.page_no, (item.start, item.end)) for item in best}
            yield info, [places[key] for key in sorted(places)]

    def _fits(
        self,
        asked: ListQuestion,
        words: list[str],
        info: DocumentInfo,
        filters: Filters,
        walk: _Walk,
        numbers: Sequence[int] = (),
    ) -> list[Fit]:
        """Return the lists of a document that answer a question; one that only its name fits, where it has no other.

        Of `numbers`, the pages that are read, those that do not follow on each other have lists of their own.
        """
        reader = ListReader(_label(info), words)
        lists, fits, last = 0, list[Fit](), 0

        def found() -> Iterator[ItemList]:
            nonlocal last
            for page in self._pages(info, filters, walk, numbers):
                if numbers and page.page_no != last + 1:
                    yield from reader.close()
                last = page.page_no
                yield from reader.read(page.page_no, page.text, walk.structure_of(info, page))
            yield from reader.close()

        for held in found():
            lists += 1
            if (how := fit(asked, words, held)) is not None:
                fits.append(how)
        return [one for one in fits if one.is_named or lists == 1]

    def _unread(self, filters: Filters, walk: _Walk, total: int) -> list[str]:
        """Return a sentence for each reason why a list is not complete."""
        told: list[str] = []
        if walk.is_late or walk.is_long:
            told.append(
                _("Only {done} of {pages} pages were read in the time there was.").format(
                    done=number_text(walk.pages_read), pages=number_text(walk.pages_total)
                )
            )
        if total > MOST_ITEMS:
            told.append(_("Only the first {most} items are listed.").format(most=number_text(MOST_ITEMS)))
        if walk.damaged:
            named = [f"{one_line(name)}, {_('page {n}').format(n=page)}" for name, page in walk.damaged.items()]
            told.append(_("Pages that can't be read are left out: {pages}.").format(pages=_some(named)))
        if not filters.snapshots:
            allowed = set(self._catalog.allowed(filters))
            unready = [info for info in self._catalog.documents() if info.status != "ready" and info.doc_id in allowed]
            if unready:
                names = _some([one_line(info.document) for info in unready])
                left_out = _("Documents that aren't read yet, or couldn't be, are left out: {names}.")
                told.append(left_out.format(names=names))
            if not filters.doc_ids and (waiting := self._waiting({info.doc_id for info in unready})):
                told.append(
                    ngettext(
                        "{n} file that waits to be read is left out.",
                        "{n} files that wait to be read are left out.",
                        waiting,
                    ).format(n=waiting)
                )
        told += [one.reason for one in self._catalog.lacking(filters)]
        return told

    def _waiting(self, known: set[str]) -> int:
        """Return how many files wait in the queue and are not among documents that are told by name."""
        return sum(one.doc_id not in known for one in self._uploads.all("waiting", "reading", "paused", "locked"))


def _is_in(info: DocumentInfo, language: str) -> bool:
    """Return whether a document may be in a language of source code, "" for any; others may have code of all."""
    return not language or info.kind != "code" or language in languages_of(info.document)


def _file_names(info: DocumentInfo) -> tuple[str, str]:
    """Return a document's file name, with and without what tells its format."""
    name = info.document.casefold()
    return name, PurePath(name).stem


def _label(info: DocumentInfo) -> str:
    """Return the words that name a document: its file name and title, and the heading of its first page."""
    return f"{name_of(info.document, info.title)}. {info.heading}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    shown = ", ".join(names[:_NAMED])
    return f"{shown} {_('and {n} more').format(n=number_text(more))}" if more > 0 else shown
