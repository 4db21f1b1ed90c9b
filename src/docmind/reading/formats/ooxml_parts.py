"""The parts of an Office file, parsed with their relations: a part that cannot be read is a loss, not the end."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass, field
from typing import Any

from docmind.blocks import Losses
from docmind.reading.formats import facts_of, ooxml
from docmind.reading.formats.ooxml import Link, relations_of
from docmind.reading.main_part import UNREADABLE
from docmind.records.documents import Facts

Element = Any
"""An element of lxml, whose types pyright does not know."""

R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
ANY = re.compile(r"\{[^{}]*\}")

_DC, _TERMS = "{http://purl.org/dc/elements/1.1/}", "{http://purl.org/dc/terms/}"


class BrokenError(Exception):
    """The main part of the file is missing or is no XML of its program."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the file, parsed, and its relationships by id."""

    path: str
    root: Element
    links: dict[str, Link] = field(default_factory=dict)

    def first(self, kind: str) -> Link | None:
        """Return the first relationship of a type to a part of the file."""
        return next((link for link in self.links.values() if link.type == kind and not link.is_external), None)


class Parts(ooxml.Package):
    """All parts of a file. A part that cannot be read is counted as a loss, and is None."""

    def __init__(self, archive: zipfile.ZipFile, losses: Losses, main: str, types: tuple[str, ...]) -> None:
        """Open the parts: `main` is the usual name of the main one, `types` how its content types end."""
        super().__init__(archive)
        self._losses = losses
        self._main = main
        self._types = types
        self._links = self._links_of("")

    def main(self) -> Part:
        """Return the main part: the text of a document, the list of slides. Raises `BrokenError`."""
        for path in self._main_paths():
            if self.has(path):
                try:
                    return Part(path, self.xml(path), self._links_of(path))
                except UNREADABLE as error:
                    raise BrokenError from error
        raise BrokenError

    def facts(self, name: str, template: str) -> Facts:
        """Return title, author and date of the file of a name; `template` is how the date of a tool's own file begins.

        That date says nothing of the document.
        """
        linked = (link.target for link in self._links.values() if link.type == "core-properties")
        part = self.part(next(linked, "docProps/core.xml"))
        said = {} if part is None else {str(child.tag): (child.text or "").strip() for child in part.root}
        created = said.get(f"{_TERMS}created", "")
        return facts_of(
            name,
            title=said.get(f"{_DC}title"),
            author=said.get(f"{_DC}creator"),
            stamped="" if created.startswith(template) else created,
        )

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
            named = (said.get("PartName", "") for said in types if said.get("ContentType", "").endswith(self._types))
            paths += [name.lstrip("/") for name in named]
        return [*paths, self._main]

    def _links_of(self, path: str) -> dict[str, Link]:
        try:
            return self.links(path)
        except UNREADABLE:
            self._losses.note("part", relations_of(path))
            return {}


def number(text: str | None, default: int = 0) -> int:
    """Return a whole number of an attribute, within what a document can mean."""
    try:
        return max(-1_000_000, min(int(text or ""), 1_000_000))
    except ValueError:
        return default


def chosen_of(element: Element, understood: re.Pattern[str]) -> Element | None:
    """Return the alternative that is shown: the first whose names are `understood`, else the one for older programs."""
    for choice in element.iterfind(f"{MC}Choice"):
        names = (choice.get("Requires") or "").split()
        if all(understood.search(choice.nsmap.get(name) or "") for name in names):
            return choice
    return element.find(f"{MC}Fallback")
