"""The library: documents as a person keeps them, with names, tags, collections, a bin, and their originals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Literal

from docmind.documents import (
    Catalog,
    Corrections,
    Edits,
    LineEdit,
    Words,
    check_series,
    compare_documents,
    coverage_of,
    earlier_versions,
    join_series,
    outline_of,
    page_lines,
    say_no_version,
    say_versions,
)
from docmind.errors import ConfigError, DamagedError, DiskFullError, DocMindError, IndexMismatchError, NotFoundError
from docmind.ingest.pipeline import Ingest
from docmind.reading import PagePictures
from docmind.records.comparison import Comparison
from docmind.records.documents import (
    Collection,
    DocumentInfo,
    EnclosedFile,
    Figure,
    Heading,
    OcrChoice,
    OcrEngine,
    OcrMode,
    PageView,
    ReadingFacts,
)
from docmind.records.reader import Coverage, PageLines
from docmind.records.search import Filters
from docmind.records.values import Line, check
from docmind.rich_text import file_name
from docmind.runtime import Background, log_mistake
from docmind.storage import Preferences
from docmind.vault import Vault
from docmind.visual import Visual
from docmind.wording import _

_OUTLINED = 400  # pages that an outline is made of
_KEPT = 8  # outlines, and coverages
_TITLES = "titles.2"  # the preference that says after which document titles are looked for next; None once all were
_VERSIONS = "versions.1"  # the same for the series of versions
_TITLED, _REST_S = 20, 0.2  # documents whose titles are found in one transaction, and the pause after it


class Outlines:
    """The headings of documents, kept in memory for those asked for last. Thread-safe."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._made: dict[tuple[str, int], tuple[Heading, ...]] = {}  # replaced as a whole, never changed

    def of(self, doc_id: str) -> tuple[Heading, ...]:
        """Return the headings of a document, of its first 400 pages. Raises `NotFoundError`."""
        key = (doc_id, self._catalog.changed_at(doc_id))
        if (kept := self._made.get(key)) is not None:
            return kept
        last = min(self._catalog.document(doc_id).pages, _OUTLINED)
        pages = [(doc_id, page_no) for page_no in range(1, last + 1)]
        records = self._catalog.pages(pages).values()
        made = outline_of([(page.page_no, page.own_text(), Words.unpack(page.words)) for page in records])
        self._made = {**dict(list(self._made.items())[-_KEPT:]), key: made}
        return made

    def drop(self) -> None:
        """Drop what is kept."""
        self._made = {}


class Library:
    """What a person does with the documents of the vault. Thread-safe.

    Names, languages and the bin are followed by the index at once; tags and collections are no part of it. Every method
    that changes something raises `VaultError` where the vault is read-only.
    """

    def __init__(
        self,
        *,
        vault: Vault,
        ingest: Ingest,
        pictures: PagePictures,
        visual: Visual,
        bin_days: float,
        least_certainty: float,
    ) -> None:
        self._db, self._catalog, self._artifacts = vault.database, vault.catalog, vault.artifacts
        self._ingest, self._pictures, self._visual, self._reserve = ingest, pictures, visual, vault.reserve
        self._edits = Edits(vault.database, vault.catalog)
        self._corrections, self._least_certainty = Corrections(vault.database), least_certainty
        self.outlines = Outlines(vault.catalog)
        self._coverages: dict[tuple[str, int], Coverage] = {}  # replaced as a whole, never changed
        self._titling = Background("titles", "Titles are not looked for any more.")
        self.bin_days = bin_days
        """How many days a document stays in the bin; 0 where there is none."""

    # looking

    def all(self) -> tuple[DocumentInfo, ...]:
        """Return all documents, newest first."""
        return tuple(self._catalog.documents())

    def matching(self, filters: Filters = Filters()) -> tuple[DocumentInfo, ...]:
        """Return the documents that the filters allow, newest first; a language is that of most pages of a document."""
        return tuple(self._catalog.matching(filters))

    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of documents, pages and nodes outside the bin."""
        return self._catalog.counts()

    def get(self, doc_id: str) -> DocumentInfo:
        """Return a document. Raises `NotFoundError`."""
        return self._catalog.document(doc_id)

    def find(self, name: str) -> DocumentInfo:
        """Return the one document with this id, start of an id, or file name.

        A document of the bin is found by its whole id, where a snapshot holds it. Raises `NotFoundError`.
        """
        try:
            return one_named(self._catalog.documents(), name, listed="docmind list")
        except NotFoundError:
            with suppress(NotFoundError):
                return self._catalog.readable(name)
            raise

    def label(self, doc_id: str, document: str) -> str:
        """Return what a document is called: its title, else its file name, or `document` where it is gone, in words."""
        return self._catalog.label(doc_id, document)

    def page(self, doc_id: str, page_no: int) -> PageView:
        """Return a page. Raises `NotFoundError`."""
        return self._catalog.page_view(doc_id, page_no)

    def page_image(self, doc_id: str, page_no: int, *, thumbnail: bool = False) -> bytes:
        """Return the page as WebP. Raises `NotFoundError`, `DamagedError`, `TamperedError`."""
        page = self._catalog.page(doc_id, page_no)
        return self._pictures.get(page.thumbnail if thumbnail else page.image, thumbnail=thumbnail)

    def has_figures(self) -> bool:
        """Return whether any document has a figure."""
        return self._catalog.figures.are_there()

    def figures(self, doc_id: str) -> tuple[Figure, ...]:
        """Return the figures of a document in the order of its pages. Raises `NotFoundError`, `DamagedError`."""
        self._catalog.readable(doc_id)
        return self._catalog.figures.of(doc_id)

    def page_figures(self, doc_id: str, page_no: int) -> tuple[Figure, ...]:
        """Return the figures of a page. Raises `NotFoundError`, `DamagedError`."""
        self._catalog.readable(doc_id)
        return self._catalog.figures.of_pages([(doc_id, page_no)]).get((doc_id, page_no), ())

    def figure_image(self, doc_id: str, page_no: int, number: int) -> bytes:
        """Return a figure as WebP. Raises `NotFoundError`, `DamagedError`, `TamperedError`."""
        self._catalog.readable(doc_id)
        return self._artifacts.get(self._catalog.figures.one(doc_id, page_no, number).image)

    def state(self) -> int:
        """Return a number that is another one after any change of the vault."""
        return self._edits.state()

    def page_lines(self, doc_id: str, page_no: int) -> PageLines:
        """Return what was read on a page line by line, each with its place, source and confidence.

        Raises `NotFoundError`, `DamagedError`.
        """
        info, page = self._catalog.readable(doc_id), self._catalog.page(doc_id, page_no)
        return page_lines(info, page, self._corrections.of_page(doc_id, page_no), least=self._least_certainty)

    def coverage(self, doc_id: str) -> Coverage:
        """Return which pages of a document a person may want to look at. Raises `NotFoundError`."""
        info = self._catalog.readable(doc_id)
        key = (doc_id, self._catalog.changed_at(doc_id))
        if info.status == "ready" and (kept := self._coverages.get(key)) is not None:
            return kept
        made = coverage_of(self._catalog, self._corrections, info, least=self._least_certainty)
        if info.status == "ready":  # a document that is being read gets pages without a change
            self._coverages = {**dict(list(self._coverages.items())[-_KEPT:]), key: made}
        return made

    def outline(self, doc_id: str) -> tuple[Heading, ...]:
        """Return the headings of a document, of its first 400 pages; kept for the documents asked for last."""
        return self.outlines.of(doc_id)

    def reading(self, doc_id: str) -> ReadingFacts:
        """Return how a document was read, and what is not done yet. Raises `NotFoundError`."""
        self._catalog.document(doc_id)
        return self._edits.reading(doc_id)

    def compare(self, doc_id: str, other: str, *, progress: Callable[[int, int], None] | None = None) -> Comparison:
        """Return what was added, removed, changed and moved from a document to another, word by word.

        `progress` gets the pages that were read and all of them; what it raises ends the comparison. Raises
        `NotFoundError`, `DamagedError`, and `ConfigError` for one document, one not read yet, and a very long one.
        """
        return compare_documents(self._catalog, doc_id, other, progress)

    def enclosed(self, doc_id: str) -> tuple[EnclosedFile, ...]:
        """Return the files inside a document in their order, each with what became of it. Raises `NotFoundError`."""
        self._catalog.document(doc_id)
        return self._catalog.enclosed.of(doc_id)

    def read_again(
        self,
        doc_id: str,
        *,
        pages: Sequence[int] = (),
        engine: OcrEngine | Literal[""] = "",
        languages: str = "",
        mode: OcrMode | Literal[""] = "",
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> DocumentInfo:
        """Read a document again from its original, all of it or these pages, and return it.

        What is empty is taken from the settings: `engine` is the one that OCR begins with, `languages` are Tesseract's
        codes, joined by "+", and `mode` says which pages OCR reads: those without a good text layer, all that have a
        picture, or none. `progress` gets the pages done of all; what it raises ends the reading, and the pages read
        until then stay. Raises `NotFoundError`, `ConfigError` where an engine or a language is not installed, and
        `ReadingError` where the original cannot be read; the pages stay as they were.
        """
        choice = OcrChoice(engine, languages, mode)
        return self._ingest.read_by(doc_id, choice, pages, report=progress)

    def inside(self, doc_ids: Sequence[str]) -> int:
        """Return how many documents go to the bin, or are erased, with these, because they lie in them alone."""
        return len(self._catalog.enclosed.going_with(doc_ids))

    def thread(self, doc_id: str) -> tuple[DocumentInfo, ...]:
        """Return the mails of the exchange to which a mail belongs, itself too, the first sent first.

        Nothing for what is no mail. Raises `NotFoundError`.
        """
        self._catalog.document(doc_id)
        named = self._catalog.thread_of(doc_id)
        return tuple(self._catalog.in_thread(named)) if named else ()

    # versions

    def earlier_versions(self, doc_id: str) -> tuple[DocumentInfo, ...]:
        """Return the earlier versions of a document outside the bin, the newest first. Raises `NotFoundError`."""
        return tuple(earlier_versions(self._catalog, doc_id))

    def replace(self, doc_id: str, *, earlier: str = "") -> tuple[DocumentInfo, ...]:
        """Move the earlier versions of a document to the bin, as `bin` does; what a person set on them goes to it.

        These are their tags, their collections, and the title of the newest that has one set by hand, where the
        document has none. With `earlier`, a document that is known to be an earlier version, whatever its name and
        text, that one alone is replaced. Returns those that are in the bin now. Raises `NotFoundError`.
        """
        self._db.check_writable()
        if earlier:
            with self._db.transaction() as db:
                join_series(db, doc_id, self._catalog.document(earlier))
        older = (self._catalog.document(earlier),) if earlier else self.earlier_versions(doc_id)
        if not older:
            return ()
        info = self._catalog.document(doc_id)
        self._edits.tag([doc_id], add=[tag for one in older for tag in one.tags])
        for collection_id in {one for each in older for one in each.collections}:
            self._edits.collect(collection_id, [doc_id])
        title = next((one.title for one in older if _is_titled_by_hand(one)), "")
        if title and not _is_titled_by_hand(info):
            self._edits.edit(doc_id, {"title": title})
        return self.bin([one.doc_id for one in older])

    def set_version_of(self, doc_id: str, other: str) -> DocumentInfo:
        """Note that a person calls two documents versions of one, whatever their names and texts; return the first.

        All versions of either are versions of one document then. Raises `NotFoundError`, and `ConfigError` for a
        document and itself.
        """
        self._db.check_writable()
        if doc_id == other:
            raise ConfigError(_("A document is no version of itself."), hint=_("Name another document."))
        with self._db.transaction() as db:
            say_versions(db, self._catalog.document(doc_id), self._catalog.document(other))
        return self._catalog.document(doc_id)

    def set_no_version(self, doc_id: str) -> DocumentInfo:
        """Note that a person calls a document no version of those of which it is one now, and return it.

        The others stay versions of one document. It is not called a version of them again. Raises `NotFoundError`.
        """
        self._db.check_writable()
        with self._db.transaction() as db:
            say_no_version(db, self._catalog.document(doc_id))
        return self._catalog.document(doc_id)

    def check_versions(self) -> None:
        """Look again at the versions that were found before DocMind told series from versions, once for each vault.

        What was done before `close` is kept, and the next call goes on there.
        """

        def check_next(after: str) -> str | None:
            row = self._db.one("SELECT min(series) FROM documents WHERE series > ?", (after,))
            series: str | None = row[0] if row is not None else None
            if series is not None:
                with self._db.transaction() as db:
                    check_series(self._catalog, db, series)
            return series

        self._go_on(_VERSIONS, check_next)

    # titles

    def find_titles(self) -> None:
        """Find the titles of documents that were read before DocMind found them as it does now, once for each vault.

        What was done before `close` is kept, and the next call goes on there.
        """
        self._go_on(_TITLES, lambda after: self._catalog.find_headings(after, _TITLED))

    def _go_on(self, name: str, step: Callable[[str], str | None]) -> None:
        """Repeat a step from where it came to, which is kept under a name, until it returns None or at `close`."""
        preferences = Preferences(self._db)
        try:
            place = preferences.get(name)
        except DamagedError:
            place = None
        after: str | None = place.get("after") if isinstance(place, dict) else ""
        while after is not None and not self._titling.is_closed:
            after = step(after)
            preferences.put(name, {"after": after})
            self._titling.rest(_REST_S if after else 0.0)

    def follow(self) -> None:
        """Run `find_titles` and `check_versions` in the background. Idempotent."""
        self._titling.start(self._find_titles)

    def close(self) -> None:
        """End the search for titles. Idempotent."""
        self._titling.close()
        self._titling.join(30.0)

    def _find_titles(self) -> None:
        try:
            self.find_titles()
            self.check_versions()
        except DocMindError as error:  # the disk is full, or the vault is being closed: it goes on at the next start
            log_mistake("docmind.library", "titles were not found", error)

    # names, languages and tags

    def edit(self, doc_id: str, **values: str | None) -> DocumentInfo:
        """Set attributes of a document that a person sets as texts, such as `document`, its name, and `title`.

        `docmind.documents.EDITED` declares them. None leaves one as it is; an empty title is the one found on the first
        page. Raises `NotFoundError`, and `ConfigError` for an empty name and for a value that is out of its bounds.
        """
        self._db.check_writable()
        info = self._edits.edit(doc_id, values)
        self.follow_changes()
        return info

    def set_language(self, doc_ids: Sequence[str], language: str) -> None:
        """Set the language of all pages of documents, an ISO 639-1 code; "" detects it again from their texts.

        Raises `NotFoundError`, and `ConfigError` for a code that is none or a document that is still being read.
        """
        self._db.check_writable()
        self._edits.set_language(doc_ids, language)
        self.follow_changes()

    # corrections by hand

    def correct_line(self, doc_id: str, page_no: int, line: int, text: str) -> PageLines:
        """Set the text of a line of a page, "" where nothing is written there, and return the lines of the page.

        Searches find it at once, answers quote it, and it is kept where the document is read again. Raises
        `NotFoundError`, `ConfigError` while the document is being read, and what a search raises without its model.
        """
        return self._edit_line(doc_id, page_no, LineEdit(line, text=text))

    def uncorrect_line(self, doc_id: str, page_no: int, line: int) -> PageLines:
        """Make a line of a page again what was read, and the header of its table too; raises as `correct_line`.

        Line 0 stands for the corrections that fit no line of the page any more: they are dropped.
        """
        return self._edit_line(doc_id, page_no, LineEdit(line))

    def set_header_row(self, doc_id: str, page_no: int, line: int, *, is_header: bool = True) -> PageLines:
        """Set whether the row of a line names the columns of its table on this page; raises as `correct_line`."""
        return self._edit_line(doc_id, page_no, LineEdit(line, is_header=is_header))

    def _edit_line(self, doc_id: str, page_no: int, edit: LineEdit) -> PageLines:
        self._db.check_writable()
        if edit.text is not None:
            check(Line, edit.text, "text")
        self._ingest.edit_line(doc_id, page_no, edit)
        self.follow_changes()
        return self.page_lines(doc_id, page_no)

    def tag(self, doc_ids: Sequence[str], *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """Add tags to documents and remove tags from them. Raises `NotFoundError`, `ConfigError`."""
        self._db.check_writable()
        self._edits.tag(doc_ids, add=add, remove=remove)

    def tags(self) -> dict[str, int]:
        """Return all tags in alphabetical order, with the number of their documents."""
        return self._edits.tags()

    # collections

    def collections(self) -> tuple[Collection, ...]:
        """Return all collections in alphabetical order."""
        return tuple(self._edits.collections())

    def collection(self, name: str) -> Collection:
        """Return the collection with this id or name. Raises `NotFoundError`."""
        return self._edits.collection(name)

    def new_collection(self, name: str, doc_ids: Sequence[str] = ()) -> Collection:
        """Create a collection of these documents. Raises `ConfigError` for a name that is empty or taken."""
        self._db.check_writable()
        with self._db.transaction():
            made = self._edits.new_collection(name)
            self._edits.collect(made.collection_id, doc_ids)
        return self._edits.collection(made.collection_id)

    def rename_collection(self, collection_id: str, name: str) -> Collection:
        """Rename a collection. Raises `NotFoundError`, `ConfigError`."""
        self._db.check_writable()
        return self._edits.rename_collection(collection_id, name)

    def remove_collection(self, collection_id: str) -> Collection:
        """Delete a collection and return it; its documents stay. Raises `NotFoundError`."""
        self._db.check_writable()
        return self._edits.remove_collection(collection_id)

    def collect(self, collection_id: str, doc_ids: Sequence[str], *, leave: bool = False) -> None:
        """Put documents into a collection, or with `leave` take them out. Raises `NotFoundError`."""
        self._db.check_writable()
        self._edits.collect(collection_id, doc_ids, leave=leave)

    # the bin

    def bin(self, doc_ids: Sequence[str]) -> tuple[DocumentInfo, ...]:
        """Move documents to the bin, from where `restore` brings them back; no search finds them there.

        Documents that came in one of them follow it, also where it is restored, but for those that lie in another one.
        A document that is not read to its end, and any where `bin_days` is 0, is deleted for good; its erasure is
        finished at the next start, or with the next one. Returns those that are in the bin now. Raises `NotFoundError`;
        then none is moved.
        """
        self._db.check_writable()
        found = [self._catalog.document(doc_id) for doc_id in dict.fromkeys(doc_ids)]
        kept = [info.doc_id for info in found if info.status == "ready" and self.bin_days]
        self._edits.bin(kept)
        self.follow_changes()
        for info in found:
            if info.doc_id not in kept:
                self._erase(info.doc_id)
        return tuple(self._catalog.document_or_binned(doc_id) for doc_id in kept)

    def _erase(self, doc_id: str) -> None:
        self._reserve.make_room()
        try:
            for one in reversed(self._ingest.family(doc_id)):
                with suppress(NotFoundError):  # erased meanwhile
                    self._ingest.erase(one)
        finally:
            with suppress(DiskFullError):  # what needs disk space to be moved is zeroed at the next start
                self._visual.sweep()
            self._reserve.refill()

    def binned(self) -> tuple[DocumentInfo, ...]:
        """Return the documents in the bin, the last deleted first."""
        return tuple(self._catalog.binned())

    def find_binned(self, name: str) -> DocumentInfo:
        """Return the one document of the bin with this id, start of an id, or name. Raises `NotFoundError`."""
        return one_named(self._catalog.binned(), name, where="in the bin", listed="docmind bin list")

    def restore(self, doc_ids: Sequence[str]) -> None:
        """Take documents out of the bin; they are found again, and not read again. Raises `NotFoundError`."""
        self._db.check_writable()
        self._edits.restore(doc_ids)
        self.follow_changes()

    # originals

    def original(self, doc_id: str) -> bytes:
        """Return the file as it was added, byte for byte.

        Raises `NotFoundError`, and the kinds of `VaultError` where the stored file is damaged.
        """
        self._catalog.document(doc_id)
        return self._artifacts.get(self._catalog.original(doc_id))

    def original_name(self, doc_id: str) -> str:
        """Return a name for the original on a disk: the document's name, without what a path would mean.

        It ends as the added file's name does. Raises `NotFoundError`.
        """
        info = self._catalog.document(doc_id)
        added = info.read_as[0] if info.read_as else info.document
        suffix = f".{added.rpartition('.')[2]}" if "." in added.strip(".") else ""
        name = info.document if info.document.casefold().endswith(suffix.casefold()) else info.document + suffix
        return file_name(name)

    def follow_changes(self) -> None:
        """Have the index follow the changes now; what cannot be done now is done at the next start."""
        with suppress(DiskFullError, IndexMismatchError):
            self._ingest.commit()


def _is_titled_by_hand(info: DocumentInfo) -> bool:
    return len(info.read_as) > 1 and bool(info.title) and info.title != info.read_as[1]


def one_named(documents: Sequence[DocumentInfo], name: str, *, where: str = "", listed: str) -> DocumentInfo:
    """Return the one document with this id, start of an id of at least four letters, or name.

    `listed` is the command that lists them, for the hint. Raises `NotFoundError`.
    """
    for match in (
        [info for info in documents if name in (info.doc_id, info.document)],
        [info for info in documents if len(name) >= 4 and info.doc_id.startswith(name)],
    ):
        if len(match) == 1:
            return match[0]
        if match:
            raise NotFoundError(
                _("{count} documents are called {name}.").format(count=len(match), name=f"{name!r}"),
                hint=_("Use an id; `{listed}` shows them.").format(listed=listed),
            )
    told = f"There is no document {name!r}{' ' + where if where else ''}."
    raise NotFoundError(told, hint=_("Run `{listed}` to see the documents.").format(listed=listed))
