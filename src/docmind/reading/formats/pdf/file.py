"""An open PDF: its pages with text, words and pictures."""

from __future__ import annotations

import ctypes
import re
from functools import cached_property

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image

from docmind.blocks import Losses, PageBlock, pack
from docmind.documents import in_title_case
from docmind.errors import (
    CorruptFileError,
    EmptyFileError,
    PasswordNeededError,
    ReadingError,
    TooLargeError,
    UnsupportedFileError,
)
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.image import blank, encode, shrink
from docmind.reading.formats.pdf.annotations import Annotations, annotations_of, pixels_of, with_notes
from docmind.reading.formats.pdf.fields import with_fields
from docmind.reading.formats.pdf.figures import Figures
from docmind.reading.formats.pdf.layer import Layer, matrix_of, read_layer
from docmind.reading.formats.pdf.lines import Lines, lines_of
from docmind.reading.formats.pdf.parts import Parts, beside
from docmind.reading.formats.pdf.pictures import image_share, is_behind_picture
from docmind.reading.formats.pdf.quality import FEW_WORDS, lines_share, needs_ocr, plausibility, unread_share
from docmind.reading.formats.pdf.streams import damaged_pages
from docmind.reading.formats.pdf.tables import Tables
from docmind.records.documents import Facts, Loss, ParsedPage, Upload
from docmind.wording import _, number_text

_POINTS_TO_300_DPI = 300 / 72
_GLANCE = 400  # pixels that suffice to see marks
_GLANCED_OBJECTS = 80  # of a page with many words: its picture is drawn first or last
_ONE_PICTURE = 0.85  # of a page's area
_MOST_OBJECTS = 8_388_607
_OFFSET_DIGITS = 10  # of a table's entries, which are places and not numbers of objects


def open_pdf(upload: Upload, kind: str, rules: Rules) -> PdfFile:
    """Open a PDF. Raises `PasswordNeededError`, `CorruptFileError`, `TooLargeError`, `UnsupportedFileError`."""
    return PdfFile(_load(upload), upload, rules)


class PdfFile:
    """An open PDF."""

    def __init__(self, document: pypdfium2.PdfDocument, upload: Upload, rules: Rules) -> None:
        self._document = document
        self._rules = rules
        self._name = upload.name
        self._data = upload.data
        self._known: set[str] = set()
        self._tables = Tables()
        self._parts = Parts()
        self._figures = Figures()
        self._losses = Losses()
        self._losses.note("embedded_object", "", pdfium.FPDFDoc_GetAttachmentCount(document))
        self.if_blank = _if_blank(upload.data)
        self._has_form = document.get_formtype() != pdfium.FORMTYPE_NONE
        self.pages = len(document)
        if self.pages == 0:
            raise CorruptFileError(_("{name} is a PDF without any page.").format(name=upload.name))
        if self.pages > rules.max_pages:
            raise TooLargeError(
                _("{name} has {pages} pages; the limit is {max_pages}.").format(
                    name=upload.name, pages=number_text(self.pages), max_pages=number_text(rules.max_pages)
                ),
                hint=_("Split the file, or raise DOCMIND_READING__MAX_PAGES."),
            )

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What was seen and not read, on the pages so far."""
        return self._losses.found()

    @property
    def facts(self) -> Facts:
        said = {"title": "Title", "author": "Author", "stamped": "CreationDate"}
        found = {name: self._document.get_metadata_value(key) for name, key in said.items()}
        return facts_of(self._name, **found | {"title": in_title_case(found["title"] or "")})

    def page(self, page_no: int) -> ParsedPage:
        """Return one page; one that PDFium cannot load is an empty sheet, so that the others keep their numbers."""
        page, annotations = self._load_page(page_no - 1)
        for kind, count in annotations.lost:
            self._losses.note(kind, f"page {page_no}", count)
        if not page or page_no in self._damaged:
            self._losses.note("page", f"page {page_no}")
        if not page:
            return unreadable_page(page_no, self._rules)
        try:
            return self._read(page, page_no, annotations)
        finally:
            pdfium.FPDF_ClosePage(page)

    def text(self, page_no: int) -> str:
        """Return the text layer of one page, without drawing it; "" where the page cannot be loaded."""
        page, _annotations = self._load_page(page_no - 1)
        if not page:
            return ""
        try:
            return read_layer(page, _GLANCE, _GLANCE, set()).text
        finally:
            pdfium.FPDF_ClosePage(page)

    @cached_property
    def _damaged(self) -> frozenset[int]:
        return damaged_pages(self._data, self.pages)

    def _load_page(self, index: int):
        """Return a loaded page, None where it cannot be loaded, and its annotations."""
        page = pdfium.FPDF_LoadPage(self._document, index)
        annotations = annotations_of(page) if page else Annotations()
        if page and self._has_form and annotations.has_fields:
            pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY)
            pdfium.FPDF_ClosePage(page)
            page = pdfium.FPDF_LoadPage(self._document, index)
        if page and (pdfium.FPDF_GetPageWidthF(page) <= 0 or pdfium.FPDF_GetPageHeightF(page) <= 0):
            pdfium.FPDF_ClosePage(page)
            page = None
        return page, annotations

    def _read(self, page, page_no: int, annotations: Annotations) -> ParsedPage:
        points = pdfium.FPDF_GetPageWidthF(page), pdfium.FPDF_GetPageHeightF(page)
        scale = min(self._rules.image_side_px / max(points), _POINTS_TO_300_DPI)
        width, height = (max(1, round(side * scale)) for side in points)
        layer = read_layer(page, width, height, self._known)
        self._losses.note("character", f"page {page_no}", layer.left_out)
        if annotations.fields and layer.text:
            areas = pixels_of([field.rect for field in annotations.fields], matrix_of(page, width, height))
            layer = with_fields(layer, annotations.fields, areas, width)
        image = _draw(page, width, height)
        picture = encode(image, self._rules)
        lines, images, unread = 1.0, image_share(page, *points, most=_GLANCED_OBJECTS), 0.0
        if len(layer.words) < FEW_WORDS:  # with more, these cost more than they tell
            lines = lines_share(layer.words.boxes, height)
            images = image_share(page, *points)
            small = shrink(image, _GLANCE).convert("L")
            unread = unread_share(np.asarray(small), layer.words.boxes * (small.width / width))
        wanted = needs_ocr(layer.text, lines, images, unread, is_blank=picture.is_blank)
        is_suspect = not wanted and bool(layer.text) and images > _ONE_PICTURE and is_behind_picture(page)
        lines_seen = _lines(layer)
        blocks = self._blocks(layer, lines_seen, page_no, width, height)
        figures = self._figures.of(
            page, image, layer, lines_seen, blocks, matrix_of(page, width, height), self._losses, f"page {page_no}",
            is_scan=wanted or is_suspect,
        )  # fmt: skip
        if annotations.notes:
            layer, comments = with_notes(layer, annotations.notes, matrix_of(page, width, height))
            blocks += comments
        return ParsedPage(
            **picture.fields(),
            page_no=page_no,
            text=layer.text,
            words=layer.words.pack(),
            text_source="layer" if layer.text else "none",
            confidence=round(plausibility(layer.text), 3),
            needs_ocr=wanted,
            is_layer_suspect=is_suspect,
            blocks=pack(blocks),
            figures=figures,
            dpi=round(scale * 72),
        )

    def _blocks(self, layer: Layer, lines: Lines, page_no: int, width: int, height: int) -> list[PageBlock]:
        shown = _shown(layer)
        parts = self._parts.of(layer.text, lines, height)
        captions = [part for part in parts if part.kind == "caption"]
        return beside(self._tables.of(layer, shown, lines, captions, page_no, width), parts)


def _shown(layer: Layer) -> np.ndarray:
    """Return the numbers of the words that are seen."""
    return np.flatnonzero((layer.words.boxes[:, 2] > 0) & (layer.words.boxes[:, 3] > 0))


def _lines(layer: Layer) -> Lines:
    shown, words = _shown(layer), layer.words
    return lines_of(words.starts[shown], words.ends[shown], words.boxes[shown], layer.sizes[shown])


def unreadable_page(page_no: int, rules: Rules) -> ParsedPage:
    """Return an empty sheet for a page that cannot be read."""
    picture = blank(rules)
    return ParsedPage(
        **picture.fields(),
        page_no=page_no,
        text="",
        words=b"",
        text_source="none",
        confidence=0.0,
    )


def _load(upload: Upload) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(upload.data, password=upload.password or None)
    except pypdfium2.PdfiumError as error:
        code = error.err_code
        if code == pdfium.FPDF_ERR_PASSWORD:
            told = (
                _("That password does not open {name}.")
                if upload.password
                else _("A password is needed to open {name}.")
            )
            raise PasswordNeededError(told.format(name=upload.name)) from error
        if code == pdfium.FPDF_ERR_SECURITY:
            raise UnsupportedFileError(
                _("{name} is locked in a way that DocMind cannot open.").format(name=upload.name),
                hint=_("Save an unlocked copy and add that."),
            ) from error
        raise CorruptFileError(_("{name} is a PDF that is broken or was cut off.").format(name=upload.name)) from error


def _draw(page, width: int, height: int) -> Image.Image:
    pixels = bytearray(4 * width * height)
    buffer = (ctypes.c_char * len(pixels)).from_buffer(pixels)
    bitmap = pdfium.FPDFBitmap_CreateEx(width, height, pdfium.FPDFBitmap_BGRx, buffer, 4 * width)
    try:
        pdfium.FPDFBitmap_FillRect(bitmap, 0, 0, width, height, 0xFFFFFFFF)
        flags = pdfium.FPDF_ANNOT | pdfium.FPDF_REVERSE_BYTE_ORDER
        pdfium.FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, 0, flags)
    finally:
        pdfium.FPDFBitmap_Destroy(bitmap)
    return Image.frombuffer("RGBX", (width, height), pixels, "raw", "RGBX", 0, 1)


def _if_blank(data: bytes) -> type[ReadingError] | None:
    """Return the error class with which a PDF of only blank pages is refused, or None.

    A form that only Adobe's own reader draws is blank elsewhere, but not empty. A cross-reference table that names
    objects beyond 8,388,607 (ISO 32000-1, annex C) is broken, and so is the document.
    """
    if b"/NeedsRendering true" in data:
        return None
    at = data.rfind(b"\nxref")
    numbers = re.findall(rb"\d+", data[at : data.find(b"trailer", at)]) if at >= 0 else []
    highest = max((int(number) for number in numbers if len(number) != _OFFSET_DIGITS), default=0)
    return EmptyFileError if highest <= _MOST_OBJECTS else CorruptFileError
