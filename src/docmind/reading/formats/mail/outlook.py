"""Mails that Outlook saves (.msg): properties in an OLE file (MS-OXMSG)."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.parser import HeaderParser

import olefile

from docmind.blocks import Losses
from docmind.errors import CorruptFileError
from docmind.reading.file_type import OLE_UNREADABLE
from docmind.reading.formats import Rules
from docmind.reading.formats.characters import tidy
from docmind.reading.formats.html import text_of
from docmind.reading.formats.mail.headers import moment_of, raw_header, shown_span
from docmind.reading.formats.mail.letter import Attachments, Body, Letter, Person, Pictures
from docmind.reading.formats.mail.made import mail_of
from docmind.reading.formats.mail.mime import refers_to
from docmind.reading.formats.mail.rtf import encoding_of_page, text_of_rtf, unpacked
from docmind.records.documents import Upload
from docmind.wording import _

_DEEPEST = 5  # mails within each other
_MOST_RECIPIENTS = 2_000
_TEXT, _BYTES, _UNICODE, _STORAGE, _TIME = 0x001E, 0x0102, 0x001F, 0x000D, 0x0040
_APPOINTMENT = {0x8208: "place", 0x820D: "begin", 0x820E: "end"}  # named properties, by their numbers
_BROKEN = (*OLE_UNREADABLE, KeyError, struct.error, RecursionError, AttributeError)


def letter_in(upload: Upload, rules: Rules, losses: Losses) -> Letter:
    """Return what a mail of Outlook says. Raises `CorruptFileError`."""
    try:
        with olefile.OleFileIO(io.BytesIO(upload.data)) as ole:
            return _Item(ole, [], rules, losses).letter()
    except _BROKEN as error:
        raise CorruptFileError(_("{name} is a mail that is broken.").format(name=upload.name)) from error


class _Item:
    """A mail in an OLE file, or one that another mail holds, at a path."""

    def __init__(self, ole: olefile.OleFileIO, path: list[str], rules: Rules, losses: Losses, depth: int = 0) -> None:
        self._ole, self._path, self._rules, self._losses, self._depth = ole, path, rules, losses, depth
        self._fixed = self._properties(path, 32 if not path else 24)
        number = self._number(0x3FFD) or self._number(0x3FDE)
        self._encoding = encoding_of_page(number) if number else "cp1252"

    def letter(self) -> Letter:
        """Return the mail."""
        headers = HeaderParser().parsestr(self._text(0x007D))
        date = raw_header(headers, "Date")
        smtp = self._text(0x5D02) or self._text(0x5D01)
        address = smtp or next((one for one in (self._text(0x0065), self._text(0x0C1F)) if "@" in one), "")
        letter = Letter(
            subject=self._text(0x0037) or self._text(0x0E1D),
            sender=(self._text(0x0042) or self._text(0x0C1A), address),
            message_id=raw_header(headers, "Message-ID") or self._text(0x1035),
            refers_to=refers_to(headers) or f"{self._text(0x1039)} {self._text(0x1042)}",
            sent=moment_of(date) if date else self._time(0x0039) or self._time(0x0E06) or self._time(0x3007),
        )
        letter.to, letter.cc, letter.bcc = self._recipients()
        letter.meeting = self._meeting()
        letter.bodies = list(self._bodies())
        attachments = Attachments(self._rules, self._losses)
        for storage in self._storages("__attach_version1.0_"):
            self._attachment(storage, attachments, letter.pictures)
        letter.attached = attachments.found
        return letter

    # --- properties -------------------------------------------------------------------------------------------------

    def _properties(self, path: list[str], head: int) -> dict[int, bytes]:
        """Return the values of eight bytes that stand in the list of properties, by tag."""
        name = [*path, "__properties_version1.0"]
        data = self._ole.openstream(name).read()[head:] if self._ole.exists(name) else b""
        entries = (data[at : at + 16] for at in range(0, len(data) - 15, 16))
        return {int.from_bytes(entry[:4], "little"): entry[8:] for entry in entries}

    def _stream(self, path: list[str], number: int, kind: int) -> bytes | None:
        name = [*path, f"__substg1.0_{number:04X}{kind:04X}"]
        if not self._ole.exists(name) or self._ole.get_type(name) != olefile.STGTY_STREAM:
            return None
        if self._ole.get_size(name) > self._rules.max_unpacked_mb * 1024 * 1024:
            self._losses.note("part")
            return None
        return self._ole.openstream(name).read()

    def _text(self, number: int, path: list[str] | None = None) -> str:
        where = self._path if path is None else path
        data = self._stream(where, number, _UNICODE)
        if data is not None:
            said = data.decode("utf-16-le", "replace")
        else:
            said = (self._stream(where, number, _TEXT) or b"").decode(self._encoding, "replace")
        said = said.rstrip("\0")
        return said if number in (0x007D, 0x1000) else " ".join(tidy(said).split())

    def _number(self, number: int) -> int:
        value = self._fixed.get(number << 16 | 3)
        return int.from_bytes(value[:4], "little") if value else 0

    def _time(self, number: int) -> datetime | None:
        return _moment(self._fixed.get(number << 16 | _TIME))

    def _storages(self, start: str) -> Iterator[list[str]]:
        depth = len(self._path)
        listed = self._ole.listdir(streams=False, storages=True)
        yield from sorted(
            one for one in listed if len(one) == depth + 1 and one[:depth] == self._path and one[-1].startswith(start)
        )

    # --- what a mail consists of ------------------------------------------------------------------------------------

    def _recipients(self) -> tuple[list[Person], list[Person], list[Person]]:
        found: dict[int, list[Person]] = {1: [], 2: [], 3: []}
        for count, storage in enumerate(self._storages("__recip_version1.0_")):
            if count >= _MOST_RECIPIENTS:
                self._losses.note("part", "recipients")
                break
            fixed = self._properties(storage, 8).get(0x0C15_0003, b"\1\0\0\0")
            address = self._text(0x39FE, storage) or self._text(0x3003, storage)
            person = self._text(0x3001, storage).strip("'"), address if "@" in address else ""
            found.get(int.from_bytes(fixed[:4], "little") & 0xF, found[1]).append(person)
        if not any(found.values()):
            for kind, number in ((1, 0x0E04), (2, 0x0E03), (3, 0x0E02)):
                found[kind] = [(one.strip(), "") for one in self._text(number).split(";") if one.strip()]
        return found[1], found[2], found[3]

    def _bodies(self) -> Iterator[Body]:
        """Yield the richest form of the text: a page, the page or text within rich text, or plain text."""
        text = self._text(0x1000)
        page = self._stream(self._path, 0x1013, _BYTES)
        said = text_of(page, encoding_of_page(self._number(0x3FDE)) if self._number(0x3FDE) else "") if page else ""
        said = said or self._text(0x1013)
        if said.strip():
            yield Body("html", said.rstrip("\0"))
            return
        rich = self._stream(self._path, 0x1009, _BYTES)
        if rich and (not text.strip() or self._number(0x1016) != 1):
            try:
                kind, said = text_of_rtf(unpacked(rich, self._rules.max_text_mb * 1024 * 1024))
            except ValueError:
                self._losses.note("part", "rich text")
                said = kind = ""
            if said.strip() and (kind == "html" or not text.strip()):
                yield Body("html" if kind == "html" else "text", said)
                return
        if text.strip():
            yield Body("text", text)

    def _meeting(self) -> dict[str, str]:
        """Return when and where of an appointment."""
        if not self._text(0x001A).upper().startswith(("IPM.APPOINTMENT", "IPM.SCHEDULE.MEETING")):
            return {}
        named = self._named()
        begin = _moment(self._fixed.get(named.get("begin", 0) << 16 | _TIME)) or self._time(0x0060)
        end = _moment(self._fixed.get(named.get("end", 0) << 16 | _TIME)) or self._time(0x0061)
        when = shown_span(begin, end) if begin is not None else ""
        return {"When": when, "Where": self._text(named["place"]) if "place" in named else ""}

    def _named(self) -> dict[str, int]:
        """Return the numbers that this file gives to properties of an appointment."""
        data = self._stream(["__nameid_version1.0"], 0x0003, _BYTES) or b""
        found: dict[str, int] = {}
        for at in range(0, len(data) - 7, 8):
            name, kind, index = struct.unpack_from("<IHH", data, at)
            if name in _APPOINTMENT and not kind & 1:
                found[_APPOINTMENT[name]] = 0x8000 + index
        return found

    def _attachment(self, storage: list[str], attachments: Attachments, pictures: Pictures) -> None:
        name = self._text(0x3707, storage) or self._text(0x3704, storage) or self._text(0x3001, storage)
        kind = self._text(0x370E, storage).lower()
        fixed = self._properties(storage, 8)
        method = int.from_bytes(fixed.get(0x3705_0003, b"")[:4], "little")
        inner = [*storage, f"__substg1.0_3701{_STORAGE:04X}"]
        if self._ole.exists(inner) and method == 5:
            if self._depth >= _DEEPEST:
                self._losses.note("embedded_object", name)
                return
            mail = mail_of(_Item(self._ole, inner, self._rules, self._losses, self._depth + 1).letter())
            attachments.add(f"{name.removesuffix('.msg') or 'Mail'}.eml", mail)
            return
        data = self._stream(storage, 0x3701, _BYTES)
        is_shown = bool(self._text(0x3712, storage)) and (
            int.from_bytes(fixed.get(0x3714_0003, b"")[:4], "little") & 4 or any(fixed.get(0x7FFE_000B, b"")[:1])
        )
        if data is None:
            self._losses.note("embedded_object", name)
        elif data and is_shown and (kind.startswith("image/") or not kind):
            pictures.add(lambda: data, f"cid:{self._text(0x3712, storage)}", self._text(0x3713, storage))
        elif data:
            attachments.add(name, data, kind)


def _moment(value: bytes | None) -> datetime | None:
    """Return a time that is counted in tenths of microseconds since 1601."""
    count = int.from_bytes(value or b"", "little")
    try:
        return datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=count // 10) if count else None
    except OverflowError:
        return None
