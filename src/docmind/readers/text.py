"""Plain text, Markdown, CSV and source code."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from docmind.readers import Rules
from docmind.readers.decode import decode
from docmind.readers.layout import Block, Face, Table, Text
from docmind.readers.sheet import LaidOut
from docmind.schema import Upload

_ALIGNED = re.compile(r"\S(?: {3,}|\t+)\S")
_FENCE = re.compile(r"^\s{0,3}(```|~~~)")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_UNDERLINE = re.compile(r"^\s{0,3}(=+|-{2,})\s*$")
_RULE = re.compile(r"^\s{0,3}([-*_])\s*(\1\s*){2,}$")
_ITEM = re.compile(r"^(\s*)([-*+]|\d{1,9}[.)])\s+")
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
# Neither reaches over another opening mark, so that a file of nothing else costs no more than its length.
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\(([^()\s]{0,500})[^()]{0,200}\)")
_EMPHASIS = re.compile(r"(\*\*|__|~~|`)(?=\S)([^*_~`]{1,300})(?<=\S)\1")
_FACES: dict[int, Face] = {1: "h1", 2: "h2"}


def open_text(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a text file of one of the four kinds. Raises `TooLargeError` or `EmptyFileError`."""
    text = decode(upload, rules)
    blocks = {"txt": plain, "markdown": markdown, "csv": table, "code": code}[kind](text)
    title = ""
    if kind == "markdown":
        first = next((match for line in text.splitlines()[:50] if (match := _HEADING.match(line))), None)
        title = _inline(first.group(2)) if first else ""
    return LaidOut(blocks, title, upload.name, rules)


def plain(text: str) -> Iterator[Block]:
    """Paragraphs line by line; where spaces align columns, the lines stay as they are."""
    lines = text.splitlines()
    aligned = sum(bool(_ALIGNED.search(line)) for line in lines[:2_000])
    if aligned >= 0.1 * min(len(lines), 2_000):
        yield Text(text, "mono", verbatim=True)
        return
    for line in lines:
        yield Text(line)


def code(text: str) -> Iterator[Block]:
    """Lines as they stand: what they mean lies in their spaces."""
    yield Text(text, "mono", verbatim=True)


def table(text: str) -> Iterator[Block]:
    """The rows of a CSV file; a separator that cannot be told is taken from what is most frequent."""
    sample = text[:65_536]
    try:
        dialect = csv.Sniffer().sniff(sample, ",;\t|")
    except csv.Error:
        dialect = csv.excel()
        dialect.delimiter = max(",;\t|", key=sample.count)
    csv.field_size_limit(1 << 20)
    yield Table(csv.reader(text.splitlines(), dialect), has_header=True)


def markdown(text: str) -> Iterator[Block]:
    """Headings, paragraphs, lists, tables and code, without their marks."""
    lines = text.splitlines()
    waiting: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        heading = _HEADING.match(line)
        fence = _FENCE.match(line)
        if waiting and (under := _UNDERLINE.match(line)):
            yield Text(_inline(" ".join(waiting)), "h1" if under.group(1)[0] == "=" else "h2")
            waiting = []
        elif fence or heading or not line.strip() or _RULE.match(line) or _ITEM.match(line) or _starts_table(lines, at):
            if waiting:
                yield Text(_inline(" ".join(waiting)))
                waiting = []
            if fence:
                end = next(
                    (n for n in range(at + 1, len(lines)) if lines[n].strip().startswith(fence.group(1))), len(lines)
                )
                yield Text("\n".join(lines[at + 1 : end]), "mono", verbatim=True)
                at = end
            elif heading:
                yield Text(_inline(heading.group(2)), _FACES.get(len(heading.group(1)), "h3"))
            elif item := _ITEM.match(line):
                mark = item.group(2) if item.group(2)[0].isdigit() else "•"
                waiting = [f"{mark} {line[item.end() :]}"]
            elif _starts_table(lines, at):
                end = next((n for n in range(at + 2, len(lines)) if "|" not in lines[n]), len(lines))
                yield Table([_cells(lines[n]) for n in range(at, end) if n != at + 1], has_header=True)
                at = end - 1
        else:
            waiting.append(line.strip().removeprefix(">").strip())
        at += 1
    if waiting:
        yield Text(_inline(" ".join(waiting)))


def _starts_table(lines: list[str], at: int) -> bool:
    return "|" in lines[at] and at + 1 < len(lines) and "|" in lines[at + 1] and bool(_TABLE_RULE.match(lines[at + 1]))


def _cells(line: str) -> list[str]:
    return [_inline(cell.strip()) for cell in line.strip().strip("|").split("|")]


def _inline(text: str) -> str:
    """Without the marks of links and emphasis; the address of a link stays, since it may be what is looked for."""
    text = _LINK.sub(
        lambda link: link.group(1) if link.group(1) == link.group(2) else f"{link.group(1)} ({link.group(2)})", text
    )
    return _EMPHASIS.sub(r"\2", _EMPHASIS.sub(r"\2", text))
