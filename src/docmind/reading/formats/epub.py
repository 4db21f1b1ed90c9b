"""EPUB books: the chapters of the spine, in order, laid out as plain text.

`Book` is a book as its package describes it: chapters in order, types of parts, and obfuscated fonts.
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

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from docmind.blocks import Block, Table
from docmind.errors import CorruptFileError, UnsupportedFileError
from docmind.reading.formats import Rules, facts_of, open_archive
from docmind.reading.formats.html import blocks_of, parse, text_of
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Upload
from docmind.wording import _

_CONTAINER, _LOCKS = "META-INF/container.xml", "META-INF/encryption.xml"
_DC = "{http://purl.org/dc/elements/1.1/}"
# How fonts are scrambled, by the standard and by Adobe: how many bytes at the start, under which key.
_IDPF, _ADOBE = "http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"
_SCRAMBLED = {_IDPF: 1_040, _ADOBE: 1_024}


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
            self.chapters = [chapter for chapter in self._spine(package, package_name) if chapter in self._present]
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

    def has(self, path: str) -> bool:
        return path in self._present

    def media_type(self, path: str) -> str:
        """Return the media type from the package, else from the name."""
        return self._types.get(path) or mimetypes.guess_type(path)[0] or "application/octet-stream"

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


def open_epub(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a book. Raises `CorruptFileError`, `TooLargeError`, `UnsupportedFileError` or `EmptyFileError`."""
    book = Book(upload, rules)
    try:
        return LaidOut(_blocks(book), book.facts, upload.name, rules)
    finally:
        book.close()


def _blocks(book: Book) -> Iterator[Block | Table]:
    for chapter in book.chapters:
        text = text_of(book.read(chapter))
        if text.strip():
            yield from blocks_of(parse(text, book.name))
