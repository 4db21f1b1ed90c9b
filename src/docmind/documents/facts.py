"""Facts of a document as the metadata of its file give them: its author, days, moments and ids.

All of it is hostile text, so that what is returned is short, on one line, and a day of the calendar or nothing.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from docmind.documents.placeholders import is_placeholder
from docmind.language import day_text

_TOOL_AUTHOR = re.compile(  # beside what stands for any value that nobody gave
    r"\W*+(python-docx|openpyxl|((microsoft|windows|ms)\s*+)?(office\s*+)?user|usu[aá]rio|usuario|admin(istrat\w+)?|owner|root|"
    r"author|autor|pc|hp|dell|lenovo)\W*",
    re.IGNORECASE,
)
_EARLIEST, _LATEST = 1_000, 2_200  # years
_LONGEST_ID, _MOST_IDS = 250, 15  # characters of the id of a mail, and ids of one
_PDF = re.compile(r"D:(\d{4})(\d\d)(\d\d)")
_ISO = re.compile(r"(?<!\d)(\d{4})([-/._ ]?)(\d\d)\2(\d\d)(?!\d)")


def author_of(raw: str) -> str:
    """Return the author that metadata name; "" where a tool wrote a name of its own there."""
    is_none = is_placeholder(raw) or _TOOL_AUTHOR.fullmatch(raw) or sum(map(str.isalpha, raw)) < 2
    return "" if is_none else raw


def day_of(raw: str) -> str:
    """Return the day of a date in metadata, such as `D:20240331…` or `2024-03-31T…`, as 2024-03-31; "" for none."""
    for pattern in (_PDF, _ISO):
        if found := pattern.match(raw):
            year, month, day = found[1], *found.groups()[-2:]
            return day_text(int(year), int(month), int(day))
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
