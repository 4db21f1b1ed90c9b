"""Invitations: what, when, where and who, of the iCalendar text that comes with them (RFC 5545)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from docmind.blocks import Block
from docmind.reading.formats.calendar_times import end_of, in_words, moment_of, zone_of
from docmind.reading.formats.characters import tidy
from docmind.reading.formats.content_lines import Line, lines_of, unescaped
from docmind.reading.formats.mail.headers import shown_day, shown_people, shown_span
from docmind.reading.formats.mail.letter import fields_of

_MOST_EVENTS, _MOST_LINES = 100, 20_000
_LONGEST_ZONE = 80  # characters of its name
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


def _when(event: _Event) -> str:
    start = event.one("DTSTART")
    begin = moment_of(start)
    if begin is None:
        return ""
    end = end_of(begin, event.one("DTEND") or event.one("DUE"), event.one("DURATION"))
    if not isinstance(begin, datetime):
        return shown_day(begin) if end is None or end <= begin else f"{shown_day(begin)} to {shown_day(end)}"
    said = shown_span(begin, end if isinstance(end, datetime) else None)
    zone = " ".join(tidy(zone_of(start)).split())[:_LONGEST_ZONE]
    return f"{said} ({zone})" if zone and begin.tzinfo is None else said


def _repeats(event: _Event) -> str:
    rule = event.one("RRULE")
    return "" if rule is None else in_words(_text(rule.value), shown_day)


def _people(found: Sequence[Line]) -> list[tuple[str, str]]:
    return [
        (_text(one.parameters.get("CN", "")), re.sub(r"^mailto:", "", one.value.strip(), flags=re.I)) for one in found
    ]


def _answered(found: Sequence[Line]) -> Iterator[str]:
    for person, one in zip(_people(found), found, strict=True):
        answer = _ANSWERS.get(one.parameters.get("PARTSTAT", "").upper(), "")
        yield shown_people([person]) + (f" ({answer})" if answer else "")
