"""Times of iCalendar (RFC 5545): moments, lengths and repetitions, in calendars and in the invitations of mails."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from docmind.reading.formats.content_lines import Line

Moment = date | datetime
"""A whole day, or a time of day: in UTC where the file says so, else in the zone that `zone_of` names."""

_STAMP = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)?(Z)?)?")
_LENGTH = re.compile(r"([+-]?)P(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,5})M)?(?:(\d{1,6})S)?)?")
_EVERY = {"SECONDLY": "second", "MINUTELY": "minute", "HOURLY": "hour", "DAILY": "day", "WEEKLY": "week",
          "MONTHLY": "month", "YEARLY": "year"}  # fmt: skip
_WEEKDAYS = {"MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday", "SA": "Saturday",
             "SU": "Sunday"}  # fmt: skip
_ORDER = {"1": "first ", "2": "second ", "3": "third ", "4": "fourth ", "5": "fifth ", "-1": "last "}
_LONGEST = 300  # characters of a repetition in words


def moment_of(line: Line | None) -> Moment | None:
    """Return the moment that a line gives; None where there is no line or no such moment."""
    return None if line is None else _moment(line.value)


def zone_of(line: Line | None) -> str:
    """Return the name of the zone that a line gives its time in, "" for none."""
    return "" if line is None else line.parameters.get("TZID", "")


def end_of(begin: Moment, end: Line | None, length: Line | None) -> Moment | None:
    """Return when something ends, by its end or its length, of whole days the last one; None where neither is said."""
    last = moment_of(end)
    span = _length(length.value) if length is not None else None
    if last is None and span is not None:
        last = _later(begin, span)
    if isinstance(begin, datetime):
        return last if isinstance(last, datetime) else None
    # The day after the last one is named.
    return _later(last, timedelta(days=-1)) if last is not None and not isinstance(last, datetime) else None


def in_words(rule: str, shown: Callable[[date], str]) -> str:
    """Return a rule of repetition in words: every 2 weeks on Monday, Friday until 2026-05-31; `shown` tells a day."""
    said = {name.upper(): value for name, _equals, value in (part.partition("=") for part in rule.split(";"))}
    unit = _EVERY.get(said.get("FREQ", "").strip().upper(), "")
    if not unit:
        return rule[:_LONGEST]
    often = said.get("INTERVAL", "1").strip()
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
        words.append(f"until {shown(until)}")
    return " ".join(words)[:_LONGEST]


def _moment(value: str) -> Moment | None:
    found = _STAMP.fullmatch(value.strip())
    if found is None:
        return None
    year, month, day = (int(part) for part in found.groups()[:3])
    try:
        if found[4] is None:
            return date(year, month, day)
        second = min(int(found[6] or 0), 59)  # a leap second
        return datetime(year, month, day, int(found[4]), int(found[5]), second, tzinfo=UTC if found[7] else None)
    except ValueError:
        return None


def _length(value: str) -> timedelta | None:
    found = _LENGTH.fullmatch(value.strip())
    if found is None or not any(found.groups()[1:]):
        return None
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    span = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    return -span if found[1] == "-" else span


def _later(moment: Moment, span: timedelta) -> Moment | None:
    try:
        return moment + span
    except OverflowError:
        return None


def _weekday(said: str) -> str:
    number, name = said.strip()[:-2], _WEEKDAYS.get(said.strip()[-2:].upper(), said)
    return f"{_ORDER.get(number.lstrip('+'), number)}{name}"
