"""Facts of a document as they are found: its author in metadata, and the day that it is about.

All of it is hostile text, so that what is returned is short, on one line, and a day of the calendar or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime

from docmind.documents.placeholders import is_placeholder

_TOOL_AUTHOR = re.compile(  # beside what stands for any value that nobody gave
    r"\W*(python-docx|openpyxl|(microsoft|windows|ms)?\s*(office\s*)?user|usu[aá]rio|usuario|admin(istrat\w+)?|owner|root|"
    r"author|autor|pc|hp|dell|lenovo)\W*",
    re.IGNORECASE,
)
_EARLIEST, _LATEST = 1_000, 2_200  # years
_LONGEST_ID, _MOST_IDS = 250, 15  # characters of the id of a mail, and ids of one
_FRONT = 4_000  # characters of a front page that are looked at

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january january jan janeiro enero ene januar janvier",
            "february feb fevereiro fev febrero februar février",
            "march mar março marzo märz mars",
            "april apr abril abr avril",
            "may mai maio mayo",
            "june jun junho junio juni juin",
            "july jul julho julio juli juillet",
            "august aug agosto ago août",
            "september sep sept setembro set septiembre septembre",
            "october oct outubro out octubre oktober okt octobre",
            "november nov novembro noviembre novembre",
            "december dec dezembro dez diciembre dic dezember décembre",
        ),
        1,
    )
    for name in names.split()
}
_NAMES = "|".join(sorted(_MONTHS, key=len, reverse=True))
_PDF = re.compile(r"D:(\d{4})(\d\d)(\d\d)")
_ISO = re.compile(r"(?<!\d)(\d{4})([-/._ ]?)(\d\d)\2(\d\d)(?!\d)")
_NUMBERS = re.compile(r"(?<![\d.,/-])(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?!\d)")
_DAY_FIRST = re.compile(
    rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th|º|ª|er|\.)?\s+(?:de\s+|of\s+)?({_NAMES})\b\.?,?\s+(?:de\s+|del\s+)?(\d{{4}})(?!\d)",
    re.IGNORECASE,
)
_MONTH_FIRST = re.compile(rf"\b({_NAMES})\b\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})(?!\d)", re.IGNORECASE)


def author_of(raw: str) -> str:
    """Return the author that metadata name; "" where a tool wrote a name of its own there."""
    is_none = is_placeholder(raw) or _TOOL_AUTHOR.fullmatch(raw) or sum(map(str.isalpha, raw)) < 2
    return "" if is_none else raw


def day_of(raw: str) -> str:
    """Return the day of a date in metadata, such as `D:20240331…` or `2024-03-31T…`, as 2024-03-31; "" for none."""
    for pattern in (_PDF, _ISO):
        if found := pattern.match(raw):
            year, month, day = found[1], *found.groups()[-2:]
            return _day(int(year), int(month), int(day))
    return ""


def moment_of(raw: str) -> str:
    """Return a time in ISO 8601 in UTC, as 2025-06-02T08:12:00Z; one without a zone is in UTC. "" for none."""
    try:
        found = datetime.fromisoformat(raw)
        moment = (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}" if _EARLIEST <= moment.year <= _LATEST else ""


def ids_of_mails(raw: str) -> str:
    """Return the ids of mails that a text names, parted by spaces: the first one, and the last ones of many."""
    found = list(
        dict.fromkeys(one for one in raw.replace("<", " ").replace(">", " ").split() if len(one) <= _LONGEST_ID)
    )
    return " ".join([*found[:1], *found[1:][-_MOST_IDS:]])


def day_in_name(name: str) -> str:
    """Return the first day in the name of a file as 2024-03-31, "" where none is."""
    return _first(name, (_ISO, _iso), (_NUMBERS, _numbers))


def day_on_page(text: str) -> str:
    """Return the first day that a front page names as 2024-03-31, "" where none is.

    A day in numbers whose order cannot be told, such as 03/04/2024, is none.
    """
    ways = ((_DAY_FIRST, _day_first), (_MONTH_FIRST, _month_first), (_ISO, _iso), (_NUMBERS, _numbers))
    return _first(text[:_FRONT], *ways)


def _first(text: str, *ways: tuple[re.Pattern[str], Callable[[re.Match[str]], str]]) -> str:
    def days() -> Iterator[tuple[int, str]]:
        for pattern, made in ways:
            for found in pattern.finditer(text):
                if day := made(found):
                    yield found.start(), day
                    break

    return min(days(), default=(0, ""))[1]


def _iso(found: re.Match[str]) -> str:
    return _day(int(found[1]), int(found[3]), int(found[4]))


def _numbers(found: re.Match[str]) -> str:
    first, second, year = int(found[1]), int(found[3]), int(found[4])
    if found[2] == "." or first > 12 or first == second:
        return _day(year, second, first)
    return _day(year, first, second) if second > 12 else ""


def _day_first(found: re.Match[str]) -> str:
    return _day(int(found[3]), _MONTHS[found[2].lower()], int(found[1]))


def _month_first(found: re.Match[str]) -> str:
    return _day(int(found[3]), _MONTHS[found[1].lower()], int(found[2]))


def _day(year: int, month: int, day: int) -> str:
    if not _EARLIEST <= year <= _LATEST:
        return ""
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""
