"""Strokes on page images: see `docmind.marks`."""

from docmind.marks import EDGE, INK, RIM, framed, marked, reading_width, strip

__all__ = ["EDGE", "INK", "RIM", "framed", "marked", "reading_width", "strip"]
