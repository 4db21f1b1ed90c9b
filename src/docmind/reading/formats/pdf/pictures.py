"""Pictures on a page of a PDF: how much of it they cover, and whether its text is seen on them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pypdfium2.raw as pdfium

_INVISIBLE = (pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_TEXTRENDERMODE_CLIP)
_MOST_LOOKED_AT = 80


def image_share(page, width: float, height: float, *, most: int = 0) -> float:
    """Return the share of the page under pictures, from their bounds.

    Strips of a scan are added up. With `most`, only so many objects are looked at, the first and the last ones.
    """
    covered = 0.0
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    for _number, item in _objects(page, most):
        if not _is_picture(item) or not pdfium.FPDFPageObj_GetBounds(item, left, bottom, right, top):
            continue
        covered += abs(right.value - left.value) * abs(top.value - bottom.value)
    return min(1.0, covered / (width * height))


def is_behind_picture(page) -> bool:
    """Return whether text of a page that is one picture is not seen on it: invisible, or drawn before the picture.

    So does a program that adds the text of a scan. Text that stands on a background is seen.
    """
    seen = 0
    is_before = True
    for _number, item in _objects(page, _MOST_LOOKED_AT):
        if _is_picture(item):
            is_before = False
        elif pdfium.FPDFPageObj_GetType(item) == pdfium.FPDF_PAGEOBJ_TEXT:
            if is_before or pdfium.FPDFTextObj_GetTextRenderMode(item) in _INVISIBLE or _is_clear(item):
                return True
            seen += 1
    return not seen


def _objects(page, most: int) -> Iterator[tuple[int, object]]:
    count = pdfium.FPDFPage_CountObjects(page)
    numbers = range(count)
    if most and count > most:
        numbers = [*range(most // 2), *range(count - most // 2, count)]
    return ((number, pdfium.FPDFPage_GetObject(page, number)) for number in numbers)


def _is_clear(item) -> bool:
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    return bool(pdfium.FPDFPageObj_GetFillColor(item, red, green, blue, alpha)) and alpha.value == 0


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
