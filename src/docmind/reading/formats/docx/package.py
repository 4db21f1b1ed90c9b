"""The parts of a Word file, and the attributes of its elements."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass, field
from typing import Any

from docmind.blocks import Losses
from docmind.reading.formats import ooxml
from docmind.reading.formats.ooxml import UNREADABLE, Link, relations_of

Element = Any
"""An element of lxml, whose types pyright does not know."""

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
W14 = "{http://schemas.microsoft.com/office/word/2010/wordml}"
W15 = "{http://schemas.microsoft.com/office/word/2012/wordml}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
V = "{urn:schemas-microsoft-com:vml}"
O = "{urn:schemas-microsoft-com:office:office}"  # noqa: E741 - the prefix that all documents use
ANY = re.compile(r"\{[^}]*\}")

_MAIN_TYPES = ("document.main+xml", "template.main+xml")


class BrokenError(Exception):
    """The part that holds the document's text is missing or is no XML of Word."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the file, parsed, and its relationships by id."""

    path: str
    root: Element
    links: dict[str, Link] = field(default_factory=dict)

    def first(self, kind: str) -> Link | None:
        """Return the first relationship of a type to a part of the file."""
        return next((link for link in self.links.values() if link.type == kind and not link.is_external), None)


class Package(ooxml.Package):
    """All parts of a file. A part that cannot be read is counted as a loss, and is None."""

    def __init__(self, archive: zipfile.ZipFile, losses: Losses) -> None:
        """`losses` counts the parts that cannot be read."""
        super().__init__(archive)
        self._losses = losses
        self._links = self._links_of("")

    def main(self) -> Part:
        """Return the part with the document's text. Raises `BrokenError`."""
        for path in self._main_paths():
            if self.has(path):
                try:
                    return Part(path, self.xml(path), self._links_of(path))
                except UNREADABLE as error:
                    raise BrokenError from error
        raise BrokenError

    def core(self) -> Part | None:
        """Return the part with title, author and date."""
        linked = (link.target for link in self._links.values() if link.type == "core-properties")
        return self.part(next(linked, "docProps/core.xml"))

    def linked(self, part: Part, kind: str) -> Part | None:
        """Return the part that another one has a relationship of a type to."""
        link = part.first(kind)
        return self.part(link.target) if link is not None else None

    def part(self, path: str) -> Part | None:
        """Return a part; None where there is none, or where it cannot be read."""
        if not self.has(path):
            return None
        try:
            return Part(path, self.xml(path), self._links_of(path))
        except UNREADABLE:
            self._losses.note("part", path)
            return None

    def _main_paths(self) -> list[str]:
        paths = [link.target for link in self._links.values() if link.type == "officeDocument"]
        if self.has("[Content_Types].xml"):
            try:
                types = self.xml("[Content_Types].xml")
            except UNREADABLE:
                types = ()
            named = (said.get("PartName", "") for said in types if said.get("ContentType", "").endswith(_MAIN_TYPES))
            paths += [name.lstrip("/") for name in named]
        return [*paths, "word/document.xml"]

    def _links_of(self, path: str) -> dict[str, Link]:
        try:
            return self.links(path)
        except UNREADABLE:
            self._losses.note("part", relations_of(path))
            return {}


def value(element: Element, path: str, attribute: str = "val") -> str | None:
    """Return an attribute of the first element at a path of plain names, all of Word's namespace; None without one."""
    for name in path.split("/"):
        element = element.find(f"{W}{name}") if element is not None else None
    return element.get(f"{W}{attribute}") if element is not None else None


def number(text: str | None, default: int = 0) -> int:
    """Return a whole number of an attribute, within what a document can mean."""
    try:
        return max(-1_000_000, min(int(text or ""), 1_000_000))
    except ValueError:
        return default


def is_on(properties: Element, name: str) -> bool | None:
    """Return whether a property is on; None where it is not said."""
    element = properties.find(f"{W}{name}") if properties is not None else None
    if element is None:
        return None
    return (element.get(f"{W}val") or "1").lower() not in ("0", "false", "off", "none")
