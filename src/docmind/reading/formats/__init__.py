"""The readers, one per file format with one interface, run only in a reading process.

A reader opens an upload and returns pages by number, so that pages stored already cost nothing. Several readers share
what the metadata of a file says of it, and zip archives, whose declared sizes are checked before unpacking.
"""

from __future__ import annotations

import importlib
import io
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from docmind.documents import found_facts, sensible_title
from docmind.errors import CorruptFileError, ReadingError, TooLargeError, UnsupportedFileError
from docmind.records.documents import Enclosed, Facts, Loss, ParsedPage, Upload
from docmind.wording import _, number_text

_COMMON = ("title", "author", "dated")


def facts_of(name: str, **raw: str | None) -> Facts:
    """Return the facts of a file of this name, from what its metadata says, by attribute of a document.

    Title, author and day are always there, others only where the reader gives them. `dated` is a day that somebody
    wrote there, `stamped` the one on which a program made the file.
    """
    found = found_facts({**raw, "title": sensible_title(raw.get("title") or "", name)})
    return {each: value for each, value in found.items() if each in raw or each in _COMMON}


@dataclass(frozen=True, slots=True)
class Rules:
    """The reading settings a reader needs, as plain values: a reading process does not load pydantic."""

    max_pages: int = 5_000
    max_page_megapixels: float = 100.0
    max_unpacked_mb: int = 200
    max_text_mb: int = 50
    image_side_px: int = 1_600
    image_quality: int = 70
    thumbnail_side_px: int = 320
    marks: bool = True
    pandoc: str = ""
    """The program pandoc, where it is installed and may be used."""
    pandoc_s: int = 30


class Opened(Protocol):
    """An open document: the facts of its metadata, its number of pages, and each page by number from 1.

    `losses` is what was seen and not read so far. `if_blank` is the error class with which a document of only blank
    pages is refused; None where it is accepted.
    """

    @property
    def facts(self) -> Facts: ...

    @property
    def pages(self) -> int: ...

    @property
    def if_blank(self) -> type[ReadingError] | None: ...

    @property
    def losses(self) -> tuple[Loss, ...]: ...

    def page(self, page_no: int) -> ParsedPage: ...


@runtime_checkable
class Enclosing(Protocol):
    """What an open document has that holds other documents: each is yielded once, after the pages."""

    def enclosed(self) -> Iterator[Enclosed]: ...


@runtime_checkable
class Either(Protocol):
    """What an open document has that is read in one of two ways: the program that read it, or "", and why not."""

    @property
    def engine(self) -> str: ...

    @property
    def told(self) -> str: ...


Open = Callable[[Upload, str, Rules], Opened]

# Named, not imported: a PDF must not wait for the office libraries.
_READERS = {
    "pdf": ("docmind.reading.formats.pdf:open_pdf", "pypdfium2"),
    **dict.fromkeys(
        ("png", "jpeg", "webp", "gif", "bmp", "tiff"), ("docmind.reading.formats.image:open_image", "pillow")
    ),
    "txt": ("docmind.reading.formats.text:open_text", "docmind"),
    **dict.fromkeys(("latex", "org", "rst"), ("docmind.reading.formats.pandoc:open_marked_up", "docmind")),
    "code": ("docmind.reading.formats.source_code:open_code", "tree-sitter"),
    "notebook": ("docmind.reading.formats.notebook:open_notebook", "docmind"),
    "markdown": ("docmind.reading.formats.markdown:open_markdown", "markdown-it-py"),
    "html": ("docmind.reading.formats.html:open_html", "lxml"),
    "docx": ("docmind.reading.formats.docx:open_docx", "lxml"),
    "xlsx": ("docmind.reading.formats.xlsx:open_xlsx", "lxml"),
    "pptx": ("docmind.reading.formats.pptx:open_pptx", "lxml"),
    "xls": ("docmind.reading.formats.xls:open_xls", "xlrd"),
    "xlsb": ("docmind.reading.formats.xlsb:open_xlsb", "lxml"),
    "ods": ("docmind.reading.formats.ods:open_ods", "lxml"),
    "csv": ("docmind.reading.formats.csv_table:open_csv", "docmind"),
    "bib": ("docmind.reading.formats.bibtex:open_bibtex", "docmind"),
    "csl": ("docmind.reading.formats.csl:open_csl", "docmind"),
    "ris": ("docmind.reading.formats.ris:open_ris", "docmind"),
    "jats": ("docmind.reading.formats.jats:open_jats", "lxml"),
    "opml": ("docmind.reading.formats.outline:open_opml", "lxml"),
    "vcard": ("docmind.reading.formats.contacts:open_vcard", "docmind"),
    "calendar": ("docmind.reading.formats.calendar:open_calendar", "docmind"),
    "epub": ("docmind.reading.formats.epub:open_epub", "lxml"),
    "odp": ("docmind.reading.formats.odp:open_odp", "lxml"),
    "odt": ("docmind.reading.formats.odt:open_odt", "lxml"),
    "rtf": ("docmind.reading.formats.rtf:open_rtf", "docmind"),
    "mail": ("docmind.reading.formats.mail:open_mail", "docmind"),
    "mailbox": ("docmind.reading.formats.mail:open_mailbox", "docmind"),
    "mhtml": ("docmind.reading.formats.mail:open_web_archive", "lxml"),
    "zip": ("docmind.reading.formats.zip_archive:open_zip", "docmind"),
}
"""The function that opens a kind of file, and the distribution that reads its format."""

READER_MODULES = tuple(dict.fromkeys(place.partition(":")[0] for place, _engine in _READERS.values()))
"""The modules of the readers, each once."""


def reader(kind: str) -> Open:
    """Return the opening function for one kind of file. Raises `UnsupportedFileError`."""
    try:
        module, function = _READERS[kind][0].split(":")
    except KeyError:
        raise UnsupportedFileError(
            _("There is no reader for {kind}; there are {names}.").format(kind=kind, names=", ".join(sorted(_READERS)))
        ) from None
    return getattr(importlib.import_module(module), function)


def engine_of(kind: str) -> str:
    """Return the name of the distribution that reads a kind of file; "" for an unknown kind."""
    return _READERS[kind][1] if kind in _READERS else ""


_MB = 1024 * 1024
_RATIO, _FROM = 300, 20 * _MB  # text in office files shrinks to a tenth or a fiftieth, never to a three-hundredth


def open_archive(upload: Upload, rules: Rules) -> zipfile.ZipFile:
    """Open the package of a document, as `check_unpacked` does; none of its parts may be locked."""
    archive = check_unpacked(upload, rules)
    if any(member.flag_bits & 1 for member in archive.infolist()):
        raise CorruptFileError(
            _("{name} holds parts that are locked.").format(name=upload.name),
            hint=_("Open it in the program that made it, save it without a password, and add that."),
        )
    return archive


def check_unpacked(upload: Upload, rules: Rules, *, largest_mb: int = 0) -> zipfile.ZipFile:
    """Open an archive after its declared sizes were found acceptable.

    It may unpack to `largest_mb` where that is more than the rules say. A member that unpacks to more than it declares
    fails its checksum in `zipfile`. Raises `TooLargeError` or `CorruptFileError`.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(upload.data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise CorruptFileError(_("{name} is broken or was cut off.").format(name=upload.name)) from error
    members = archive.infolist()
    unpacked = sum(member.file_size for member in members)
    swollen = any(m.file_size > _FROM and m.file_size > _RATIO * max(1, m.compress_size) for m in members)
    if unpacked > max(rules.max_unpacked_mb, largest_mb) * _MB or swollen:
        raise TooLargeError(
            _("{name} unpacks to {size} MB, more than can be sound.").format(
                name=upload.name, size=number_text(unpacked / _MB, 0)
            ),
            hint=_("Leave it out if you do not know its sender; else raise DOCMIND_READING__MAX_UNPACKED_MB."),
        )
    return archive
