"""Mailboxes (mbox): many mails in one file, each behind a line that begins with `From `."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docmind.blocks import Block, Losses, Table
from docmind.errors import EmptyFileError
from docmind.reading.formats.mail.headers import moment_of, people_of, raw_header, shown_person, words_of
from docmind.reading.formats.mail.letter import clean_name
from docmind.reading.formats.mail.mime import message_of
from docmind.records.documents import Enclosed, Upload
from docmind.wording import _

MOST_MAILS = 20_000
"""Mails of a mailbox that are read; the others are counted as left."""
_SEPARATOR = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]*\n(?=>?[!-9;-~]{1,100}:|From )")
_ESCAPED = re.compile(rb"^>(>*From )", re.M)
_HEADER_END = re.compile(rb"\n\r?\n")
_HEADER_MAX = 64 * 1024


class Mailbox:
    """The mails of a mailbox, in the order of the file. Raises `EmptyFileError` where it has none."""

    def __init__(self, upload: Upload, losses: Losses) -> None:
        self._data = upload.data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
        places = [(found.start(), found.end()) for found in _SEPARATOR.finditer(self._data)]
        if not places:
            raise EmptyFileError(_("{name} holds no mails.").format(name=upload.name))
        ends = [start for start, _end in places[1:]]
        self._spans = [(start, end) for (_at, start), end in zip(places, [*ends, len(self._data)], strict=True)]
        losses.note("part", "mails", len(self._spans) - MOST_MAILS)
        self._spans = self._spans[:MOST_MAILS]
        self._name = upload.name
        self._names: list[str] = []

    def blocks(self) -> Iterator[Block | Table]:
        """Yield the table of the mails."""
        yield Table(rows=self._rows(), header_rows=1)

    def _rows(self) -> Iterator[list[str]]:
        yield ["No.", "Date", "From", "Subject"]
        for number, (start, end) in enumerate(self._spans, 1):
            head = self._data[start : min(end, start + _HEADER_MAX)]
            cut = _HEADER_END.search(head)
            message = message_of(head[: cut.end()] if cut else head, self._name)
            sent = moment_of(raw_header(message, "Date"))
            sender = next(iter(people_of(raw_header(message, "From"))), ("", ""))
            subject = words_of(raw_header(message, "Subject"))
            self._names.append(clean_name(f"{number:04d} {subject[:100].replace('/', '-').strip(' .')}.eml"))
            day = f"{sent:%Y-%m-%d %H:%M}" if sent is not None else words_of(raw_header(message, "Date"))
            yield [str(number), day, shown_person(*sender), subject]

    def enclosed(self) -> Iterator[Enclosed]:
        """Yield each mail as a file."""
        for name, (start, end) in zip(self._names, self._spans, strict=True):
            yield Enclosed(name, _ESCAPED.sub(rb"\1", self._data[start:end]).rstrip(b"\r\n") + b"\n")
