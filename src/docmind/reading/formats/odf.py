"""The parts of an OpenDocument file by name, packed in an archive or flat in one XML file.

What texts, spreadsheets and presentations of OpenDocument have in common: their parts, their facts, and embedded
objects.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from typing import Any
from urllib.parse import unquote

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from docmind.blocks import Picture
from docmind.errors import CorruptFileError, UnsupportedFileError
from docmind.reading.formats import Rules, facts_of, open_archive
from docmind.reading.formats.figures import picture_in
from docmind.reading.main_part import UNREADABLE
from docmind.records.documents import Facts, Upload
from docmind.wording import _

Element = Any
"""An element of lxml, whose types pyright does not know."""

_URN = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
OFFICE, TEXT, TABLE, STYLE, DRAW = (_URN % name for name in ("office", "text", "table", "style", "drawing"))
META, CHART, FORM, MANIFEST, NUMBER, PRESENTATION = (
    _URN % name for name in ("meta", "chart", "form", "manifest", "datastyle", "presentation")
)
FO, SVG = (_URN % f"{name}-compatible" for name in ("xsl-fo", "svg"))
DC, XLINK = "{http://purl.org/dc/elements/1.1/}", "{http://www.w3.org/1999/xlink}"
XML = "{http://www.w3.org/XML/1998/namespace}"
MATH = "{http://www.w3.org/1998/Math/MathML}"
FIELD = "{urn:openoffice:names:experimental:ooo-ms-interop:xmlns:field:1.0}"
LOEXT = "{urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0}"

_BINARY = re.compile(rb"(<(?:\w+:)?binary-data\b[^<>]*>)[^<]+")
_LARGEST_PART = 100 << 20  # bytes of an embedded object


class Document:
    """The parts of one file: the bodies of the content and of the styles, and embedded objects.

    `content` and `styles` are roots that hold `office:body`, `office:styles`, `office:automatic-styles` and
    `office:master-styles`; they are the same element in a flat file. `styles` is None where there are none.
    """

    def __init__(self, upload: Upload, rules: Rules) -> None:
        """Open a file.

        Raises `TooLargeError`, `UnsupportedFileError` for one that is locked, or `CorruptFileError`.
        """
        self._name = upload.name
        self._archive: zipfile.ZipFile | None = None
        self.broken: list[str] = []
        """The names of the parts that could not be read."""
        if not upload.data.startswith(b"PK"):
            self.content = self._flat(upload.data)
            self.styles: Element | None = self.content
            self._meta: Element | None = self.content
            return
        self._archive = open_archive(upload, rules)
        self._names = {name.replace("\\", "/").lstrip("/"): name for name in self._archive.namelist()}
        if self._is_locked():
            raise UnsupportedFileError(
                _("{name} is an OpenDocument file that is locked with a password.").format(name=upload.name),
                hint=_("Open it in the program that made it, save it without a password, and add that."),
            )
        try:
            self.content = self._xml("content.xml")
        except UNREADABLE as error:
            raise self._corrupt() from error
        self.styles = self.part("styles.xml")
        self._meta = self.part("meta.xml")

    def body(self, kind: str) -> Element:
        """Return the body of a kind: "text", "spreadsheet" or "presentation". Raises `CorruptFileError`."""
        found = self.content.find(f"{OFFICE}body/{OFFICE}{kind}")
        if found is None:
            raise self._corrupt()
        return found

    def facts(self) -> Facts:
        """Return title, author and day of the file's properties."""
        said = self._meta.find(f"{OFFICE}meta") if self._meta is not None else None

        def of(*paths: str) -> str:
            texts = (said.findtext(path) or "" for path in paths) if said is not None else ()
            return next((text.strip() for text in texts if text.strip()), "")

        return facts_of(
            self._name,
            title=of(f"{DC}title"),
            author=of(f"{META}initial-creator", f"{DC}creator"),
            stamped=of(f"{META}creation-date", f"{DC}date"),
        )

    def part(self, path: str) -> Element | None:
        """Return the root of a part; None where there is none, or where it cannot be read."""
        if self._archive is None or path not in self._names:
            return None
        try:
            return self._xml(path)
        except UNREADABLE:
            self.broken.append(path)
            return None

    def picture_of(self, element: Element) -> Picture | None:
        """Return what a `draw:image` shows; None where it is not in the file, or is not decoded."""
        path = posixpath.normpath(unquote(element.get(f"{XLINK}href") or "")).lstrip("/")
        if self._archive is None or path not in self._names:
            return None
        try:
            return picture_in(self._archive.read(self._names[path]))
        except UNREADABLE:
            return None

    def object_of(self, element: Element) -> Element | None:
        """Return the root of what a `draw:object` shows, `math:math` for a formula; None where it cannot be read."""
        inside = next((child for child in element if child.tag in (f"{OFFICE}document", f"{MATH}math")), None)
        href = element.get(f"{XLINK}href") or ""
        if inside is not None or not href or "://" in href:
            return inside
        folder = posixpath.normpath(href).lstrip("/")
        return None if folder.startswith("..") else self.part(posixpath.join(folder, "content.xml"))

    def close(self) -> None:
        """Close the archive."""
        if self._archive is not None:
            self._archive.close()

    def _is_locked(self) -> bool:
        manifest = self.part("META-INF/manifest.xml")
        return manifest is not None and next(manifest.iter(f"{MANIFEST}encryption-data"), None) is not None

    def _xml(self, path: str) -> Element:
        assert self._archive is not None
        info = self._archive.getinfo(self._names[path])
        if info.file_size > _LARGEST_PART and path not in ("content.xml", "styles.xml"):
            raise ValueError("a part that is too large")
        return etree.fromstring(self._archive.read(info), _parser())

    def _flat(self, data: bytes) -> Element:
        try:
            root = etree.fromstring(_BINARY.sub(rb"\1", data), _parser())
        except UNREADABLE as error:
            raise self._corrupt() from error
        if root.tag != f"{OFFICE}document":
            raise self._corrupt()
        return root

    def _corrupt(self) -> CorruptFileError:
        return CorruptFileError(_("{name} is an OpenDocument file that is broken.").format(name=self._name))


def count_of(text: str | None, most: int, default: int = 1) -> int:
    """Return a count of an attribute, such as how often a cell is repeated: from 0 to `most`."""
    said = (text or "").strip()
    if not (said.isascii() and said.isdecimal()):
        return default
    return most if len(said) > 9 else min(int(said), most)


def _parser() -> Any:
    return etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True, load_dtd=False
    )
