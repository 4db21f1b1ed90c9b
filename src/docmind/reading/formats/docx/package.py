"""The parts of a Word file, and the attributes of its elements."""

from __future__ import annotations

import zipfile

from docmind.blocks import Losses
from docmind.reading.formats.ooxml_parts import ANY, DGM, MC, A, BrokenError, C, Element, M, Part, Parts, R, number

__all__ = (
    "ANY",
    "DGM",
    "MC",
    "W14",
    "W15",
    "WP",
    "A",
    "BrokenError",
    "C",
    "Element",
    "M",
    "O",
    "Package",
    "Part",
    "R",
    "V",
    "W",
    "is_on",
    "number",
    "value",
)  # fmt: skip

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
W14 = "{http://schemas.microsoft.com/office/word/2010/wordml}"
W15 = "{http://schemas.microsoft.com/office/word/2012/wordml}"
WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
V = "{urn:schemas-microsoft-com:vml}"
O = "{urn:schemas-microsoft-com:office:office}"  # noqa: E741 - the prefix that all documents use

_MAIN_TYPES = ("document.main+xml", "template.main+xml")


class Package(Parts):
    """The parts of a Word file."""

    def __init__(self, archive: zipfile.ZipFile, losses: Losses) -> None:
        """`losses` counts the parts that cannot be read."""
        super().__init__(archive, losses, "word/document.xml", _MAIN_TYPES)


def value(element: Element, path: str, attribute: str = "val") -> str | None:
    """Return an attribute of the first element at a path of plain names, all of Word's namespace; None without one."""
    for name in path.split("/"):
        element = element.find(f"{W}{name}") if element is not None else None
    return element.get(f"{W}{attribute}") if element is not None else None


def is_on(properties: Element, name: str) -> bool | None:
    """Return whether a property is on; None where it is not said."""
    element = properties.find(f"{W}{name}") if properties is not None else None
    if element is None:
        return None
    return (element.get(f"{W}val") or "1").lower() not in ("0", "false", "off", "none")
