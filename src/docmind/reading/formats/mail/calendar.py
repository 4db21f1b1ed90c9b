"""Invitations: what, when, where and who, of the iCalendar text that comes with them (RFC 5545)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from docmind.blocks import Block
from docmind.reading.formats.characters import tidy
from docmind.reading.formats.mail.headers import shown_day, shown_people, shown_span
from docmind.reading.formats.mail.letter import fields_of

_MOST_EVENTS, _MOST_LINES = 100, 20_000
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)?(Z)?)?")
_LENGTH = re.compile(r"P(?:(\d{1,3})W)?(?:(\d{1,4})D)?(?:T(?:(\d{1,4})H)?(?:(\d{1,5})M)?(?:\d{1,6}S)?)?")
_ESCAPED = re.compile(r"\\(.)")
_PARAMETERS = re.compile(r';([\w-]{1,60})=("[^"]*"|[^;:"]*)')
_ACTIONS = {"CANCEL": "Cancelled", "REPLY": "Answer to an invitation", "COUNTER": "Proposal of another time"}
_ANSWERS = {"ACCEPTED": "accepted", "DECLINED": "declined", "TENTATIVE": "tentative"}


@dataclass(slots=True)
class _Property:
    value: str
    parameters: dict[str, str]


@dataclass(slots=True)
class _Event:
    """The properties of an event by name; of those that repeat, all."""

    said: dict[str, list[_Property]] = field(default_factory=dict)

    def one(self, name: str) -> _Property | None:
        return self.said.get(name, [None])[0]

    def text(self, name: str) -> str:
        found = self.one(name)
        return _text(found.value) if found is not None else ""


def blocks_of_invitation(text: str) -> Iterator[Block]:
    """Yield lines for each event of an invitation: what, when, where and who."""
    lines = _unfolded(text)
    method = next((line.partition(":")[2].strip().upper() for line in lines if line.upper().startswith("METHOD:")), "")
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


def _unfolded(text: str) -> list[str]:
    return re.sub(r"\r?\n[ \t]", "", text.replace("\r\n", "\n")).split("\n")[:_MOST_LINES]


def _events(lines: Sequence[str]) -> Iterator[_Event]:
    event: _Event | None = None
    inner = count = 0
    for line in lines:
        head = line.strip().upper()
        if head in ("BEGIN:VEVENT", "BEGIN:VTODO"):
            event, inner = _Event(), 0
        elif event is not None and head in ("END:VEVENT", "END:VTODO"):
            yield event
            event, count = None, count + 1
            if count >= _MOST_EVENTS:
                return
        elif head.startswith("BEGIN:"):
            inner += 1  # an alarm
        elif head.startswith("END:"):
            inner -= 1
        elif event is not None and inner == 0:
            found = re.match(r'([\w-]{1,60})((?:;[\w-]{1,60}=(?:"[^"]*"|[^;:"]*))*):(.*)', line)
            if found:
                parameters = {name.upper(): value.strip('"') for name, value in _PARAMETERS.findall(found[2])}
                event.said.setdefault(found[1].upper(), []).append(_Property(found[3], parameters))


def _text(value: str) -> str:
    said = _ESCAPED.sub(lambda found: "\n" if found[1] in "nN" else found[1], value)
    return " ".join(tidy(said).split())


def _moment(found: _Property | None) -> tuple[datetime | None, bool]:
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
    until, _is_day = _moment(_Property(parts.get("UNTIL", ""), {}))
    if said and parts.get("INTERVAL", "1") != "1":
        said += f", each {parts['INTERVAL'][:4]}th time"
    if said and parts.get("COUNT"):
        said += f", {parts['COUNT'][:6]} times"
    return f"{said} until {shown_day(until)}" if said and until is not None else said


def _people(found: Sequence[_Property]) -> list[tuple[str, str]]:
    return [
        (_text(one.parameters.get("CN", "")), re.sub(r"^mailto:", "", one.value.strip(), flags=re.I)) for one in found
    ]


def _answered(found: Sequence[_Property]) -> Iterator[str]:
    for person, one in zip(_people(found), found, strict=True):
        answer = _ANSWERS.get(one.parameters.get("PARTSTAT", "").upper(), "")
        yield shown_people([person]) + (f" ({answer})" if answer else "")
