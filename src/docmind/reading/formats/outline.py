"""Outlines in OPML, as outliners and readers of feeds write them: a list of items within items."""

from __future__ import annotations

from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from docmind.blocks import Block, Losses
from docmind.errors import CorruptFileError
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.prose import clean
from docmind.reading.formats.text import check_size
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Upload
from docmind.wording import _

Element = Any
"""An element of lxml, whose types pyright does not know."""

_DEEPEST = 90  # items within items
_NOTES = ("_note", "description", "note")
_ADDRESSES = ("xmlUrl", "htmlUrl", "url")


def open_opml(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open an outline. Raises `CorruptFileError`, `TooLargeError` or `EmptyFileError`."""
    check_size(upload, rules)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    try:
        root = etree.fromstring(upload.data.lstrip(), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise CorruptFileError(_("{name} is an outline that is broken.").format(name=upload.name)) from error
    said = {name: _line(root.findtext(f"head/{name}")) for name in ("title", "ownerName", "dateCreated")}
    facts = facts_of(upload.name, title=said["title"], author=said["ownerName"], stamped=_day(said["dateCreated"]))
    losses = Losses()
    return LaidOut(_blocks(root, said["title"], losses), facts, upload.name, rules, losses)


def _blocks(root: Element, title: str, losses: Losses) -> Iterator[Block]:
    if title:
        yield Block(kind="heading", text=title, level=1)
    body = root.find("body")
    waiting = [(each, 0) for each in reversed(body if body is not None else [])]
    while waiting:
        item, level = waiting.pop()
        if item.tag != "outline":
            continue
        if level > _DEEPEST:
            losses.note("part")
            continue
        yield from _item(item, level)
        waiting += [(each, level + 1) for each in reversed(item)]


def _item(item: Element, level: int) -> Iterator[Block]:
    text = _line(item.get("text")) or _line(item.get("title"))
    addresses = dict.fromkeys(filter(None, (_line(item.get(name)) for name in _ADDRESSES)))
    states = {"checked": "☒", "true": "☒", "unchecked": "☐", "indeterminate": "☐", "false": "☐"}
    mark = states.get(item.get("_status") or item.get("checked") or item.get("_complete") or "", "•")
    shown = " ".join(filter(None, (text, f"({', '.join(addresses)})" if addresses else "")))
    if shown:
        yield Block(kind="item", text=shown, level=level, marker=mark)
    for name in _NOTES:
        for line in (item.get(name) or "").splitlines():
            if line.strip():
                yield Block(kind="paragraph", text=_line(line))


def _day(said: str) -> str:
    """Return the day of a date such as "Tue, 05 May 2020 10:00:00 GMT"; any other as it is said."""
    try:
        return f"{parsedate_to_datetime(said):%Y-%m-%d}"
    except (ValueError, TypeError, IndexError, OverflowError):
        return said


def _line(text: str | None) -> str:
    return " ".join(clean(text or "").split())
