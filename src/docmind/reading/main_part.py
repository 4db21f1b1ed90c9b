"""The kind of an Office file by its main part, which the relations of the file name, whatever its own name is.

It is a module of its own because `file_type` tells kinds before any reader of `formats` is imported.
"""

from __future__ import annotations

import posixpath
import struct
import zipfile
import zlib
from urllib.parse import unquote

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

_RELATIONS = "_rels/.rels"
_LINKS_MAX, _HEAD = 1 << 20, 64 << 10  # bytes of the relations of a file, and of its main part, that tell its kind
_RECORDS = ".bin"  # how the name of a part of records ends; of main parts only that of a binary workbook is no XML
_KINDS = (("wordprocessingml", "docx"), ("spreadsheetml", "xlsx"), ("presentationml", "pptx"))
"""What the namespace of the root of the main part has, and the kind of its file."""
UNREADABLE = (
    KeyError, ValueError, EOFError, OSError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error,
    struct.error, etree.XMLSyntaxError,
)  # fmt: skip
"""What a part that is missing, cut off, damaged or no XML raises. `zipfile` has a `RuntimeError` for a locked one."""


def kind_in(archive: zipfile.ZipFile) -> str:
    """Return the kind of an Office file by the root of its main part; "" for another file."""
    names = {name.replace("\\", "/").lstrip("/").casefold(): name for name in archive.namelist()}
    try:
        main = _main_part(archive, names)
        if not main or main.casefold().endswith(_RECORDS):
            return "xlsb" if main else ""
        with archive.open(main) as stream:
            head = stream.read(_HEAD)
        parser = etree.XMLPullParser(events=("start",), resolve_entities=False, no_network=True)
        parser.feed(head)
        root = next((element for _event, element in parser.read_events()), None)
    except UNREADABLE:
        return ""
    space = str(etree.QName(root).namespace) if root is not None else ""
    return next((kind for sign, kind in _KINDS if f"/{sign}/" in space), "")


def _main_part(archive: zipfile.ZipFile, names: dict[str, str]) -> str:
    """Return the name of the main part as the archive has it; "" where there is none."""
    if _RELATIONS not in names:
        return ""
    with archive.open(names[_RELATIONS]) as stream:
        data = stream.read(_LINKS_MAX)
    for said in etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True)):
        if (said.get("Type") or "").endswith("/officeDocument"):
            target = posixpath.normpath(posixpath.join("/", unquote(said.get("Target") or ""))).lstrip("/")
            if target.casefold() in names:
                return names[target.casefold()]
    return ""
