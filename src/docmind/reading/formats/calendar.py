"""Calendars in iCalendar files: events, tasks and entries as tables, with the days as dates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from docmind.blocks import Block, Cell, Losses, Table
from docmind.reading.formats import Rules, facts_of
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
_STAMP = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)?(Z)?)?")
_SPAN = re.compile(r"[+-]?P(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,5})M)?(?:(\d{1,6})S)?)?")
_EVERY = {"SECONDLY": "second", "MINUTELY": "minute", "HOURLY": "hour", "DAILY": "day", "WEEKLY": "week",
          "MONTHLY": "month", "YEARLY": "year"}  # fmt: skip
_WEEKDAYS = {"MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday", "SA": "Saturday",
             "SU": "Sunday"}  # fmt: skip
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
            said["Done"] = _day(_moment(line.value))
        elif line.name == "DUE":
            said["Due"] = _day(_moment(line.value))
        elif line.name == "RRULE":
            said["Repeats"] = _repeats(line.value)
        elif line.name == "ATTACH":
            losses.note("embedded_object")
    if people:
        said["With"] = ", ".join(dict.fromkeys(filter(None, people)))
    return said | _when({line.name: line for line in reversed(entry.lines)})


def _when(lines: dict[str, Line]) -> dict[str, str]:
    """Return the day, the time of day, and the last day where that is another one, of an entry."""
    start = _moment(lines["DTSTART"].value) if "DTSTART" in lines else None
    if start is None:
        return {}
    end = _moment(lines["DTEND"].value) if "DTEND" in lines else None
    if end is None and "DURATION" in lines and (found := _SPAN.fullmatch(lines["DURATION"].value.strip())):
        weeks, days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
        span = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
        end = _later(start, span)
    if not isinstance(start, datetime):
        last = _later(end, timedelta(days=-1)) if end is not None and not isinstance(end, datetime) else None
        return {"Date": _day(start), "Until": _day(last) if last is not None and last > start else ""}
    zone = lines["DTSTART"].parameters.get("TZID", "") or (
        "UTC" if lines["DTSTART"].value.strip().endswith("Z") else ""
    )
    times = f"{start:%H:%M}"
    ends_later = isinstance(end, datetime) and end > start
    if ends_later:
        times += f"–{end:%H:%M}"
    until = _day(end) if ends_later and end is not None and _day(end) != _day(start) else ""
    return {"Date": _day(start), "Time": f"{times} ({zone})" if zone else times, "Until": until}


def _later(moment: date | datetime, span: timedelta) -> date | datetime | None:
    try:
        return moment + span
    except OverflowError:
        return None


def _moment(value: str) -> date | datetime | None:
    found = _STAMP.fullmatch(value.strip())
    if found is None:
        return None
    year, month, day = (int(part) for part in found.groups()[:3])
    try:
        if found[4] is None:
            return date(year, month, day)
        # A time of day in the zone that the file names.
        return datetime(year, month, day, int(found[4]), int(found[5]), min(int(found[6] or 0), 59))  # noqa: DTZ001
    except ValueError:
        return None


def _day(moment: date | datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment is not None and moment.year >= 1000 else ""


def _person(line: Line) -> str:
    name = " ".join(line.parameters.get("CN", "").split())
    address = re.sub(r"^mailto:", "", line.text, flags=re.I)
    return f"{name} <{address}>" if name and address and name != address else name or address


def _repeats(rule: str) -> str:
    """Return a rule of repetition in words: every 2 weeks on Monday, Friday, until 2026-05-31."""
    said = {name.upper(): value for name, _equals, value in (part.partition("=") for part in rule.split(";"))}
    unit = _EVERY.get(said.get("FREQ", "").upper(), "")
    if not unit:
        return rule[:200]
    often = said.get("INTERVAL", "1")
    words = [f"every {unit}" if often == "1" else f"every {often} {unit}s"]
    if days := said.get("BYDAY"):
        words.append("on " + ", ".join(_weekday(day) for day in days.split(",")))
    if days := said.get("BYMONTHDAY"):
        words.append(f"on day {days.replace(',', ', ')}")
    if months := said.get("BYMONTH"):
        words.append(f"in month {months.replace(',', ', ')}")
    if count := said.get("COUNT"):
        words[-1] += f", {count} times"
    if (until := _moment(said.get("UNTIL", ""))) is not None:
        words.append(f"until {_day(until)}")
    return " ".join(words)[:300]


def _weekday(said: str) -> str:
    number, name = said.strip()[:-2], _WEEKDAYS.get(said.strip()[-2:].upper(), said)
    order = {"1": "first ", "2": "second ", "3": "third ", "4": "fourth ", "5": "fifth ", "-1": "last "}
    return f"{order.get(number.lstrip('+'), number)}{name}"


def _cell(text: str, column: str) -> Cell | str:
    return Cell(text, type="date") if text and column in _DAYS else text
