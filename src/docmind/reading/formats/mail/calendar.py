"""Invitations: what, when, where and who, of the iCalendar text that comes with them (RFC 5545)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice

from docmind.blocks import Block
from docmind.reading.formats.characters import tidy
from docmind.reading.formats.content_lines import Line, lines_of, unescaped
from docmind.reading.formats.mail.headers import shown_day, shown_people, shown_span
from docmind.reading.formats.mail.letter import fields_of

_MOST_EVENTS, _MOST_LINES = 100, 20_000
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)?(Z)?)?")
_LENGTH = re.compile(r"P(?:(\d{1,3})W)?(?:(\d{1,4})D)?(?:T(?:(\d{1,4})H)?(?:(\d{1,5})M)?(?:\d{1,6}S)?)?")
_ACTIONS = {"CANCEL": "Cancelled", "REPLY": "Answer to an invitation", "COUNTER": "Proposal of another time"}
_ANSWERS = {"ACCEPTED": "accepted", "DECLINED": "declined", "TENTATIVE": "tentative"}


@dataclass(slots=True)
class _Event:
    """The lines of an event by name; of those that repeat, all."""

    said: dict[str, list[Line]] = field(default_factory=dict)

    def one(self, name: str) -> Line | None:
        return self.said.get(name, [None])[0]

    def text(self, name: str) -> str:
        found = self.one(name)
        return _text(found.value) if found is not None else ""


def blocks_of_invitation(text: str) -> Iterator[Block]:
    """Yield lines for each event of an invitation: what, when, where and who."""
    lines = list(islice(lines_of(text), _MOST_LINES))
    method = next((line.value.strip().upper() for line in lines if line.name == "METHOD"), "")
    for event in _events(lines):
        yield from fields_of(
            {
                _ACTIONS.get(method, "Event"): event.text("SUMMARY") or "without a title",
                "When": _when(event),
                "Repeats": _repeats(event),
                "Where": event.text("LOCATION"),
                "Organiser": shown_people(_people(event.said.get("ORGANIZER", []))),
                "Invited": ", ".join(_answered(event.said.get("ATTENDEE", []))),
                "Description": event.text("DESCRIPTION"),
            }
        )


def _events(lines: Iterable[Line]) -> Iterator[_Event]:
    event: _Event | None = None
    inner = count = 0
    for line in lines:
        is_event = line.value.strip().upper() in ("VEVENT", "VTODO")
        if line.name == "BEGIN" and is_event:
            event, inner = _Event(), 0
        elif event is not None and line.name == "END" and is_event:
            yield event
            event, count = None, count + 1
            if count >= _MOST_EVENTS:
                return
        elif line.name == "BEGIN":
            inner += 1  # an alarm
        elif line.name == "END":
            inner -= 1
        elif event is not None and inner == 0:
            event.said.setdefault(line.name, []).append(line)


def _text(value: str) -> str:
    return " ".join(tidy(unescaped(value)).split())


def _moment(found: Line | None) -> tuple[datetime | None, bool]:
    """Return the time of a property, and whether it is a whole day."""
    match = _TIME.match(found.value.strip()) if found is not None else None
    if match is None:
        return None, False
    year, month, day, hour, minute = (int(part or 0) for part in match.groups()[:5])
    try:
        return datetime(year, month, day, hour, minute, tzinfo=UTC if match[7] else None), match[4] is None
    except ValueError:
        return None, False


def _when(event: _Event) -> str:
    begin, is_day = _moment(event.one("DTSTART"))
    end, _is_day = _moment(event.one("DTEND") or event.one("DUE"))
    length = _LENGTH.fullmatch(event.text("DURATION"))
    if begin is None:
        return ""
    try:
        if end is None and length and any(length.groups()):
            weeks, days, hours, minutes = (int(part or 0) for part in length.groups())
            end = begin + timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes)
        if is_day and end is not None:
            end -= timedelta(days=1)  # the day after the last one is named
    except OverflowError:
        end = None
    if is_day:
        return (
            shown_day(begin) if end is None or end.date() <= begin.date() else f"{shown_day(begin)} to {shown_day(end)}"
        )
    start = event.one("DTSTART")
    zone = "" if start is None else start.parameters.get("TZID", "")
    said = shown_span(begin, end)
    return f"{said} ({' '.join(tidy(zone).split())[:80]})" if zone and begin.tzinfo is None else said


def _repeats(event: _Event) -> str:
    rule = event.one("RRULE")
    parts = dict(part.split("=", 1) for part in rule.value.split(";") if "=" in part) if rule is not None else {}
    said = {"YEARLY": "every year", "MONTHLY": "every month", "WEEKLY": "every week", "DAILY": "every day"}.get(
        parts.get("FREQ", "").upper(), ""
    )
    until, _is_day = _moment(Line("UNTIL", value=parts.get("UNTIL", "")))
    if said and parts.get("INTERVAL", "1") != "1":
        said += f", each {parts['INTERVAL'][:4]}th time"
    if said and parts.get("COUNT"):
        said += f", {parts['COUNT'][:6]} times"
    return f"{said} until {shown_day(until)}" if said and until is not None else said


def _people(found: Sequence[Line]) -> list[tuple[str, str]]:
    return [
        (_text(one.parameters.get("CN", "")), re.sub(r"^mailto:", "", one.value.strip(), flags=re.I)) for one in found
    ]


def _answered(found: Sequence[Line]) -> Iterator[str]:
    for person, one in zip(_people(found), found, strict=True):
        answer = _ANSWERS.get(one.parameters.get("PARTSTAT", "").upper(), "")
        yield shown_people([person]) + (f" ({answer})" if answer else "")
