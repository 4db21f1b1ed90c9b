"""Annotations: what people wrote onto the pages of a PDF, and a count of those that are not read.

PDFium draws annotations into the page image, but their words are not in the text layer. Links and the markers of
printers say nothing; form fields are merged into the page before.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape

import numpy as np
import pypdfium2.raw as pdfium

from docmind.blocks import Block, Losses, PageBlock
from docmind.documents import Words
from docmind.reading.formats.pdf.fields import Field
from docmind.reading.formats.pdf.layer import Layer, letters
from docmind.records.documents import LossKind

_MOST, _LONGEST = 2_000, 20_000  # annotations of a page; characters of one
_LONGEST_ANCHOR = 300
_TAG = re.compile(r"<[^<>]*>")

_DRAWN = (pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_STAMP)
_MARKED = (
    pdfium.FPDF_ANNOT_HIGHLIGHT,
    pdfium.FPDF_ANNOT_UNDERLINE,
    pdfium.FPDF_ANNOT_SQUIGGLY,
    pdfium.FPDF_ANNOT_STRIKEOUT,
)
_SILENT = (
    pdfium.FPDF_ANNOT_LINK,
    pdfium.FPDF_ANNOT_POPUP,  # repeats the annotation it belongs to
    pdfium.FPDF_ANNOT_WIDGET,
    pdfium.FPDF_ANNOT_XFAWIDGET,
    pdfium.FPDF_ANNOT_PRINTERMARK,
    pdfium.FPDF_ANNOT_TRAPNET,
)
_LOST: dict[int, LossKind] = {
    pdfium.FPDF_ANNOT_FILEATTACHMENT: "embedded_object",
    pdfium.FPDF_ANNOT_SOUND: "media",
    pdfium.FPDF_ANNOT_MOVIE: "media",
    pdfium.FPDF_ANNOT_SCREEN: "media",
    pdfium.FPDF_ANNOT_THREED: "media",
    pdfium.FPDF_ANNOT_RICHMEDIA: "media",
}
_HIDDEN = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW


@dataclass(frozen=True, slots=True)
class Note:
    """What a person wrote onto a page. `rect` and the rectangles of `marked` are left, bottom, right, top in points.

    `is_drawn` means that the words stand on the page image, and not behind a mark.
    """

    text: str
    author: str
    rect: tuple[float, float, float, float]
    marked: tuple[tuple[float, float, float, float], ...] = ()
    is_drawn: bool = False


@dataclass(frozen=True, slots=True)
class Annotations:
    """The notes of a page in their order, what is lost by kind, and the form fields that are shown."""

    notes: tuple[Note, ...] = ()
    lost: tuple[tuple[LossKind, int], ...] = ()
    fields: tuple[Field, ...] = ()
    has_fields: bool = False


def annotations_of(page: object) -> Annotations:
    """Return the annotations of a loaded page. Read them before a page is flattened, which removes them."""
    count = pdfium.FPDFPage_GetAnnotCount(page)
    if count <= 0:
        return _NONE
    notes: list[Note] = []
    losses = Losses()
    losses.note("annotation", count=count - _MOST)
    fields: list[Field] = []
    has_fields = False
    for number in range(min(count, _MOST)):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        try:
            kind = pdfium.FPDFAnnot_GetSubtype(annotation)
            if kind == pdfium.FPDF_ANNOT_WIDGET:
                has_fields = True
                if not pdfium.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
                    fields.append(Field(_rect(annotation), _text(annotation, b"AS")))
            if kind in _SILENT or _text(annotation, b"State"):  # a state is set by a program: "accepted", "marked"
                continue
            note = None if pdfium.FPDFAnnot_GetFlags(annotation) & _HIDDEN else _note(annotation, kind)
            if note is not None:
                notes.append(note)
            if kind in _LOST or (note is None and kind not in _MARKED):
                losses.note(_LOST.get(kind, "annotation"))
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)
    return Annotations(
        tuple(notes), tuple((loss.kind, loss.count) for loss in losses.found()), tuple(fields), has_fields
    )


_NONE = Annotations()


def with_notes(layer: Layer, notes: Sequence[Note], matrix: np.ndarray) -> tuple[Layer, list[PageBlock]]:
    """Return a page's text with its notes at the end, and each note as a block.

    `matrix` maps points of the page to pixels. The words of a note have the rectangle of its annotation as their box.
    """
    # Loaded here, since nearly no page has a note and the laying out of pages needs fonts and colours.
    from docmind.reading.formats.typeset import shown

    parts, place, blocks = [layer.text], len(layer.text), []
    spans, boxes = [], []
    known = "".join(layer.text.split())
    for note in notes:
        if note.is_drawn and "".join(note.text.split()) in known:  # it was merged into the page with the form fields
            continue
        anchor = " ".join(_under(layer, pixels_of(note.marked, matrix)))[:_LONGEST_ANCHOR] if note.marked else ""
        if note.marked and note.text == anchor:  # some programs copy the words of the page
            continue
        block = Block(kind="comment", text=note.text, author=note.author, anchor=anchor)
        text = note.text if note.is_drawn else shown(block)
        box = tuple(pixels_of([note.rect], matrix)[0])
        if place:
            parts.append("\n")
            place += 1
        for word in re.finditer(r"\S+", text):
            spans.append((place + word.start(), place + word.end()))
            boxes.append(box)
        blocks.append(PageBlock("comment", place, place + len(text)))
        parts.append(text)
        place += len(text)
    own = Words.of(spans, boxes)
    words = Words(
        np.concatenate([layer.words.starts, own.starts]),
        np.concatenate([layer.words.ends, own.ends]),
        np.concatenate([layer.words.boxes, own.boxes]),
    )
    return Layer("".join(parts), words), blocks


def _note(annotation: object, kind: int) -> Note | None:
    text = _text(annotation, b"Contents") or unescape(_TAG.sub(" ", _text(annotation, b"RC")))
    if not text.strip() and kind == pdfium.FPDF_ANNOT_STAMP:
        text = _text(annotation, b"Name").removeprefix("#").removeprefix("SB")  # the name of a stamp says what it shows
    said = _words(text)
    if not said:
        return None
    marked = _quads(annotation) if kind in _MARKED else ()
    return Note(said, _words(_text(annotation, b"T"))[:100], _rect(annotation), marked, kind in _DRAWN)


def _rect(annotation: object) -> tuple[float, float, float, float]:
    rect = pdfium.FS_RECTF()
    pdfium.FPDFAnnot_GetRect(annotation, rect)
    return rect.left, rect.bottom, rect.right, rect.top


def _words(text: str) -> str:
    """Return the words of a text, clean and with one space between them."""
    return " ".join(filter(None, map(letters, text[:_LONGEST].split())))


def _text(annotation: object, key: bytes) -> str:
    size = pdfium.FPDFAnnot_GetStringValue(annotation, key, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    pdfium.FPDFAnnot_GetStringValue(annotation, key, ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")


def _quads(annotation: object) -> tuple[tuple[float, float, float, float], ...]:
    out = []
    quad = pdfium.FS_QUADPOINTSF()
    for number in range(min(200, pdfium.FPDFAnnot_CountAttachmentPoints(annotation))):
        if pdfium.FPDFAnnot_GetAttachmentPoints(annotation, number, quad):
            x, y = (quad.x1, quad.x2, quad.x3, quad.x4), (quad.y1, quad.y2, quad.y3, quad.y4)
            out.append((min(x), min(y), max(x), max(y)))
    return tuple(out)


def pixels_of(rects: Sequence[tuple[float, float, float, float]], matrix: np.ndarray) -> np.ndarray:
    """Map rectangles in points to x, y, w, h in pixels, shape (n, 4)."""
    corners = np.asarray(rects, dtype=np.float64).reshape(-1, 2)
    mapped = np.nan_to_num(np.column_stack([corners, np.ones(len(corners))]) @ matrix).reshape(-1, 2, 2)
    low, high = mapped.min(axis=1).clip(0), mapped.max(axis=1).clip(0)
    return np.hstack([low, high - low])


def _under(layer: Layer, areas: np.ndarray) -> list[str]:
    """Return the words of which at least half the width and the middle of the height are under one of the areas."""
    left, top, wide, tall = layer.words.boxes.reshape(-1, 4).T
    covered = np.zeros(len(left), dtype=bool)
    for x, y, w, h in areas:
        across = np.minimum(left + wide, x + w) - np.maximum(left, x)
        middle = top + tall / 2
        covered |= (across >= wide / 2) & (wide > 0) & (middle >= y) & (middle <= y + h)
    starts, ends = layer.words.starts[covered].tolist(), layer.words.ends[covered].tolist()
    return [layer.text[start:end] for start, end in zip(starts, ends, strict=True)]
