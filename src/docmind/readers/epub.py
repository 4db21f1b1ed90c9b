"""EPUB books: the chapters of the spine, in order."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from docmind.errors import CorruptFileError, UnsupportedFileError
from docmind.readers import Rules
from docmind.readers.archive import open_archive
from docmind.readers.decode import encoding_of
from docmind.readers.html import blocks_of, parse
from docmind.readers.layout import Block
from docmind.readers.sheet import LaidOut
from docmind.readers.title import sensible_title
from docmind.schema import Upload

_CONTAINER, _LOCKS = "META-INF/container.xml", "META-INF/encryption.xml"


def open_epub(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a book. Raises `CorruptFileError`, `TooLargeError`, `UnsupportedFileError` or `EmptyFileError`."""
    with open_archive(upload, rules) as archive:
        try:
            package_name = _package_name(archive)
            package = _xml(archive.read(package_name))
            chapters = list(_chapters(package, package_name))
            _refuse_locked(archive, chapters, upload.name)
            title = " ".join((package.findtext(".//{http://purl.org/dc/elements/1.1/}title") or "").split())
            blocks = _blocks(archive, chapters, upload.name)
            return LaidOut(blocks, sensible_title(title, upload.name), upload.name, rules)
        except (KeyError, ValueError, zipfile.BadZipFile, etree.XMLSyntaxError) as error:
            raise CorruptFileError(
                f"{upload.name} is an EPUB book that is broken: its parts cannot be found."
            ) from error


def _package_name(archive: zipfile.ZipFile) -> str:
    root = _xml(archive.read(_CONTAINER)).find(".//{*}rootfile")
    if root is None or not root.get("full-path"):
        raise KeyError("rootfile")
    return str(root.get("full-path"))


def _chapters(package: etree._Element, package_name: str) -> Iterator[str]:
    folder = posixpath.dirname(package_name)
    items = {item.get("id"): item.get("href") or "" for item in package.iterfind(".//{*}manifest/{*}item")}
    for reference in package.iterfind(".//{*}spine/{*}itemref"):
        href = items.get(reference.get("idref"))
        if href:
            yield posixpath.normpath(posixpath.join(folder, unquote(href)))


def _refuse_locked(archive: zipfile.ZipFile, chapters: list[str], name: str) -> None:
    """Fonts are often scrambled, which is harmless; scrambled chapters mean copy protection."""
    if _LOCKS not in archive.namelist():
        return
    locked = {unquote(item.get("URI") or "") for item in _xml(archive.read(_LOCKS)).iterfind(".//{*}CipherReference")}
    if locked & set(chapters):
        raise UnsupportedFileError(f"{name} is copy-protected.", hint="Get a copy without protection.")


def _blocks(archive: zipfile.ZipFile, chapters: list[str], name: str) -> Iterator[Block]:
    present = set(archive.namelist())
    for chapter in chapters:
        if chapter not in present:
            continue
        data = archive.read(chapter)
        text = data.decode(encoding_of(data), "replace")
        if text.strip():
            yield from blocks_of(parse(text, name))


def _xml(data: bytes) -> etree._Element:
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
