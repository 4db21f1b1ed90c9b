"""The text of a file that is not added to the library: a draft to be checked, as plain text or Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from docmind.blocks import PageBlock, unpack
from docmind.config import ReadingSettings
from docmind.reading.reader import Reader
from docmind.records.documents import ParsedPage, Upload

_AS_WRITTEN = frozenset({"", ".txt", ".md", ".markdown", ".text"})
_APART = frozenset({"header", "footer", "comment", "field", "quoted"})  # not a part of the text


def text_of_file(upload: Upload, settings: ReadingSettings, *, longest: int) -> str:
    """Return the text of a file: its headings, rows and code are marked as in Markdown, each paragraph is a line.

    A text or Markdown file is returned as it is written. Reading ends once there are more than `longest` characters.
    Pages without a text of their own, such as scans, give none. Raises the kinds of `ReadingError`.
    """
    if PurePath(upload.name).suffix.lower() in _AS_WRITTEN and (text := _decoded(upload.data)) is not None:
        return text
    parts: list[str] = []
    size = 0
    with Reader(settings) as reader, reader.read(upload) as reading:
        for page in reading:
            parts += _parts(page)
            size += len(page.text)
            if size > longest:
                break
    return "\n\n".join(parts)


def _decoded(data: bytes) -> str | None:
    """Return the text of UTF-8; None for bytes in another encoding, which the reader recognises."""
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _parts(page: ParsedPage) -> Iterator[str]:
    blocks = unpack(page.blocks, len(page.text))
    if not blocks:
        yield page.text
    rows: list[str] = []
    for block in blocks:
        if block.kind in ("row", "header_row"):
            rows += _row(page.text, block)
            continue
        if rows:
            yield "\n".join(rows)
            rows = []
        if block.kind not in _APART and (said := page.text[block.start : block.end].strip()):
            yield _written(said, block)
    if rows:
        yield "\n".join(rows)


def _written(said: str, block: PageBlock) -> str:
    if block.kind == "code":
        return f"```\n{said}\n```"
    line = " ".join(said.split())
    return f"{'#' * min(6, max(1, block.level))} {line}" if block.kind == "heading" else line


def _row(text: str, block: PageBlock) -> list[str]:
    cells = [" ".join(text[start:end].split()).replace("|", "/") for start, end in block.cells]
    if cells and block.table is not None:
        cells += [""] * (len(block.table.header) - len(cells))
    line = f"| {' | '.join(cells)} |"
    return [line, f"|{'---|' * len(cells)}"] if block.kind == "header_row" else [line]
