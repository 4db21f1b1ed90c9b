"""Headers of mails as a mail program shows them: encoded words decoded, addresses with their names, times in words."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from itertools import groupby

from docmind.reading.formats.characters import mended, tidy
from docmind.reading.formats.text import declared_text

_LONGEST = 32 * 1024  # characters of a header that are read
_MOST = 1_000  # addresses of a header that are shown
_WORD = re.compile(r"=\?([\w.:+-]{1,40})(?:\*[\w-]{0,20})?\?([bq])\?([^?\r\n]*)\?=", re.I)
_BETWEEN = re.compile(r"(\?=)[ \t\r\n]+(?==\?)")  # white space between encoded words is none
_ESCAPED = re.compile(rb"=([0-9A-Fa-f]{2})")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def raw_header(message: Message, name: str) -> str:
    """Return the first header of a name as it stands in the file, bytes beyond ASCII decoded; "" where there is none.

    Several headers `To` or `Cc` are joined with commas, as if they were one.
    """
    found: list[str] = []
    for key, value in message.raw_items():
        if key.lower() == name.lower():
            found.append(str(value))
            if name not in ("To", "Cc", "Bcc"):
                break
    return plain_of(", ".join(found))


def plain_of(raw: str) -> str:
    """Return a header on one line; bytes that the parser kept as surrogates are decoded by their letters."""
    data = raw[:_LONGEST].encode("utf-8", "surrogateescape")
    return " ".join(declared_text(data, "").split())


def words_of(raw: str) -> str:
    """Return the text of a header with its encoded words decoded, also where a character is split between two."""
    if "=?" in raw:
        raw = _decoded(_BETWEEN.sub(r"\1", raw))
    return " ".join(tidy(mended(raw)).split())


def _decoded(raw: str) -> str:
    parts: list[tuple[str, bytes | str]] = []
    last = 0
    for word in _WORD.finditer(raw):
        if word.start() > last:
            parts.append(("", raw[last : word.start()]))
        parts.append((word[1].lower(), _bytes_of(word)))
        last = word.end()
    parts.append(("", raw[last:]))
    said: list[str] = []
    for charset, group in groupby(parts, key=lambda part: part[0]):
        together = [part for _charset, part in group]
        if charset:
            said.append(declared_text(b"".join(part for part in together if isinstance(part, bytes)), charset))
        else:
            said += [part for part in together if isinstance(part, str)]
    return "".join(said)


def _bytes_of(word: re.Match[str]) -> bytes:
    data = word[3].encode("utf-8", "surrogateescape")
    if word[2] in "qQ":
        return _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), data.replace(b"_", b" "))
    try:
        bare = re.sub(rb"[^A-Za-z0-9+/]", b"", data)
        return base64.b64decode(bare + b"=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return data


def people_of(raw: str) -> list[tuple[str, str]]:
    """Return name and address of each person in a header; an address is "" where none can be told."""
    try:
        found = [(words_of(name), words_of(address)) for name, address in getaddresses([raw[:_LONGEST]])]
    except (RecursionError, ValueError, IndexError, TypeError):
        found = []
    people: list[tuple[str, str]] = []
    before = ""  # of a name with a comma that is not in quotes: `Lind, Jo <jo@lind.example>`
    for name, address in found:
        if "@" not in address and not name and address:
            before = f"{before}{address}, "
        elif name or address:
            people.append((before + _unquoted(name) if name else before.rstrip(", "), address))
            before = ""
    people += [(before.rstrip(", "), "")] if before else []
    if not any("@" in address for _name, address in people):
        said = words_of(raw)
        return [(_unquoted(said), "")] if said else []
    return people


def _unquoted(name: str) -> str:
    name = name.strip().strip("\"'").strip()
    return "" if name == "=" else name


def shown_person(name: str, address: str) -> str:
    """Return a person as a mail program shows them: `Jo Lind <jo@lind.example>`."""
    if name and address and name.casefold() != address.casefold():
        return f"{name} <{address}>"
    return address or name


def shown_people(people: Sequence[tuple[str, str]]) -> str:
    """Return several people in one line, those above 1,000 as their number."""
    said = [shown_person(*one) for one in people[:_MOST]]
    more = len(people) - len(said)
    return ", ".join([*said, f"{more} more"] if more else said)


def moment_of(raw: str) -> datetime | None:
    """Return the time that a `Date` header names; None where it cannot be told."""
    try:
        return parsedate_to_datetime(raw)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def shown_moment(moment: datetime) -> str:
    """Return a time in words: `Monday, 2 June 2025, 09:12 (+01:00)`."""
    said = f"{_DAYS[moment.weekday()]}, {moment.day} {_MONTHS[moment.month - 1]} {moment.year:04d}, {moment:%H:%M}"
    apart = moment.utcoffset()
    if apart is None:
        return said
    minutes = abs(apart) // timedelta(minutes=1)
    sign = "-" if apart < timedelta(0) else "+"
    return f"{said} (UTC)" if not minutes else f"{said} ({sign}{minutes // 60:02d}:{minutes % 60:02d})"


def shown_span(begin: datetime, end: datetime | None) -> str:
    """Return when something begins and ends in words: `Tuesday, 17 June 2025, 09:00 to 10:30 (UTC)`."""
    said = shown_moment(begin)
    if end is None or end == begin:
        return said
    if end.date() != begin.date() or end.utcoffset() != begin.utcoffset():
        return f"{said} to {shown_moment(end)}"
    return said.replace(f"{begin:%H:%M}", f"{begin:%H:%M} to {end:%H:%M}", 1)


def shown_day(moment: date) -> str:
    """Return a day in words: `Monday, 2 June 2025`."""
    return f"{_DAYS[moment.weekday()]}, {moment.day} {_MONTHS[moment.month - 1]} {moment.year:04d}"


def ids_of(raw: str) -> Iterator[str]:
    """Yield the ids of mails that a header names."""
    for found in re.finditer(r"<([^<>\s]{1,250})>", raw):
        yield found[1]
