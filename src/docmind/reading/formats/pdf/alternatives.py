"""What a tagged PDF says of its figures in words, from the tree of its structure."""

from __future__ import annotations

import ctypes

import pypdfium2.raw as pdfium

from docmind.reading.formats.drawings import alternative

_MOST, _DEEPEST = 5_000, 60  # elements of a page, and how deep they lie
_LONGEST = 4_000  # bytes of a text
_FIGURES = frozenset(("Figure", "Formula", "Diagram", "Chart"))


def alternatives(page: object) -> list[tuple[str, frozenset[int]]]:
    """Return the alternative texts of a loaded page, each with the numbers of the marked content that it stands for."""
    tree = pdfium.FPDF_StructTree_GetForPage(page)
    if not tree:
        return []
    try:
        found: list[tuple[str, frozenset[int]]] = []
        roots = range(min(_MOST, max(0, pdfium.FPDF_StructTree_CountChildren(tree))))
        waiting = [(pdfium.FPDF_StructTree_GetChildAtIndex(tree, at), 0) for at in reversed(roots)]
        for _count in range(_MOST):
            if not waiting:
                break
            element, depth = waiting.pop()
            if not element:
                continue
            if _text(pdfium.FPDF_StructElement_GetType, element) in _FIGURES:
                said = alternative((_text(pdfium.FPDF_StructElement_GetAltText, element),))
                if said:
                    found.append((said, _numbers(element)))
            if depth < _DEEPEST:
                inner = range(min(_MOST, max(0, pdfium.FPDF_StructElement_CountChildren(element))))
                waiting += [
                    (pdfium.FPDF_StructElement_GetChildAtIndex(element, at), depth + 1) for at in reversed(inner)
                ]
        return found
    finally:
        pdfium.FPDF_StructTree_Close(tree)


def _numbers(element: object) -> frozenset[int]:
    count = min(_MOST, max(0, pdfium.FPDF_StructElement_GetMarkedContentIdCount(element)))
    numbers = {pdfium.FPDF_StructElement_GetMarkedContentIdAtIndex(element, at) for at in range(count)}
    inner = min(_MOST, max(0, pdfium.FPDF_StructElement_CountChildren(element)))
    numbers |= {pdfium.FPDF_StructElement_GetChildMarkedContentID(element, at) for at in range(inner)}
    return frozenset(number for number in numbers if number >= 0)


def _text(of, element: object) -> str:
    size = of(element, None, 0)
    if size <= 2 or size > _LONGEST:
        return ""
    buffer = ctypes.create_string_buffer(size)
    of(element, buffer, size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")
