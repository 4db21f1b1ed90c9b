"""The parts of an Office file by name, and their relations: what Word, Excel and PowerPoint files have in common.

Parts are found by their relations, whatever their names. Strict files have other namespaces with the same elements:
they are parsed under the usual ones.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import unquote

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from docmind.blocks import Picture
from docmind.reading.formats.figures import picture_in
from docmind.reading.main_part import UNREADABLE

_CHUNK = 256 << 10
_STRICT = re.compile(rb"""(xmlns(?::[\w.-]+)?=["'])http://purl\.oclc\.org/ooxml/(\w+)/(\w+)(?=["'])""")
_USUAL = rb"\1http://schemas.openxmlformats.org/\2/2006/\3"


@dataclass(frozen=True, slots=True)
class Link:
    """A relation: the last word of its type ("footnotes"), the name of the part, or an address outside."""

    type: str
    target: str
    is_external: bool


class Package:
    """The parts of a file by name, and their relations. Each method raises one of `UNREADABLE` for a part it needs."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = {name.replace("\\", "/").lstrip("/").casefold(): name for name in archive.namelist()}

    def has(self, part: str) -> bool:
        """Return whether there is a part of a name; small and capital letters are the same."""
        return part.casefold() in self._names

    def open(self, part: str) -> IO[bytes]:
        """Open a part for reading."""
        return self._archive.open(self._names[part.casefold()])

    def xml(self, part: str, most: int | None = None) -> Any:
        """Return the root of a part, without comments and instructions; one above `most` bytes is not read."""
        with self.open(part) as stream:
            data = stream.read() if most is None else stream.read(most + 1)
        if most is not None and len(data) > most:
            raise ValueError("a part that is too large")
        root = etree.fromstring(data, _parser())
        if b"purl.oclc.org/ooxml/" in data or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            root = etree.fromstring(_STRICT.sub(_USUAL, etree.tostring(root)), _parser())
        return root

    def stream(self, part: str, *names: str) -> Iterator[Any]:
        """Yield the elements of these local names at their ends, and forget them; a huge part takes little memory.

        Of a part that breaks off the elements that are complete are yielded before its error is raised.
        """
        tags = [f"{{*}}{name}" for name in names]
        ends = tuple(f"}}{name}" for name in names)
        parser = etree.XMLPullParser(events=("end",), tag=tags, resolve_entities=False, no_network=True)
        broken: Exception | None = None
        with self.open(part) as stream:
            while broken is None:
                try:
                    data = stream.read(_CHUNK)
                    parser.feed(data) if data else parser.close()
                except UNREADABLE as error:
                    data, broken = b"", error
                for _event, element in parser.read_events():
                    yield element
                    element.clear()
                    parent = element.getparent()
                    if parent is not None and not parent.tag.endswith(ends):  # that one is forgotten as a whole
                        while element.getprevious() is not None:
                            del parent[0]
                if not data:
                    break
        if broken is not None:
            raise broken

    def picture(self, part: str) -> Picture | None:
        """Return the picture that a part is; None for one that is missing, or of a kind that is not decoded."""
        try:
            with self.open(part) as stream:
                return picture_in(stream.read())
        except UNREADABLE:
            return None

    def links(self, part: str) -> dict[str, Link]:
        """Return the relations of a part by id, those of the file for ""; none where they are missing."""
        folder = posixpath.dirname(part)
        relations = relations_of(part)
        if not self.has(relations):
            return {}
        found = dict[str, Link]()
        for said in self.xml(relations):
            target, is_external = said.get("Target") or "", said.get("TargetMode") == "External"
            if not is_external:
                target = self._named(folder, target)
            found[said.get("Id") or ""] = Link((said.get("Type") or "").rpartition("/")[2], target, is_external)
        return found

    def _named(self, folder: str, target: str) -> str:
        """Return the name of a part as the archive has it: a target may write its spaces as %20."""
        plain, decoded = (
            posixpath.normpath(posixpath.join("/", folder, name)).lstrip("/") for name in (target, unquote(target))
        )
        return plain if self.has(plain) else decoded


def relations_of(part: str) -> str:
    """Return the name of the part that has the relations of another one."""
    folder, name = posixpath.split(part)
    return posixpath.join(folder, "_rels", f"{name}.rels")


def _parser() -> Any:
    return etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
