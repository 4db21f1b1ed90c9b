"""Contacts in vCard files, as phones and address books write them: one table, a person or group a row."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docmind.blocks import Block, Cell, Losses, Table
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.content_lines import Line, lines_of
from docmind.reading.formats.text import decode
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Upload

_COLUMNS = (
    "Name", "Organisation", "Title", "Phone", "E-mail", "Address", "Birthday", "Anniversary", "Web", "Messages",
    "Nickname", "Categories", "Members", "Related", "Note", "Other",
)  # fmt: skip
_OF = {
    "ORG": "Organisation", "TITLE": "Title", "ROLE": "Title", "TEL": "Phone", "EMAIL": "E-mail", "ADR": "Address",
    "LABEL": "Address", "BDAY": "Birthday", "ANNIVERSARY": "Anniversary", "X-ANNIVERSARY": "Anniversary", "URL": "Web",
    "IMPP": "Messages", "X-SOCIALPROFILE": "Messages", "X-SKYPE": "Messages", "X-JABBER": "Messages",
    "NICKNAME": "Nickname", "CATEGORIES": "Categories", "MEMBER": "Members", "X-ADDRESSBOOKSERVER-MEMBER": "Members",
    "RELATED": "Related", "X-ABRELATEDNAMES": "Related", "NOTE": "Note", "GENDER": "Other", "LANG": "Other",
}  # fmt: skip
_PICTURES = frozenset(("PHOTO", "LOGO"))
_MEDIA = frozenset(("SOUND",))
_KINDS = re.compile(r"home|work|cell|mobile|fax|pager|main|car|other|assistant|company|private|iphone", re.I)
_DAY = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T.*)?")
_YEARLESS = re.compile(r"--(\d\d)-?(\d\d)")


def open_vcard(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open contacts. Raises `TooLargeError` or `EmptyFileError`."""
    losses = Losses()
    return LaidOut(_blocks(decode(upload, rules), losses), facts_of(upload.name), upload.name, rules, losses)


def _blocks(text: str, losses: Losses) -> Iterator[Block | Table]:
    cards = [_said(card, losses) for card in _cards(text)]
    columns = [name for name in _COLUMNS if any(card.get(name) for card in cards)]
    if columns:
        rows = [[_cell(card.get(name, []), name) for name in columns] for card in cards if card]
        yield Table(rows=[list(columns), *rows], header_rows=1, header_columns=1 if columns[0] == "Name" else 0)


def _cards(text: str) -> Iterator[list[Line]]:
    """Yield the lines of each card; a card within a card belongs to it."""
    card: list[Line] = []
    depth = 0
    for line in lines_of(text):
        if line.name == "BEGIN":
            depth += 1
        elif line.name == "END":
            depth = max(depth - 1, 0)
            if not depth:
                yield card
                card = []
        elif depth == 1:
            card.append(line)
    if card:
        yield card


def _said(card: list[Line], losses: Losses) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    names = {line.name: line for line in reversed(card) if line.name in ("FN", "N", "ORG")}
    name = names["FN"].text if "FN" in names else ""
    if not name and "N" in names:
        family, given, further, before, after = (*names["N"].parts(), "", "", "", "", "")[:5]
        name = " ".join(filter(None, (before, given, further, family, after)))
    if name:
        found["Name"] = [name]
    for line in card:
        if line.name in _PICTURES and line.value:
            losses.note("picture")
        elif line.name in _MEDIA:
            losses.note("media")
        elif line.name in _OF and (text := _value(line)):
            into = found.setdefault(_OF[line.name], [])
            if text not in into:
                into.append(text)
    return found


def _value(line: Line) -> str:
    if line.name in ("ADR", "ORG"):
        parts = line.parts()
        if line.name == "ADR" and len(parts) >= 7:
            box, further, street, city, region, code, country = parts[:7]
            parts = [box, street, further, " ".join(filter(None, (code, city))), region, country]
        text = ", ".join(filter(None, parts))
    elif line.name in ("CATEGORIES", "NICKNAME"):
        text = ", ".join(filter(None, line.listed()))
    elif line.name in ("BDAY", "ANNIVERSARY", "X-ANNIVERSARY"):
        text = _day(line.text)
    else:
        text = re.sub(r"^(?:tel|mailto):", "", line.text)
    kinds = dict.fromkeys(each.lower() for each in _KINDS.findall(line.parameters.get("TYPE", "")))
    return f"{text} ({', '.join(kinds)})" if text and kinds and line.name in ("TEL", "EMAIL", "ADR", "URL") else text


def _day(text: str) -> str:
    if found := _DAY.fullmatch(text.strip()):
        return "-".join(found.groups()[:3])
    found = _YEARLESS.fullmatch(text.strip())
    return f"{found[1]}-{found[2]}" if found else text


def _cell(values: list[str], name: str) -> Cell | str:
    text = "; ".join(values)
    is_day = name in ("Birthday", "Anniversary") and bool(_DAY.fullmatch(text))
    return Cell(text, type="date") if is_day else text
