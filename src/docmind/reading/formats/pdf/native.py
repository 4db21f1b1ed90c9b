"""PDFium's functions as they are called thousands of times for a page."""

from __future__ import annotations

import ctypes

import pypdfium2.raw as pdfium


def native(name: str, result: type, *arguments: type):
    """Return a PDFium function that takes addresses as numbers: making pointer objects costs more than the call."""
    address = ctypes.cast(getattr(pdfium, name), ctypes.c_void_p).value
    assert address is not None
    return ctypes.CFUNCTYPE(result, *arguments)(address)


get_size = native("FPDFText_GetFontSize", ctypes.c_double, ctypes.c_void_p, ctypes.c_int)
get_matrix = native("FPDFText_GetMatrix", ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
