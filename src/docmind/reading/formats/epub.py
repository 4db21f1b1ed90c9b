"""EPUB books: the chapters of the spine, in order, laid out as plain text.

`Book` is a book as its package describes it: chapters in order, their titles in its table of contents, types of parts,
and obfuscated fonts. `Chapters` reads one chapter after another, with the notes that lie in parts of their own.
"""

from __future__ import annotations

import hashlib
import mimetypes
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from urllib.parse import unquote

import lxml.html
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from docmind.blocks import Block, Losses, Picture, Table, shown_in
from docmind.errors import CorruptFileError, UnsupportedFileError
from docmind.reading.formats import Rules, facts_of, open_archive
from docmind.reading.formats.figures import picture_at, picture_in
from docmind.reading.formats.html import blocks_of, parse, text_of
from docmind.reading.formats.markup import INLINE, Page, Walk
from docmind.reading.formats.math_text import local
from docmind.reading.formats.notes import Notes
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Upload
from docmind.wording import _

_CONTAINER, _LOCKS = "META-INF/container.xml", "META-INF/encryption.xml"
_DC = "{http://purl.org/dc/elements/1.1/}"
# How fonts are scrambled, by the standard and by Adobe: how many bytes at the start, under which key.
_IDPF, _ADOBE = "http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"
_SCRAMBLED = {_IDPF: 1_040, _ADOBE: 1_024}
_MOST_NOTES = 20_000  # of a book that lie in parts which are no chapters


class Book:
    """An open book. Raises `CorruptFileError`, `TooLargeError` or `UnsupportedFileError`.

    Close it when done.
    """

    def __init__(self, upload: Upload, rules: Rules) -> None:
        self.name = upload.name
        self._archive = open_archive(upload, rules)
        self._present = set(self._archive.namelist())
        try:
            package_name = self._package_name()
            package = _xml(self._archive.read(package_name))
            self._types: dict[str, str] = {}
            self._contents = ""  # the part that has the table of contents
            listed = list(self._spine(package, package_name))
            self.missing = sum(chapter not in self._present for chapter in listed)
            self.chapters = [chapter for chapter in listed if chapter in self._present]
            self._fonts = self._scrambled()
            self._keys = _keys(package)
            title, dated = package.findtext(f".//{_DC}title"), package.findtext(f".//{_DC}date")
            named = ((one.text or "").strip() for one in package.iterfind(f".//{_DC}creator"))
            authors = ", ".join(filter(None, named))
        except (KeyError, ValueError, zipfile.BadZipFile, etree.XMLSyntaxError) as error:
            raise CorruptFileError(
                _("{name} is an EPUB book that is broken: its parts cannot be found.").format(name=upload.name)
            ) from error
        self.facts = facts_of(upload.name, title=title, author=authors, dated=dated)
        layouts = package.iterfind('.//{*}meta[@property="rendition:layout"]')
        self.is_exact = "pre-paginated" in ((meta.text or "").strip() for meta in layouts)

    def read(self, path: str) -> bytes:
        """Return one part, fonts deobfuscated.

        Raises `CorruptFileError`, also where there is no such part.
        """
        try:
            data = self._archive.read(path)
        except (KeyError, ValueError, NotImplementedError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise CorruptFileError(
                _("{name} is an EPUB book that is broken: a part cannot be read.").format(name=self.name)
            ) from error
        how = self._fonts.get(path)
        return data if how is None else _unscrambled(data, self._keys.get(how, b""), _SCRAMBLED[how])

    def picture(self, chapter: str, address: str) -> Picture | None:
        """Return the picture at an address in a chapter; None where it is not in the book or is not decoded."""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(chapter), unquote(address.partition("#")[0])))
        if path not in self._present:
            return picture_at(address)
        try:
            return picture_in(self.read(path))
        except CorruptFileError:
            return None

    def has(self, path: str) -> bool:
        return path in self._present

    def media_type(self, path: str) -> str:
        """Return the media type from the package, else from the name."""
        return self._types.get(path) or mimetypes.guess_type(path)[0] or "application/octet-stream"

    def titles(self) -> dict[str, str]:
        """Return the title of each chapter in the table of contents, by its path; none where there is no such table."""
        if self._contents not in self._present:
            return {}
        titles: dict[str, str] = {}
        try:
            text = text_of(self.read(self._contents))
            tree = parse(text, self.name) if text.strip() else None
        except CorruptFileError:
            return {}  # the chapters are there without their titles
        for element in tree.iter() if tree is not None else ():
            link = element.get("href") if local(element) == "a" else element.get("src")
            if local(element) not in ("a", "content") or not link or "#" in link:
                continue
            path = posixpath.normpath(posixpath.join(posixpath.dirname(self._contents), unquote(link)))
            titles.setdefault(path, " ".join(_label_of(element).split()))
        return titles

    def close(self) -> None:
        self._archive.close()

    def _package_name(self) -> str:
        root = _xml(self._archive.read(_CONTAINER)).find(".//{*}rootfile")
        if root is None or not root.get("full-path"):
            raise KeyError("rootfile")
        return str(root.get("full-path"))

    def _spine(self, package: etree._Element, package_name: str) -> Iterator[str]:
        folder = posixpath.dirname(package_name)
        items: dict[str | None, str] = {}
        for item in package.iterfind(".//{*}manifest/{*}item"):
            if item.get("href"):
                path = posixpath.normpath(posixpath.join(folder, unquote(item.get("href"))))
                items[item.get("id")] = path
                self._types[path] = (item.get("media-type") or "").strip()
                is_contents = "nav" in (item.get("properties") or "").split()
                if is_contents or (not self._contents and self._types[path] == "application/x-dtbncx+xml"):
                    self._contents = path
        for reference in package.iterfind(".//{*}spine/{*}itemref"):
            if reference.get("idref") in items:
                yield items[reference.get("idref")]

    def _scrambled(self) -> dict[str, str]:
        """Return the obfuscated fonts with their method.

        Raises `UnsupportedFileError` where a chapter is encrypted, which means copy protection.
        """
        if _LOCKS not in self._present:
            return {}
        fonts: dict[str, str] = {}
        for locked in _xml(self._archive.read(_LOCKS)).iterfind(".//{*}EncryptedData"):
            reference, method = locked.find(".//{*}CipherReference"), locked.find(".//{*}EncryptionMethod")
            path = unquote((reference.get("URI") or "") if reference is not None else "")
            if path in self.chapters:
                raise UnsupportedFileError(
                    _("{name} is copy-protected.").format(name=self.name), hint=_("Get a copy without protection.")
                )
            how = (method.get("Algorithm") or "") if method is not None else ""
            if how in _SCRAMBLED:
                fonts[path] = how
        return fonts


def _keys(package: etree._Element) -> dict[str, bytes]:
    """Derive both keys from the book's identifier, which is not secret."""
    wanted = package.get("unique-identifier")
    named = [one for one in package.iterfind(f".//{_DC}identifier") if one.get("id") == wanted]
    identifier = "".join(((named[0].text or "") if named else "").split())
    digits = re.sub("[^0-9a-fA-F]", "", identifier.rpartition(":")[2])
    keys = {_IDPF: hashlib.sha1(identifier.encode(), usedforsecurity=False).digest()}
    return keys | ({_ADOBE: bytes.fromhex(digits)} if len(digits) == 32 else {})


def _unscrambled(data: bytes, key: bytes, length: int) -> bytes:
    if not key:
        return data
    head = bytes(byte ^ key[place % len(key)] for place, byte in enumerate(data[:length]))
    return head + data[length:]


def _xml(data: bytes) -> etree._Element:
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))


def _label_of(entry: lxml.html.HtmlElement) -> str:
    """Return the words of an entry of a table of contents: those of a link, or those beside a `content` of an NCX."""
    if local(entry) == "a":
        return "".join(entry.itertext())
    above = entry.getparent()
    label = next((one for one in above if local(one) == "navlabel"), None) if above is not None else None
    return "".join(label.itertext()) if label is not None else ""


class Chapters:
    """The chapters of an open book, read one after another in the order of the spine.

    A note that lies in a part outside the spine is read at the end of the chapter that refers to it first.
    """

    def __init__(self, book: Book, losses: Losses) -> None:
        self._book, self.losses = book, losses
        self._marks: dict[str, tuple[str, str]] = {}
        self._parts: dict[str, dict[str, lxml.html.HtmlElement]] = {}
        self._told: set[str] = set()
        self.appended: list[str] = []  # the notes from elsewhere of the chapter that was read last
        self.hidden: set[str] = set()  # the ids of its own notes, which may be hidden until somebody asks for them
        self._titles = book.titles()
        self.losses.note("part", count=book.missing)

    def blocks(self, path: str, text: str, *, is_drawn: bool = False) -> Iterator[Block | Table]:
        """Yield the blocks of one chapter, then the notes from elsewhere that its marks lead to.

        Of one that `is_drawn` by a browser they are the words that it must show.
        """
        self.appended.clear()
        page = Page(
            self.losses, Notes(path, self._marks), path, is_book=True, is_drawn=is_drawn,
            pictures=lambda address: self._book.picture(path, address),
        )  # fmt: skip
        tree = parse(text, self._book.name, self.losses)
        title = self._titles.get(path, "")
        if (
            title
            and not is_drawn
            and not any(local(one) in ("h1", "h2", "h3", "h4", "h5", "h6") for one in tree.iter())
        ):
            yield Block(kind="heading", text=title, level=1)
        yield from blocks_of(tree, page)
        self.hidden = page.notes.ids()
        for label, element in self.notes_from_elsewhere(page.notes):
            anchor = page.notes.anchor_of(label)
            marker = label
            for block in Walk(element, Page(self.losses, place=path), 1).blocks():
                if isinstance(block, Block):
                    said = Notes.without_label(block.text.strip(), marker) if marker else block.text
                    self.appended.append(f"{marker} {said}".strip())
                    yield Block(kind="footnote", text=said, marker=marker, anchor=anchor)
                    marker = ""
                else:
                    self.appended += [" | ".join(map(shown_in, row)) for row in block.rows]
                    yield block

    def notes_from_elsewhere(self, notes: Notes) -> Iterator[tuple[str, lxml.html.HtmlElement]]:
        """Yield the mark and the element of each note outside the spine that a chapter refers to, once in the book."""
        for address in notes.addresses():
            path, _, at = address.partition("#")
            if path in self._book.chapters or address in self._told or len(self._told) >= _MOST_NOTES:
                continue
            self._told.add(address)
            element = self._part(path).get(at)
            if element is None:
                self.losses.note("part", path)
            else:
                yield self._marks[address][0], _holder_of(element)

    def _part(self, path: str) -> dict[str, lxml.html.HtmlElement]:
        """Return the elements of a part that is no chapter, by their ids; none where it cannot be read."""
        if path not in self._parts:
            self._parts[path] = {}
            if self._book.has(path) and "html" in self._book.media_type(path):
                try:
                    text = text_of(self._book.read(path))
                    tree = parse(text, self._book.name) if text.strip() else None
                except CorruptFileError:
                    return {}  # `notes_from_elsewhere` counts the notes that are not found
                for element in tree.iter() if tree is not None else ():
                    if local(element) and element.get("id"):
                        self._parts[path].setdefault(element.get("id"), element)
        return self._parts[path]


def _holder_of(element: lxml.html.HtmlElement) -> lxml.html.HtmlElement:
    """Return the note around the target of a link."""
    while local(element) in INLINE and element.getparent() is not None:
        element = element.getparent()
    return element


def open_epub(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a book. Raises `CorruptFileError`, `TooLargeError`, `UnsupportedFileError` or `EmptyFileError`."""
    book = Book(upload, rules)
    losses = Losses()
    try:
        return LaidOut(_blocks(book, losses), book.facts, upload.name, rules, losses)
    finally:
        book.close()


def _blocks(book: Book, losses: Losses) -> Iterator[Block | Table]:
    """Yield the blocks of all chapters. A chapter that is broken is counted; only a book of such ones is broken."""
    chapters = Chapters(book, losses)
    broken: CorruptFileError | None = None
    read = 0
    for path in book.chapters:
        try:
            text = text_of(book.read(path))
            if text.strip():
                yield from chapters.blocks(path, text)
            read += 1
        except CorruptFileError as error:
            losses.note("part", path)
            broken = error
    if broken is not None and not read:
        raise broken
