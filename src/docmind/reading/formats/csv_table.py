"""Separated values: CSV and TSV files as one table, with the lines above it as paragraphs."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from docmind.blocks import MOST_COLUMNS, Block, Losses, Table
from docmind.errors import TooLargeError
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.sheet_tables import header_rows, typed
from docmind.reading.formats.text import decode
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Upload
from docmind.wording import _, number_text

SEPARATORS = ",;\t|"
_SAMPLE = 65_536  # characters in which the separator is looked for
_SAMPLE_ROWS = 60
_PREAMBLE_MAX = 20  # lines above the table
_FIELD_MAX = 1 << 27  # characters of a cell; a file has fewer
_QUOTED_MAX = 1 << 20  # characters of a cell of several lines
_LINES_MAX = 1_000  # of a cell
_CLOSED = re.compile(r'"[^"]*(?:""[^"]*)*"')
_SAID = re.compile(r"sep=(.)\r?\n?", re.IGNORECASE)
_DECIMAL = re.compile(r"\s*[-+]?\d+,\d+\s*")


def open_csv(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a file of separated values. Raises `TooLargeError` or `EmptyFileError`."""
    losses = Losses()
    return LaidOut(blocks(decode(upload, rules), losses), facts_of(upload.name), upload.name, rules, losses)


def blocks(text: str, losses: Losses) -> Iterator[Block | Table]:
    """Yield the lines above the table as paragraphs, and the table. Raises `TooLargeError` for too many columns."""
    csv.field_size_limit(_FIELD_MAX)
    said = _SAID.match(text)
    if said:
        text = text[said.end() :]
    separator = said.group(1) if said else separator_of(text[:_SAMPLE])
    rows = _rows(text, separator, losses)
    sample = list(islice(rows, _SAMPLE_ROWS + _PREAMBLE_MAX))
    start = _preamble(sample)
    for row in sample[:start]:
        line = " ".join(cell for cell in row if cell.strip())
        if line.strip():
            yield Block(kind="paragraph", text=line)
    sample = sample[start:]
    wide = _width(sample)
    if wide > MOST_COLUMNS:
        raise TooLargeError(
            _("The table has {number} columns; {most} are the most.").format(
                number=number_text(wide), most=number_text(MOST_COLUMNS)
            ),
            hint=_("Write its columns as rows, or split it into files of fewer columns, and add those."),
        )
    cells = [[typed(text) for text in _padded(row, wide)] for row in sample[:_SAMPLE_ROWS]]
    rows = _even(chain(sample, rows), wide, separator)
    yield Table(rows=rows, header_rows=header_rows(cells))


def _width(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of columns: that of nearly all rows, else of the widest."""
    widths = Counter(map(len, rows))
    if not widths:
        return 0
    usual = max(widths, key=lambda width: (widths[width], width))
    wider = sum(count for width, count in widths.items() if width > usual)
    return usual if wider * 5 < len(rows) and usual > 1 else max(widths)


def _padded(row: list[str], wide: int) -> list[str]:
    return row if len(row) >= wide else [*row, *[""] * (wide - len(row))]


def _even(rows: Iterable[list[str]], wide: int, separator: str) -> Iterator[Sequence[str]]:
    """Yield rows of at most one width: what is more, after a separator that nobody quoted, stays with the last cell."""
    for row in rows:
        if len(row) > wide:
            row[wide - 1 :] = [f"{separator} ".join(row[wide - 1 :])]
        yield row


def _rows(text: str, separator: str, losses: Losses) -> Iterator[list[str]]:
    """Yield the rows that hold something; one that is broken is counted, and the next is read."""
    records = _records(text, separator, losses)
    reader = csv.reader(records, delimiter=separator, skipinitialspace=separator != "\t")
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            losses.note("part", "")
            continue
        if any(row):
            yield row


def _records(text: str, separator: str, losses: Losses) -> Iterator[str]:
    """Yield the lines of each row together.

    A quote that is opened and not closed would take all that follows into one cell. So a row of several lines ends
    with a closing quote at the end of a cell, or its first line is one row, its quotes mean nothing, and it is counted.
    """
    stream = io.StringIO(text, newline="")
    while line := stream.readline():
        if line.count('"') % 2 == 0 or not _open_quote(line, separator, is_one_line=True):
            yield line
            continue
        back = stream.tell()
        lines, size = [line], len(line)
        is_open: bool | None = True
        while is_open and len(lines) < _LINES_MAX and size < _QUOTED_MAX and (line := stream.readline()):
            lines.append(line)
            size += len(line)
            if '"' in line:
                is_open = _open_quote("".join(lines), separator, is_one_line=False)
        if is_open is False:
            yield "".join(lines)
        else:
            losses.note("part", "")
            stream.seek(back)
            yield lines[0].replace('"', "")


def _open_quote(record: str, separator: str, *, is_one_line: bool) -> bool | None:
    """Return whether a quote is open at the end; None where text follows one that closes a cell of several lines."""
    at = 0
    while True:
        while at < len(record) and record[at] == " ":
            at += 1
        if at < len(record) and record[at] == '"':
            closed = _CLOSED.match(record, at)
            if closed is None:
                return True
            at = closed.end()
            if (
                not is_one_line
                and "\n" in closed.group()
                and record[at : at + 1].strip() not in ("", separator.strip())
            ):
                return None
        at = record.find(separator, at)
        if at < 0:
            return False
        at += 1


def _preamble(rows: Sequence[Sequence[str]]) -> int:
    """Return how many of the first rows are titles: of one cell, above a table of more."""
    start = 0
    while start < min(len(rows) - 1, _PREAMBLE_MAX) and sum(bool(cell.strip()) for cell in rows[start]) <= 1:
        start += 1
    below = [sum(bool(cell.strip()) for cell in row) for row in rows[start : start + _SAMPLE_ROWS]]
    return start if below and below[0] > 1 and sum(count > 1 for count in below) * 2 > len(below) else 0


def separator_of(sample: str) -> str:
    """Return the separator that parts most lines into the same number of cells, more than one.

    A decimal comma parts lines too, so a semicolon, tab or bar that does as well is preferred to a comma.
    """
    best, score = ";", 0.0
    for separator in ";\t|,":
        try:
            rows = list(csv.reader(_records(sample, separator, Losses()), delimiter=separator))
        except csv.Error:
            continue
        counts = Counter(len(row) for row in rows[: -1 if len(rows) > 2 else None] if row)
        cells, lines = max(counts.items(), key=lambda item: (item[0] > 1) * item[1], default=(1, 0))
        if cells < 2:
            continue
        share = lines / counts.total()
        if separator == "," and counts[1] and all(_DECIMAL.fullmatch(",".join(row)) for row in rows if len(row) > 1):
            continue  # one column of numbers with decimal commas
        if share > score + 0.1:
            best, score = separator, share
    return best
