"""A mail as its reader sees it, whatever the file: who wrote it to whom and when, what it says, what is attached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import unquote

from docmind.blocks import Block, Losses, Picture
from docmind.documents import topic_of
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.characters import tidy
from docmind.reading.formats.figures import picture_at, picture_in
from docmind.reading.formats.mail.headers import shown_moment, shown_people, shown_person
from docmind.records.documents import Enclosed, Facts

MOST_ENCLOSED = 500
"""Files that are taken from one mail."""
_NAME_MAX = 150  # characters of the name of an attached file
_ENDS = {
    "text/plain": ".txt", "text/html": ".html", "text/csv": ".csv", "text/calendar": ".ics", "application/pdf": ".pdf",
    "image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/tiff": ".tiff", "image/webp": ".webp",
    "message/rfc822": ".eml", "application/zip": ".zip", "text/vcard": ".vcf", "text/x-vcard": ".vcf",
}  # fmt: skip

Person = tuple[str, str]
"""Name and address of a person, either of which may be ""."""


@dataclass(frozen=True, slots=True)
class Body:
    """A part of what a mail says. `is_flowed` and `is_delsp` are as of `format=flowed` (RFC 3676)."""

    kind: Literal["text", "html", "lines", "told"]
    text: str
    is_flowed: bool = False
    is_delsp: bool = False


class Pictures:
    """The pictures that belong to a page, by the addresses under which it shows them. They are looked at when shown."""

    def __init__(self) -> None:
        self._data: dict[str, Callable[[], bytes]] = {}

    def add(self, data: Callable[[], bytes], *addresses: str) -> None:
        """Add a picture under these addresses, of which "" is none."""
        for address in filter(None, addresses):
            self._data.setdefault(address, data)

    def join(self, others: Pictures) -> None:
        """Add those of another page."""
        self._data = others._data | self._data

    def get(self, address: str) -> Picture | None:
        """Return the picture at an address; None where there is none, or where it is not decoded."""
        found = self._data.get(address) or self._data.get(unquote(address))
        return picture_in(found()) if found is not None else picture_at(address)


@dataclass(slots=True)
class Letter:
    """A mail. `date` is the header as it stands where `sent` cannot be told from it, `meeting` an appointment."""

    subject: str = ""
    sender: Person = ("", "")
    behind: Person = ("", "")  # who sent it for the one that it is from
    to: Sequence[Person] = ()
    cc: Sequence[Person] = ()
    bcc: Sequence[Person] = ()
    sent: datetime | None = None
    date: str = ""
    message_id: str = ""
    refers_to: str = ""  # the ids of the mails before it, the first one first
    bodies: list[Body] = field(default_factory=list)
    invitations: list[str] = field(default_factory=list)
    meeting: dict[str, str] = field(default_factory=dict)
    attached: list[Enclosed] = field(default_factory=list)
    pictures: Pictures = field(default_factory=Pictures)


def facts_of_mail(letter: Letter, name: str) -> Facts:
    """Return what the header of a mail says, as facts of a document."""
    sender = letter.sender if any(letter.sender) else letter.behind
    people = (shown_person(*one).replace(";", ",") for one in (*letter.to, *letter.cc, *letter.bcc))
    return facts_of(
        name,
        title=letter.subject,
        author=sender[0] or sender[1],
        dated=letter.sent.date().isoformat() if letter.sent is not None else "",
        sender=shown_person(*sender).replace(";", ","),
        recipients="; ".join(dict.fromkeys(people)),
        sent_at=letter.sent.isoformat() if letter.sent is not None else "",
        message_id=letter.message_id,
        refers_to=letter.refers_to,
        topic=topic_of(letter.subject),
    )


class Attachments:
    """The files in a mail, named and counted; what is too many or too large is a loss."""

    def __init__(self, rules: Rules, losses: Losses) -> None:
        self.found: list[Enclosed] = []
        self._room = rules.max_unpacked_mb * 1024 * 1024
        self._losses = losses
        self._names: set[str] = set()

    def add(self, name: str, data: bytes, media_type: str = "") -> None:
        """Add a file under a clean name that no other one has."""
        clean = clean_name(name) or f"attachment-{len(self.found) + 1}{_ENDS.get(media_type, '')}"
        if len(self.found) >= MOST_ENCLOSED or len(data) > self._room:
            self._losses.note("embedded_object", clean)
            return
        self._room -= len(data)
        path = PurePosixPath(clean)
        number = 2
        while clean.casefold() in self._names:
            clean = f"{path.stem} ({number}){path.suffix}"
            number += 1
        self._names.add(clean.casefold())
        self.found.append(Enclosed(clean, data))


def clean_name(raw: str) -> str:
    """Return the name of a file without folders and invisible characters, short enough, its end kept; or ""."""
    shown = "".join(char if char.isprintable() else " " for char in tidy(raw))
    name = " ".join(shown.split()).replace("\\", "/").rpartition("/")[2].strip(" .")
    if len(name) > _NAME_MAX:
        path = PurePosixPath(name)
        name = path.stem[: _NAME_MAX - 12] + path.suffix[:12]
    return name


def size_of(count: int) -> str:
    """Return a number of bytes in powers of 1,000: `24 KB`."""
    if count < 1_000:
        return f"{count} bytes"
    return f"{count / 1e3:.0f} KB" if count < 999_500 else f"{count / 1e6:.1f} MB"


def head_of(letter: Letter) -> Iterator[Block]:
    """Yield the subject as a heading, and a line for each part of the header."""
    sender = shown_person(*letter.sender)
    behind = shown_person(*letter.behind)
    lines = {
        "From": f"{sender} (sent by {behind})" if behind and letter.behind[1] != letter.sender[1] else sender or behind,
        "To": shown_people(letter.to),
        "Cc": shown_people(letter.cc),
        "Bcc": shown_people(letter.bcc),
        "Date": shown_moment(letter.sent) if letter.sent is not None else letter.date,
        "Subject": letter.subject,
        "Attachments": "; ".join(f"{one.name}, {size_of(len(one.data))}" for one in letter.attached),
    }
    if letter.subject:
        yield Block(kind="heading", text=letter.subject, level=1)
    yield from fields_of(lines)


def fields_of(said: Mapping[str, str]) -> Iterator[Block]:
    """Yield a line for each name with its value, without those that are empty."""
    yield from (Block(kind="field", text=value, marker=f"{name}:") for name, value in said.items() if value)
