"""PDF through PDFium: the text layer with word boxes, and page images.

PDFium must not be used from two threads, so this runs only in a reading process, one document at a time. Document
JavaScript never runs: the form environment is not started. Filled form fields are merged into their page instead.

Single character boxes cost 6 ms a page in ctypes; PDFium joins the boxes of a whole word by itself, at 1.2 ms.

The thresholds of quality were set on 1,181 pages of filings, laws, gazettes, papers and scans; OCR of one page costs
seconds, so a page is sent there only on clear signs.
"""

from __future__ import annotations

import ctypes
import re
import unicodedata
from dataclasses import dataclass

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image

from docmind.documents import Words
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
from docmind.records.documents import Facts, Loss, ParsedPage, Upload
from docmind.wording import _, number_text

FEW_WORDS = 100  # a page with more has a usable text layer, whatever pictures it shows

_ODD = re.compile("[\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_VOWEL = re.compile(r"[aeiouyAEIOUYàáâãäåæèéêëìíîïòóôõöøùúûüýÿÀÁÂÃÄÅÆÈÉÊËÌÍÎÏÒÓÔÕÖØÙÚÛÜÝ]")
_BAND = 0.12  # share of the page's height that a header and a footer line cover together
_CELL = 8  # pixels of the reduced picture


def plausibility(text: str) -> float:
    """Return which share of the text looks like language or figures, 0 to 1; 0 for no text."""
    tokens = text.split()
    if not tokens:
        return 0.0
    sound = sum(_is_sound(token) for token in tokens) / len(tokens)
    odd = len(_ODD.findall(text)) / sum(map(len, tokens))
    return max(0.0, sound - 2.0 * odd) * _vowel_score(text)


def needs_ocr(text: str, lines: float, image: float, unread: float, *, is_blank: bool) -> bool:
    """Return whether the page needs OCR.

    Shares of the page, 0 to 1: `lines` of its height with words, `image` of its area under pictures, `unread` of its
    area with marks outside of words. A blank page has nothing to read.
    """
    if is_blank:
        return False
    words = len(text.split())
    if not words:
        return True
    if words < 3 and len(text) < 20 and unread > 0.03:
        return True
    if plausibility(text) < 0.5:
        return True
    # A scan under a stamped header line: few words in a narrow band, and marks elsewhere on the picture.
    return words < FEW_WORDS and image > 0.5 and lines < _BAND and unread > (0.05 if image > 0.9 else 0.2)


def lines_share(boxes: np.ndarray, height: int) -> float:
    """Return the share of the page's height with words.

    `boxes` (n, 4) in pixels of an image `height` high.
    """
    rows = np.zeros(max(1, height), dtype=bool)
    for _left, top, _wide, tall in boxes:
        rows[int(top) : int(top + tall) + 1] = True
    return float(rows.mean())


def unread_share(grey: np.ndarray, boxes: np.ndarray) -> float:
    """Return the share of small cells of a grey picture (h, w) with marks outside all words' `boxes` (n, 4)."""
    marks = np.abs(grey.astype(np.int16) - int(np.median(grey))) > 48
    for left, top, wide, tall in boxes:
        marks[max(0, int(top) - 2) : int(top + tall) + 3, max(0, int(left) - 2) : int(left + wide) + 3] = False
    high, across = (side // _CELL * _CELL for side in marks.shape)
    if not high or not across:
        return float(marks.any())
    cells = marks[:high, :across].reshape(high // _CELL, _CELL, across // _CELL, _CELL)
    return float(cells.any(axis=(1, 3)).mean())


def _is_sound(token: str) -> bool:
    """Return whether a word is at least a third letters and digits, as (33.5)%, or few marks, or one repeated."""
    if token.isalnum() or token[:-1].isalnum():
        return True
    known = sum(map(str.isalnum, token))
    return 3 * known >= len(token) if known else len(token) <= 2 or len(set(token)) == 1


def _vowel_score(text: str) -> float:
    """Return 0.3 where Latin letters have an unusual share of vowels, as shifted alphabets do.

    All other texts score 1, and so do those with fewer than 200 Latin letters.
    """
    latin = len(_LATIN.findall(text))
    if latin < 200:
        return 1.0
    share = len(_VOWEL.findall(text)) / latin
    return 1.0 if 0.22 <= share <= 0.62 else 0.3


_HYPHEN = "\ufffe"  # what PDFium gives for a hyphen at the end of a line; the next line follows without a break
_WORD = re.compile(r"\S+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u200b\u200c\u200d\u2060\ufeff\ud800-\udfff\uffff]")
# Only ligatures and Arabic presentation forms are replaced by letters: full NFKC would turn m² into m2.
_LOOKS = re.compile("[\ufb00-\ufdff\ufe70-\ufefc]+")
_TOKEN = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_FINE = 64  # device units a pixel, since PDFium converts to whole device units


def _native(name: str, result: type, *arguments: type):
    """Return a PDFium function that takes addresses as numbers: making pointer objects costs more than the call."""
    address = ctypes.cast(getattr(pdfium, name), ctypes.c_void_p).value
    assert address is not None
    return ctypes.CFUNCTYPE(result, *arguments)(address)


_count_rects = _native("FPDFText_CountRects", ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
_get_rect = _native("FPDFText_GetRect", ctypes.c_int, ctypes.c_void_p, ctypes.c_int, *[ctypes.c_void_p] * 4)


@dataclass(frozen=True, slots=True)
class Layer:
    """Text and words of a page; boxes in pixels of a page image of the requested size."""

    text: str
    words: Words


def read_layer(page: object, width: int, height: int, known: set[str]) -> Layer:
    """Return the text layer of a loaded page.

    `known` holds the words of this document so far and grows: it decides whether a hyphen at a line's end stays.
    """
    text_page = pdfium.FPDFText_LoadPage(page)
    if not text_page:
        return Layer("", Words.of([], []))
    try:
        raw = _raw_text(text_page)
        pieces, text = _clean(raw, known)
        index = _char_index(text_page, raw)
        rects, owners = _rects(text_page, [(index(start), index(end)) for _, _, start, end in pieces])
    finally:
        pdfium.FPDFText_ClosePage(text_page)
    boxes = _boxes(rects @ _matrix(page, width, height), owners, len(pieces))
    boxes = _clip(boxes, width, height)
    return Layer(text, Words.of([(start, end) for start, end, _, _ in pieces], boxes))  # pyright: ignore[reportArgumentType]


def _raw_text(text_page: object) -> str:
    count = pdfium.FPDFText_CountChars(text_page)
    if count <= 0:
        return ""
    buffer = (ctypes.c_ushort * (2 * count + 2))()
    written = pdfium.FPDFText_GetText(text_page, 0, count, buffer)
    return _unswap(bytes(buffer)[: 2 * max(0, written - 1)].decode("utf-16-le", "replace"))


def _unswap(text: str) -> str:
    """Undo swapped bytes of characters, which some producers write into their character map."""
    # Ordinary text is recognized at its first letter; one or two characters are not enough to decide.
    if len(text) < 4 or any(
        ord(char) & 0xFF or not 0x20 <= ord(char) >> 8 < 0x7F for char in text if not char.isspace()
    ):
        return text
    return "".join(char if char.isspace() else chr(ord(char) >> 8) for char in text)


def _char_index(text_page: object, raw: str):
    """Return a map from places in the text to PDFium's character numbers, which differ where characters are missing."""
    if len(raw) == pdfium.FPDFText_CountChars(text_page):
        return lambda place: place
    return lambda place: (
        pdfium.FPDFText_GetCharIndexFromTextIndex(text_page, place)
        if place < len(raw)
        else pdfium.FPDFText_CountChars(text_page)
    )


def _clean(raw: str, known: set[str]) -> tuple[list[tuple[int, int, int, int]], str]:
    """Return words as (start, end) in the clean text and (start, end) in the raw one, and the clean text.

    A word broken over two lines becomes one word of the text in two pieces, each with its own box.
    """
    known.update(_TOKEN.findall(raw.replace(_HYPHEN, " ").lower()))
    pieces: list[tuple[int, int, int, int]] = []
    parts: list[str] = []
    place = last = 0
    for match in _WORD.finditer(raw):
        start, end = match.span()
        word = match.group()
        if word.isascii() and word.isprintable():  # nearly all of them
            fresh = ((word, start),)
        else:
            fresh = [(shown, at) for piece, at in _unbreak(word, start, known) if (shown := _letters(piece))]
            if not fresh:
                continue
        if parts:
            parts.append("\n" if raw.find("\n", last, start) >= 0 else " ")
            place += 1
        last = end
        for shown, at in fresh:
            parts.append(shown)
            pieces.append((place, place + len(shown), at, min(end, at + len(shown)) if len(fresh) > 1 else end))
            place += len(shown)
    return pieces, "".join(parts)


def _letters(piece: str) -> str:
    piece = _LOOKS.sub(lambda look: unicodedata.normalize("NFKC", look.group()), _CONTROL.sub("", piece))
    # A spacing form may bring its own space along; within a word there is none.
    return "".join(unicodedata.normalize("NFC", piece).split())


def _unbreak(word: str, start: int, known: set[str]) -> list[tuple[str, int]]:
    """Split a word at line ends.

    Returns each piece with its place in the raw text, keeping hyphens that belong.
    """
    pieces = word.split(_HYPHEN)
    out: list[tuple[str, int]] = []
    for number, piece in enumerate(pieces):
        follows = pieces[number + 1] if number + 1 < len(pieces) else ""
        out.append((piece + "-" if follows and _keeps_hyphen(piece, follows, known) else piece, start))
        start += len(piece) + 1
    return out


def _keeps_hyphen(left: str, right: str, known: set[str]) -> bool:
    head, tail = _TOKEN.findall(left.lower())[-1:], _TOKEN.findall(right.lower())[:1]
    if not head or not tail:
        return bool(left)
    if head[0] + tail[0] in known:
        return False
    joined = f"{head[0]}-{tail[0]}"
    return joined in known or "-" in head[0] or not right[0].islower() or any(char.isdigit() for char in head[0])


def _rects(text_page: object, spans: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return corners of all rectangles of words as (2n, 3) with a 1 for the matrix, and each rectangle's word."""
    handle = ctypes.cast(text_page, ctypes.c_void_p).value  # pyright: ignore[reportArgumentType]
    size = 4 * sum(max(1, end - start) for start, end in spans) + 4
    table = np.zeros(size, dtype=np.float64)
    place, bytes_each = table.ctypes.data, 32
    counts = np.zeros(len(spans), dtype=np.int64)
    room = size // 4
    for number, (start, end) in enumerate(spans):
        found = _count_rects(handle, start, end - start) if end > start else 0
        if found > room:
            found = room
        for each in range(found):
            # PDFium's order is left, top, right, bottom.
            _get_rect(handle, each, place, place + 8, place + 16, place + 24)
            place += bytes_each
        room -= found
        counts[number] = found
    rects = table[: 4 * int(counts.sum())].reshape(-1, 2)
    return np.column_stack([rects, np.ones(len(rects))]), np.repeat(np.arange(len(spans)), counts)


def _matrix(page: object, width: int, height: int) -> np.ndarray:
    """Return the matrix (3, 2) from page space to pixels, from PDFium: it knows rotation, crop box and user unit."""
    x, y = ctypes.c_int(), ctypes.c_int()
    points = []
    for at in ((0.0, 0.0), (1000.0, 0.0), (0.0, 1000.0)):
        pdfium.FPDF_PageToDevice(page, 0, 0, width * _FINE, height * _FINE, 0, *at, x, y)
        points.append((x.value / _FINE, y.value / _FINE))
    origin, right, up = np.asarray(points)
    return np.stack([(right - origin) / 1000.0, (up - origin) / 1000.0, origin])


def _boxes(corners: np.ndarray, owners: np.ndarray, count: int) -> np.ndarray:
    """Return one x, y, w, h per word around all its rectangles.

    A word without any has an empty box.
    """
    boxes = np.zeros((count, 4))
    if not len(owners):
        return boxes
    pairs = corners.reshape(-1, 2, 2)
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    low = np.minimum.reduceat(pairs.min(axis=1), first)
    high = np.maximum.reduceat(pairs.max(axis=1), first)
    boxes[owners[first]] = np.hstack([low, high - low])
    return boxes


def _clip(boxes: np.ndarray, width: int, height: int) -> np.ndarray:
    """Clip boxes to the image: text outside the crop box has no place on it."""
    edge = np.array([width, height], dtype=np.float64)
    low = np.clip(boxes[:, :2], 0, edge)
    high = np.clip(boxes[:, :2] + boxes[:, 2:], 0, edge)
    return np.hstack([low, high - low])


_POINTS_TO_300_DPI = 300 / 72
_GLANCE = 400  # pixels that suffice to see marks
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
        self._known: set[str] = set()
        self.losses: tuple[Loss, ...] = ()
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
    def facts(self) -> Facts:
        said = {"title": "Title", "author": "Author", "dated": "CreationDate"}
        return facts_of(self._name, **{name: self._document.get_metadata_value(key) for name, key in said.items()})

    def page(self, page_no: int) -> ParsedPage:
        """Return one page; one that PDFium cannot load is an empty sheet, so that the others keep their numbers."""
        page = self._load_page(page_no - 1)
        if not page:
            return unreadable_page(page_no, self._rules)
        try:
            return self._read(page, page_no)
        finally:
            pdfium.FPDF_ClosePage(page)

    def text(self, page_no: int) -> str:
        """Return the text layer of one page, without drawing it; "" where the page cannot be loaded."""
        page = self._load_page(page_no - 1)
        if not page:
            return ""
        try:
            return read_layer(page, _GLANCE, _GLANCE, set()).text
        finally:
            pdfium.FPDF_ClosePage(page)

    def _load_page(self, index: int):
        page = pdfium.FPDF_LoadPage(self._document, index)
        if page and self._has_form and _has_widget(page):
            pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY)
            pdfium.FPDF_ClosePage(page)
            page = pdfium.FPDF_LoadPage(self._document, index)
        if page and (pdfium.FPDF_GetPageWidthF(page) <= 0 or pdfium.FPDF_GetPageHeightF(page) <= 0):
            pdfium.FPDF_ClosePage(page)
            return None
        return page

    def _read(self, page, page_no: int) -> ParsedPage:
        points = pdfium.FPDF_GetPageWidthF(page), pdfium.FPDF_GetPageHeightF(page)
        scale = min(self._rules.image_side_px / max(points), _POINTS_TO_300_DPI)
        width, height = (max(1, round(side * scale)) for side in points)
        layer = read_layer(page, width, height, self._known)
        image = _draw(page, width, height)
        picture = encode(image, self._rules)
        lines, images, unread = 1.0, 0.0, 0.0
        if len(layer.words) < FEW_WORDS:  # with more, these cost more than they tell
            lines = lines_share(layer.words.boxes, height)
            images = _image_share(page, *points)
            small = shrink(image, _GLANCE).convert("L")
            unread = unread_share(np.asarray(small), layer.words.boxes * (small.width / width))
        return ParsedPage(
            page_no=page_no,
            width=picture.width,
            height=picture.height,
            text=layer.text,
            words=layer.words.pack(),
            image=picture.image,
            thumbnail=picture.thumbnail,
            marks=picture.marks,
            text_source="layer" if layer.text else "none",
            confidence=round(plausibility(layer.text), 3),
            needs_ocr=needs_ocr(layer.text, lines, images, unread, is_blank=picture.is_blank),
        )


def unreadable_page(page_no: int, rules: Rules) -> ParsedPage:
    """Return an empty sheet for a page that cannot be read."""
    picture = blank(rules)
    return ParsedPage(
        page_no=page_no,
        width=picture.width,
        height=picture.height,
        text="",
        words=b"",
        image=picture.image,
        thumbnail=picture.thumbnail,
        text_source="none",
        confidence=0.0,
        marks=picture.marks,
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


def _has_widget(page) -> bool:
    for number in range(pdfium.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        subtype = pdfium.FPDFAnnot_GetSubtype(annotation)
        pdfium.FPDFPage_CloseAnnot(annotation)
        if subtype == pdfium.FPDF_ANNOT_WIDGET:
            return True
    return False


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


def _image_share(page, width: float, height: float) -> float:
    """Return the share of the page under pictures, from their bounds.

    Strips of a scan are added up.
    """
    covered = 0.0
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    for number in range(pdfium.FPDFPage_CountObjects(page)):
        item = pdfium.FPDFPage_GetObject(page, number)
        if not _is_picture(item) or not pdfium.FPDFPageObj_GetBounds(item, left, bottom, right, top):
            continue
        covered += abs(right.value - left.value) * abs(top.value - bottom.value)
    return min(1.0, covered / (width * height))


def _is_picture(item) -> bool:
    """Return whether this is an image, or a form that holds one, as some scanners make them."""
    kind = pdfium.FPDFPageObj_GetType(item)
    if kind != pdfium.FPDF_PAGEOBJ_FORM:
        return kind == pdfium.FPDF_PAGEOBJ_IMAGE
    inner = range(min(50, pdfium.FPDFFormObj_CountObjects(item)))
    return any(
        pdfium.FPDFPageObj_GetType(pdfium.FPDFFormObj_GetObject(item, number)) == pdfium.FPDF_PAGEOBJ_IMAGE
        for number in inner
    )


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
