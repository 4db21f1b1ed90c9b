"""Calendars in iCalendar files: events, tasks and entries as tables, with the days as dates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime

from docmind.blocks import Block, Cell, Losses, Table
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.calendar_times import end_of, in_words, moment_of, zone_of
from docmind.reading.formats.content_lines import Line, lines_of
from docmind.reading.formats.text import decode
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Upload

_TABLES = {"VEVENT": "Events", "VTODO": "Tasks", "VJOURNAL": "Entries", "VFREEBUSY": "Busy"}
_COLUMNS = (
    "Date", "Time", "Until", "Due", "Title", "Place", "Organizer", "With", "Repeats", "Status", "Done", "Categories",
    "Description", "Web",
)  # fmt: skip
_DAYS = frozenset(("Date", "Until", "Due", "Done"))
_OF = {
    "SUMMARY": "Title", "LOCATION": "Place", "DESCRIPTION": "Description", "CATEGORIES": "Categories", "URL": "Web",
    "COMMENT": "Description",
}  # fmt: skip
_DEEPEST = 10


@dataclass(slots=True)
class _Entry:
    kind: str
    lines: list[Line] = field(default_factory=list[Line])


def open_calendar(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a calendar. Raises `TooLargeError` or `EmptyFileError`."""
    losses = Losses()
    name, entries = _entries(decode(upload, rules))
    facts = facts_of(upload.name, title=name)
    return LaidOut(_blocks(name, entries, losses), facts, upload.name, rules, losses)


def _entries(text: str) -> tuple[str, list[_Entry]]:
    """Return the name of a calendar, and its entries; what stands within an entry, such as an alarm, is left out."""
    name, found = "", list[_Entry]()
    within: list[str] = []
    for line in lines_of(text):
        if line.name == "BEGIN":
            if len(within) < _DEEPEST:
                within.append(line.value.strip().upper())
            if within[-1] in _TABLES:
                found.append(_Entry(within[-1]))
        elif line.name == "END":
            within = within[:-1]
        elif within and within[-1] in _TABLES:
            found[-1].lines.append(line)
        elif line.name in ("X-WR-CALNAME", "NAME"):
            name = name or line.text
    return name, found


def _blocks(name: str, entries: list[_Entry], losses: Losses) -> Iterator[Block | Table]:
    if name:
        yield Block(kind="heading", text=name, level=1)
    for kind, caption in _TABLES.items():
        rows = [_said(entry, losses) for entry in entries if entry.kind == kind]
        columns = [column for column in _COLUMNS if any(row.get(column) for row in rows)]
        if columns:
            rows.sort(key=lambda row: (row.get("Date") or row.get("Due") or "9999", row.get("Time", "")))
            cells = [[_cell(row.get(column, ""), column) for column in columns] for row in rows]
            yield Table(rows=[list(columns), *cells], header_rows=1, caption=caption)


def _said(entry: _Entry, losses: Losses) -> dict[str, str]:
    said: dict[str, str] = {}
    people: list[str] = []
    for line in entry.lines:
        if line.name in _OF and line.text:
            text = ", ".join(filter(None, line.listed())) if line.name == "CATEGORIES" else line.text
            said[_OF[line.name]] = "; ".join(filter(None, (said.get(_OF[line.name], ""), text)))
        elif line.name == "ATTENDEE":
            people.append(_person(line))
        elif line.name == "ORGANIZER":
            said["Organizer"] = _person(line)
        elif line.name == "STATUS":
            said["Status"] = line.text.replace("-", " ").lower()
        elif line.name == "COMPLETED":
            said["Done"] = _day(moment_of(line))
        elif line.name == "DUE":
            said["Due"] = _day(moment_of(line))
        elif line.name == "RRULE":
            said["Repeats"] = in_words(line.value, _day)
        elif line.name == "ATTACH":
            losses.note("embedded_object")
    if people:
        said["With"] = ", ".join(dict.fromkeys(filter(None, people)))
    return said | _when({line.name: line for line in reversed(entry.lines)})


def _when(lines: dict[str, Line]) -> dict[str, str]:
    """Return the day, the time of day, and the last day where that is another one, of an entry."""
    begin = moment_of(lines.get("DTSTART"))
    if begin is None:
        return {}
    end = end_of(begin, lines.get("DTEND"), lines.get("DURATION"))
    until = _day(end) if end is not None and end.isoformat() > begin.isoformat() else ""
    said = {"Date": _day(begin), "Until": until if until != _day(begin) else ""}
    if not isinstance(begin, datetime):
        return said
    times = f"{begin:%H:%M}–{end:%H:%M}" if until else f"{begin:%H:%M}"
    zone = zone_of(lines["DTSTART"]) or ("UTC" if begin.tzinfo is not None else "")
    return said | {"Time": f"{times} ({zone})" if zone else times}


def _day(moment: date | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment is not None and moment.year >= 1000 else ""


def _person(line: Line) -> str:
    name = " ".join(line.parameters.get("CN", "").split())
    address = re.sub(r"^mailto:", "", line.text, flags=re.I)
    return f"{name} <{address}>" if name and address and name != address else name or address


def _cell(text: str, column: str) -> Cell | str:
    return Cell(text, type="date") if text and column in _DAYS else text
