"""Frozen records of documents, pages, uploads, search hits and answers.

Boxes are `[x, y, w, h]` in pixels of the stored page image, origin top left. Page numbers count from 1.
Times end in `_ms` (durations) or `_at_ms` (Unix time).

It is above 500 lines because documents, what lies in them, their queue and their erasure name each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeVar

from docmind.records.code import CODE_SUFFIXES
from docmind.wording import _, date, ngettext, number_text

Modality = Literal["text", "table", "code", "image_caption", "pdf_page_image"]
PAGE_IMAGE: Modality = "pdf_page_image"
"""Name of the modality of page images."""
FIGURE: Modality = "image_caption"
"""Name of the modality of figures."""

FigureKind = Literal["photo", "graphic", "drawing"]
"""A picture as cameras and scanners store one (JPEG, WebP, TIFF), another picture, or lines and areas of a PDF."""
FigureSize = Literal["small", "medium", "large"]
FIGURE_AREAS: Mapping[FigureSize, int] = {"small": 0, "medium": 300 * 300, "large": 640 * 480}
"""Pixels of a picture from which a figure has a size, the least first."""

TextSource = Literal["layer", "ocr", "none"]
DocumentStatus = Literal["reading", "paused", "stopped", "ready", "failed"]
UploadState = Literal["waiting", "reading", "paused", "failed", "locked", "done", "cancelled"]
AddStatus = Literal["added", "already", "refused", "cancelled"]
QueueState = Literal["idle", "reading", "paused"]
CapabilityState = Literal["present", "missing", "off"]

Facts = Mapping[str, str]
"""What the metadata of a file says of it: a text for each attribute that a file sets (`docmind.documents.FACTS`)."""

StorageKind = Literal["originals", "page images", "thumbnails", "database", "index", "models", "other"]

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SUFFIX = re.compile(r"(\.[a-z0-9]{1,8}){1,2}")


class Box(NamedTuple):
    """A rectangle in page-image pixels: left, top, width, height."""

    x: float
    y: float
    w: float
    h: float

    @staticmethod
    def around(boxes: Sequence[Box]) -> Box | None:
        """Return the smallest rectangle that holds all boxes, None where there are none."""
        if not boxes:
            return None
        left, top = min(box.x for box in boxes), min(box.y for box in boxes)
        right, bottom = max(box.x + box.w for box in boxes), max(box.y + box.h for box in boxes)
        return Box(left, top, right - left, bottom - top)


@dataclass(frozen=True, slots=True)
class ArtifactRef:
    """Sealed bytes by id: 64 hex digits and a suffix such as `.webp.enc`."""

    sha256: str
    suffix: str

    def __post_init__(self) -> None:
        if not _SHA256.fullmatch(self.sha256) or not _SUFFIX.fullmatch(self.suffix):
            raise ValueError("an artifact is named by 64 hex digits and a short suffix")

    @property
    def file_name(self) -> str:
        return f"{self.sha256}{self.suffix}"


@dataclass(frozen=True, slots=True)
class Upload:
    """One uploaded file: its name (for display, never opened), its bytes, a password if it is locked, and tags.

    `address` is that of a web page, which was fetched at `fetched_at_ms`; empty for a file. `replaces` tells that the
    earlier versions of the document go to the bin once it is read.
    """

    name: str
    data: bytes = field(repr=False)
    password: str | None = field(default=None, repr=False)
    tags: tuple[str, ...] = ()
    address: str = ""
    fetched_at_ms: int = 0
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A file inside another one that is a document by itself: an attachment of a mail, a member of an archive.

    `name` may have folders, parted by "/". Where it could not be taken out, `data` is empty and `error` says why.
    """

    name: str
    data: bytes = field(repr=False)
    error: str = ""


OcrEngine = Literal["rapidocr", "tesseract"]
OcrMode = Literal["auto", "always", "never"]
"""Which pages OCR reads: those without a good text layer, all that have a picture, none."""


@dataclass(frozen=True, slots=True)
class OcrChoice:
    """How pages are read by OCR; what is empty is taken from the settings. `languages` are Tesseract's codes."""

    engine: OcrEngine | Literal[""] = ""
    languages: str = ""
    mode: OcrMode | Literal[""] = ""


@dataclass(frozen=True, slots=True)
class OcrReading:
    """How the text of a page was read from its picture: names and numbers, nothing of the text.

    `engine` and `version` are of the program whose text was kept, `languages` are Tesseract's codes where it was that
    one, `tries` counts the readings of the picture, of which one was kept, and `turn` is how far the picture was turned
    for it, counter-clockwise in degrees. `dpi` is the resolution of the page image; 0 where the size of the sheet is
    not known. `doubt`, 0..1, is the share of the text in lines that may be wrong, `lost` that of the lines' ink whose
    letters were not read, and `unread` that of the print on the page which is in none of its lines.
    """

    engine: str
    version: str = ""
    languages: str = ""
    tries: int = 1
    turn: int = 0
    dpi: int = 0
    doubt: float = 0.0
    lost: float = 0.0
    unread: float = 0.0

    @property
    def is_lost(self) -> bool:
        """Whether the page is in letters that OCR does not know."""
        return self.lost >= MISSED

    @property
    def is_unread(self) -> bool:
        """Whether most of what is printed on the page is in none of its lines."""
        return self.unread >= MISSED


MISSED = 0.5
"""The share of a page, `OcrReading.lost` or `unread`, that is too much to be missing; sound pages have at most 0.1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """What a page says and how that was read: what every record of a page has. Sizes are pixels of the page image.

    `ocr` is how OCR read it, None where it did not, or where that was before this was kept.
    """

    page_no: int
    width: int
    height: int
    text: str
    text_source: TextSource
    confidence: float
    ocr: OcrReading | None = None

    def said(self) -> dict[str, Any]:
        """Return the values of these fields by name, for another record of the same page."""
        return {each.name: getattr(self, each.name) for each in fields(PageText)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFigure:
    """A picture, chart or drawing on a page.

    `box` is x, y, width and height in pixels of the page image, `size` the width and height of the picture itself.
    `text` is its alternative text, `caption` what the file says below or above it. `text[start:end]` of the page is
    the caption, or the alternative text where there is no caption; both are 0 where the page has neither. `image` is
    a WebP that the reading process made, never bytes of the file: at most 1,600 pixels wide and high. `phash` is that
    of `Figure`, empty until the reading process sends it.
    """

    box: tuple[int, int, int, int]
    size: tuple[int, int]
    text: str = ""
    caption: str = ""
    start: int = 0
    end: int = 0
    image: bytes = field(default=b"", repr=False)
    phash: str = ""
    kind: FigureKind = "graphic"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedPage(PageText):
    """One page as a reading process returns it.

    `words` is the packed word list of `docmind.documents.words`; its boxes are pixels of `image`. `needs_ocr` means
    that `text` is missing or unreliable.
    """

    words: bytes = field(repr=False)
    image: bytes = field(repr=False)
    thumbnail: bytes = field(repr=False)
    needs_ocr: bool = False
    is_layer_suspect: bool = False
    """Whether `text` is to be compared with the picture: a layer that is not seen, on a page that is one picture."""
    dpi: int = 0
    """The resolution of `image`; 0 where the size of the sheet is not known."""
    marks: bytes = field(default=b"", repr=False)
    """The packed marks of `docmind.picture_marks`; empty where they are still to be made."""
    blocks: bytes = field(default=b"", repr=False)
    """The packed blocks of `docmind.blocks`; empty where nothing is known of the structure of the text."""
    figures: tuple[PageFigure, ...] = ()
    """From top to bottom; at most 64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView(PageText):
    """One page as shown to a person. `words` are `(text, box)` in reading order."""

    doc_id: str
    document: str
    pages: int
    page_id: str
    language: str
    words: tuple[tuple[str, Box], ...] = field(repr=False, default=())


LossKind = Literal[
    "equation",
    "comment",
    "annotation",
    "hidden_sheet",
    "hidden_text",
    "chart",
    "picture",
    "linked_picture",
    "embedded_object",
    "media",
    "form_field",
    "macro",
    "formula",
    "character",
    "cell",
    "page",
    "script",
    "part",
]
"""What a reader may see in a file and not read.

`formula` is one without a result, `character` one beyond those that the text of a page may have, `cell` one beyond
those that the tables of a file may have, `page` one that is damaged or missing, of which at most a part was read,
`script` a page in letters that OCR lacks, and `part` any other part.
"""


@dataclass(frozen=True, slots=True)
class Loss:
    """What a reader saw in a file and did not read: how many of a kind, and where: a page, sheet or part."""

    kind: LossKind
    count: int = 1
    place: str = ""


@dataclass(frozen=True, slots=True)
class Ingestion:
    """How a document was read: names of engines and numbers, nothing of its text.

    `engine` is the program that read its format, `ocr_engine` the one that read pictures of text, empty where none was.
    `versions` has those of DocMind and of the engine by name, `tries` counts the times that reading began since the
    document has a row, and `seconds` is how long the last one took. `losses` is what was seen in the file and not read.
    """

    engine: str
    ocr_engine: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    tries: int = 1
    seconds: float = 0.0
    pages: int = 0
    ocr_pages: int = 0
    passages: int = 0
    losses: tuple[Loss, ...] = ()


@dataclass(frozen=True, slots=True)
class Parent:
    """The document in which another one came into the library: an archive, a mail.

    `document` is its file name, `title` its title, and `dated` the day that it is about; each may be empty.
    """

    doc_id: str
    document: str
    title: str
    kind: str
    dated: str

    @property
    def label(self) -> str:
        """What it is called: a mail by its subject, others by their file names."""
        return self.title if self.kind == MAIL and self.title else self.document

    @property
    def place(self) -> str:
        """Where the files inside it are, for after their names: "in Rent 2025.zip"."""
        if self.kind != MAIL:
            return _("in {name}").format(name=self.label)
        if not self.dated:
            return _("in the mail {subject}").format(subject=self.label)
        day = date(datetime.fromisoformat(self.dated))
        return _("in the mail {subject} of {date}").format(subject=self.label, date=day)


MAIL = "mail"
"""The kind of a file that is one mail."""


@dataclass(frozen=True, slots=True)
class EnclosedFile:
    """A file inside a document, and what became of it.

    `name` has its folders. `doc_id` is the document that it is, and `label` what that is called; both are empty where
    it is none, and `message` says why. `is_awaited` tells that it waits in the queue or is being read.
    """

    name: str
    bytes: int
    doc_id: str = ""
    label: str = ""
    message: str = ""
    is_awaited: bool = False


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """One ingested document.

    `document` is its name, the file's unless it was renamed. `title` is the one in the file's metadata or set by hand,
    `heading` the one found on its first page. `language` is the ISO 639-1 code of most of its pages, or an empty
    string. `collections` are ids. `read_as` is the name and title under which an edited document was read, empty for
    others. `deleted_at_ms` is when it was moved to the bin, None outside it. `address` is where a web page was fetched,
    at `fetched_at_ms`; empty and 0 for others. `author` is named by the file's metadata or set by hand. `dated` is the
    day that the document is about, as 2024-03-31: by its front page, its name or its metadata, or set by hand; empty
    where none is known. `stamped` is the day on which a program made the file, empty where the file does not tell.
    `updated_at_ms` is the last change by a person or by reading, 0 where there was none since changes are noted.
    `ingestion` tells how it was read, None where it was read before that was noted. `series` is the id that all
    versions of a document share, that of the first; empty where there is one version. `parent` is the document in which
    it came, None for one that was added by itself, and `enclosed` the number of documents that came in it. Of a mail,
    `sender` is who wrote it and `recipients` who got it, parted by "; ", each as "Jo Lind <jo@lind.example>"; `sent_at`
    is when, in UTC as 2025-06-02T08:12:00Z, empty where its header does not tell, and `thread` a text that all mails of
    one exchange share. `message_id` and `refers_to` are the ids in its header, its own and those of the mails before
    it; `topic` is its subject without what marks answers, behind "re: " or "fwd: ".
    """

    doc_id: str
    document: str
    title: str
    kind: str
    status: DocumentStatus
    pages: int
    pages_done: int
    ocr_pages: int
    language: str
    bytes: int
    added_at_ms: int
    message: str = ""
    tags: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    heading: str = ""
    read_as: tuple[str, ...] = ()
    deleted_at_ms: int | None = None
    address: str = ""
    fetched_at_ms: int = 0
    author: str = ""
    dated: str = ""
    updated_at_ms: int = 0
    ingestion: Ingestion | None = None
    series: str = ""
    parent: Parent | None = None
    enclosed: int = 0
    sender: str = ""
    recipients: str = ""
    sent_at: str = ""
    thread: str = ""
    message_id: str = ""
    refers_to: str = ""
    topic: str = ""
    stamped: str = ""

    @property
    def shown_title(self) -> str:
        """The title as it is shown: `title`, otherwise `heading`; it may be empty."""
        return self.title or self.heading

    @property
    def label(self) -> str:
        """What the document is called wherever it is shown: its title, otherwise its file name in words."""
        return self.shown_title or readable_name(self.document)

    @property
    def placed_label(self) -> str:
        """What the document is called where it stands alone: its label, and in which other document it came."""
        return placed(self.label, self.parent)


def placed(label: str, parent: Parent | None) -> str:
    """Return what a document is called, with the one in which it came: "Lease in Rent 2025.zip"."""
    return placed_name(label, parent.place if parent is not None else "")


def placed_name(label: str, place: str, dated: str = "") -> str:
    """Return what a document is called, with its place in another one and its day, as far as they are given.

    "Lease in Rent 2025.zip · 3 June 2025"; nothing for a document without a name.
    """
    name = f"{label} {place}" if label and place else label
    return f"{name} · {date(datetime.fromisoformat(dated))}" if name and dated else name


def with_inside(name: str, files: int) -> str:
    """Return what is about to go, with the number of files inside: "Rent 2025.zip and 4 files inside"."""
    told = ngettext("{name} and {n} file inside", "{name} and {n} files inside", files)
    return told.format(name=name, n=number_text(files)) if files else name


class Provenance(NamedTuple):
    """Where a document came from and the day that it is about: `place` and `dated` of a source or hit."""

    place: str = ""
    dated: str = ""


class OfDocument(Protocol):
    """A record that names its document by id, as a source and a hit do."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def doc_id(self) -> str: ...


Cited = TypeVar("Cited", bound=OfDocument)


def with_provenance(cited: Iterable[Cited], known: Mapping[str, Provenance]) -> tuple[Cited, ...]:
    """Return sources or hits with the `place` and `dated` of their documents, known by their ids."""
    nothing = Provenance()
    return tuple(replace(one, **known.get(one.doc_id, nothing)._asdict()) for one in cited)


def beneath_parents(documents: Sequence[DocumentInfo]) -> list[tuple[DocumentInfo, int]]:
    """Return documents in their order, those that came in another one beneath it, each with how deep it lies there."""
    there = {info.doc_id for info in documents}
    inside: dict[str, list[DocumentInfo]] = {}
    for info in documents:
        above = info.parent.doc_id if info.parent is not None and info.parent.doc_id in there else ""
        inside.setdefault(above, []).append(info)
    found: list[tuple[DocumentInfo, int]] = []
    left = [(info, 0) for info in reversed(inside.pop("", []))]
    while left:
        info, depth = left.pop()
        found.append((info, depth))
        left += [(one, depth + 1) for one in reversed(inside.pop(info.doc_id, []))]
    return found + [(one, 0) for others in inside.values() for one in others]  # damaged: each lies in the other


def readable_name(document: str) -> str:
    """Return a file name as words: without its extension, and with spaces for underscores; that of code as it is."""
    stem, _dot, suffix = document.rpartition(".")
    if stem and suffix.lower() in CODE_SUFFIXES:
        return document
    name = stem if stem and _SUFFIX.fullmatch(f".{suffix.lower()}") else document
    return " ".join(name.replace("_", " ").split()) or document


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a document; `level` counts from 1."""

    level: int
    text: str
    page_no: int


def size_of(width: int, height: int) -> FigureSize:
    """Return the size of a figure by the pixels of its picture."""
    fitting: list[FigureSize] = [size for size, least in FIGURE_AREAS.items() if width * height >= least]
    return fitting[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture, chart or drawing on a page of a document, which is kept beside the page.

    `number` counts those of a page, from 1. `box` is its place on the page image, `width` and `height` are the pixels
    of the picture itself. `caption` is what stands below or above it, `alt` its alternative text; both may be empty.
    `text[start:end]` of the page is the caption, or the alternative text where there is no caption; both are 0 where
    the page has neither. `phash` is a hash of its look, 16 hex digits; pictures that look alike differ in few bits.
    `image` names the encrypted picture, a WebP. `kind` is "" for a figure that was read before kinds were told apart.
    """

    doc_id: str
    page_no: int
    number: int
    box: Box
    width: int
    height: int
    caption: str = ""
    alt: str = ""
    start: int = 0
    end: int = 0
    phash: str = ""
    kind: FigureKind | Literal[""] = ""
    image: ArtifactRef

    @property
    def size_name(self) -> FigureSize:
        """Its size by the pixels of the picture itself."""
        return size_of(self.width, self.height)

    @property
    def label(self) -> str:
        """What it is called: its caption, else its alternative text, else its place."""
        return self.caption or self.alt or _("Figure on page {n}").format(n=self.page_no)


@dataclass(frozen=True, slots=True)
class ReadingFacts:
    """How a document was read, and what is not done yet.

    `sources` has the number of pages and their mean confidence, 0..1, by the source of their text. `unprepared` counts
    the pages that picture search does not know yet.
    """

    sources: tuple[tuple[TextSource, int, float], ...]
    unprepared: int


@dataclass(frozen=True, slots=True)
class Collection:
    """A named group of documents; `documents` counts those outside the bin."""

    collection_id: str
    name: str
    created_at_ms: int
    documents: int = 0


@dataclass(frozen=True, slots=True)
class AddResult:
    """Outcome of one file. Where it was refused, `error` is the class name and `message` the sentence.

    `losses` is what was seen in it and not read.
    """

    document: str
    status: AddStatus
    doc_id: str | None = None
    pages: int = 0
    ocr_pages: int = 0
    error: str = ""
    message: str = ""
    hint: str = ""
    exit_code: int = 0
    duration_ms: float = 0.0
    losses: tuple[Loss, ...] = ()
    enclosed: tuple[AddResult, ...] = ()
    """The outcomes of the files inside it, where they were read together with it."""


@dataclass(frozen=True, slots=True)
class UploadInfo:
    """One file in the queue.

    `result` is the outcome of one that is done; `error` is the class name and `message` the sentence where it failed or
    is locked. `pages` is 0 until it has been opened.
    """

    upload_id: int
    document: str
    state: UploadState
    bytes: int
    doc_id: str
    tags: tuple[str, ...] = ()
    result: AddStatus | None = None
    error: str = ""
    message: str = ""
    hint: str = ""
    added_at_ms: int = 0
    changed_at_ms: int = 0
    pages: int = 0
    pages_done: int = 0
    ocr_pages: int = 0


@dataclass(frozen=True, slots=True)
class HandedIn:
    """A file that was put into the queue.

    `doc_id` is the id of its document, and `is_known` tells whether the library has that already.
    """

    upload_id: int
    doc_id: str
    is_known: bool


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """A snapshot of the queue.

    `file` is being read, and `also` others at the same time; `waiting` counts the files behind them. `eta_ms` is None
    while it is unknown; `message` says why the queue has paused by itself.
    """

    state: QueueState = "idle"
    files_total: int = 0
    files_done: int = 0
    waiting: int = 0
    paused: int = 0
    file: str = ""
    stage: str = ""
    pages_done: int = 0
    pages_total: int = 0
    eta_ms: float | None = None
    message: str = ""
    also: int = 0

    @property
    def is_busy(self) -> bool:
        return self.state == "reading"

    @property
    def unread(self) -> int:
        """The number of files not read yet, including those being read."""
        return self.waiting + self.paused + self.also + (1 if self.file else 0)


@dataclass(frozen=True, slots=True)
class FolderInfo:
    """A folder of the disk that the library follows.

    `files` counts those that were found at the last sync, `gone` the documents whose file is missing; `message` says
    why the last sync was not complete.
    """

    folder_id: int
    path: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    is_watched: bool = True
    synced_at_ms: int = 0
    message: str = ""
    files: int = 0
    gone: int = 0


@dataclass(frozen=True, slots=True)
class SyncResult:
    """Counts of one comparison of a folder with the library; `skipped` are files of other kinds, empty or too large."""

    files: int = 0
    added: int = 0
    changed: int = 0
    renamed: int = 0
    gone: int = 0
    unchanged: int = 0
    skipped: int = 0
    unread: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True)
class GoneFile:
    """A document whose file is not in its folder any more."""

    doc_id: str
    document: str
    folder: str


@dataclass(frozen=True, slots=True)
class Capability:
    """One optional part: what it provides, and the command or switch that adds it."""

    name: str
    state: CapabilityState
    detail: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    version: str
    vault_id: str
    key_source: str
    documents: int
    pages: int
    nodes: int
    vault_bytes: int
    free_bytes: int
    index_engine: str
    index_epoch: int
    vault_epoch: int
    capabilities: tuple[Capability, ...]
    storage: tuple[StorageUse, ...] = ()
    """What the space is used for, the largest first. Models are counted too, which may lie in another folder."""
    pages_to_prepare: int = 0
    """Page images that picture search does not know yet; they are prepared in the background."""
    documents_to_prepare: int = 0
    """Documents of which most is found by its words only; the rest is prepared in the background."""


@dataclass(frozen=True, slots=True)
class StorageUse:
    """Disk space in bytes that one kind of data takes."""

    use: StorageKind
    bytes: int


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """What the erasure of a document erased, and what was searched for it afterwards.

    `erased` are numbers of rows, files and quotes by kind; `found` what every store still held of the document, all 0
    where nothing is left. `sequences` of its text, with its name, were searched for in `files` with `bytes` bytes.
    `snapshots` are the ids of the snapshots, and the names of the kept databases, that still hold it.
    Without a `signature` the erasure is not finished. `document` is the document's name, known only right after it was
    erased: no saved receipt has it.
    """

    vault_id: str
    doc_id: str
    begun_at_ms: int
    erased_at_ms: int
    conversations: bool
    memories: bool
    erased: tuple[tuple[str, int], ...]
    found: tuple[tuple[str, int], ...]
    files: int
    bytes: int
    sequences: int
    signature: str = ""
    document: str = ""
    snapshots: tuple[str, ...] = ()

    @property
    def pages(self) -> int:
        """The number of erased pages."""
        return dict(self.erased).get("pages", 0)

    @property
    def is_finished(self) -> bool:
        """Whether all steps were done, and the receipt is signed."""
        return bool(self.signature)

    @property
    def is_clean(self) -> bool:
        """Whether the erasure is finished and nothing of the document was found afterwards."""
        return self.is_finished and not any(number for _name, number in self.found)


def page_id_of(doc_id: str, page_no: int) -> str:
    """Return the id of one page: `{doc_id}::page::{page_no}`."""
    return f"{doc_id}::page::{page_no}"
