"""What a person does to one line of a page, as a new list of the corrections of that page."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from docmind.documents.catalog import PageRecord
from docmind.documents.corrections import (
    HEADER,
    NO_HEADER,
    AsRead,
    Correction,
    CorrectionKind,
    as_read,
    fitting,
    place_of,
    row_at,
)
from docmind.documents.text_lines import TextLine
from docmind.errors import ConfigError, NotFoundError
from docmind.rich_text import one_line
from docmind.wording import _, ngettext, number_text


@dataclass(frozen=True, slots=True)
class LineEdit:
    """A change of line `n`, counted from 1 as the page was read.

    `text` is what stands there, "" where nothing is written. `is_header` says whether the row of the line names the
    columns of its table. Where both are None, the line is again what was read; `n` 0 drops the corrections that fit no
    line of the page.
    """

    n: int
    text: str | None = None
    is_header: bool | None = None


def edited_corrections(page: PageRecord, before: Sequence[Correction], edit: LineEdit) -> tuple[Correction, ...]:
    """Return the corrections of a page after an edit. Raises `NotFoundError`, `ConfigError`, `DamagedError`."""
    read = as_read(page)
    if edit == LineEdit(0):
        fits = fitting(read, page, before)
        return tuple(one for one in before if one.number in fits)
    if not read.lines:
        raise NotFoundError(
            _("Nothing was read on page {n}.").format(n=number_text(page.page_no)),
            hint=_("A page without text has no lines to correct."),
        )
    if not 1 <= edit.n <= len(read.lines):
        count = len(read.lines)
        told = ngettext("Page {page} has {n} line.", "Page {page} has {n} lines.", count)
        raise NotFoundError(
            told.format(page=number_text(page.page_no), n=number_text(count)),
            hint=_("Choose a line from 1 to {n}.").format(n=number_text(count)),
        )
    at = edit.n - 1
    line = read.lines[at]
    if edit.text is not None:
        reading, text = read.text[line.start : line.end], one_line(edit.text)
        if _is_unseen(edit.text):
            raise ConfigError(
                _("The text for line {n} has no character that can be seen.").format(n=number_text(edit.n)),
                hint=_("Write what stands on the page, or leave the text empty where nothing does."),
            )
        kept = _without(page, read, before, {at}, "line")
        return kept if text == reading else (*kept, _new(page, line, "line", reading, text, before))
    rows = _lines_of_table(read, at)
    if edit.is_header is None:
        return _without(page, read, _without(page, read, before, {at}, "line"), rows, "header")
    if not rows:
        raise ConfigError(
            _("Line {n} is no row of a table.").format(n=number_text(edit.n)),
            hint=_("Choose a line of a table that was found on the page."),
        )
    kept = _without(page, read, before, rows, "header")
    reading = read.text[line.start : line.end]
    return (*kept, _new(page, line, "header", reading, HEADER if edit.is_header else NO_HEADER, before))


def _is_unseen(text: str) -> bool:
    """Return whether a text has nothing but control and format characters, such as bidirectional marks, and blanks."""
    others = [char for char in text if not (char in "\t\r\n" or unicodedata.category(char).startswith("Z"))]
    return bool(others) and all(unicodedata.category(char) in ("Cc", "Cf", "Cs") for char in others)


def _new(
    page: PageRecord, line: TextLine, kind: CorrectionKind, reading: str, text: str, before: Sequence[Correction]
) -> Correction:
    number = 1 + max((one.number for one in before), default=0)
    return Correction(number, kind, place_of(line, page), reading, text, time.time_ns() // 1_000_000)


def _without(
    page: PageRecord, read: AsRead, corrections: Sequence[Correction], lines: set[int], kind: CorrectionKind
) -> tuple[Correction, ...]:
    """Return corrections without those of a kind that fit any of these lines."""
    fits = fitting(read, page, corrections)
    return tuple(one for one in corrections if one.kind != kind or fits.get(one.number) not in lines)


def _lines_of_table(read: AsRead, at: int) -> set[int]:
    """Return the places of the lines of the table that a line is a row of; none where it is no row."""
    row = row_at(read.blocks, read.lines[at].start, read.lines[at].end)
    if row is None or row.table is None:
        return set()
    found = (row_at(read.blocks, line.start, line.end) for line in read.lines)
    number = row.table.number
    return {n for n, one in enumerate(found) if one is not None and one.table and one.table.number == number}
