"""The sources of documents: plain Markdown, of which headings, paragraphs, items and tables are used, page by page."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

NEW_PAGE = "==="


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a page: its kind (h1, h2, text, items, table, drawing) and its rows of cells.

    A heading, a text and the name of a drawing are one row with one cell; each item is a row with one cell.
    """

    kind: str
    rows: tuple[tuple[str, ...], ...]

    @property
    def text(self) -> str:
        """The only cell of a heading, a text or a drawing."""
        return self.rows[0][0]


def pages_of(source: str) -> list[list[Block]]:
    """Return the blocks of each page; a line `===` begins a page."""
    return [_blocks(page) for page in source.split(f"\n{NEW_PAGE}\n")]


def _blocks(page: str) -> list[Block]:
    lines = [line.strip() for line in page.splitlines() if line.strip()]
    found: list[Block] = []
    for kind, group in groupby(lines, key=_kind):
        rows = [_cells(kind, line) for line in group]
        if kind in {"items", "table"}:
            found.append(Block(kind, tuple(row for row in rows if not all(set(cell) <= {"-"} for cell in row))))
        else:
            found += [Block(kind, (row,)) for row in rows]
    return found


def _kind(line: str) -> str:
    starts = {"## ": "h2", "# ": "h1", "- ": "items", "|": "table", "@": "drawing"}
    return next((kind for start, kind in starts.items() if line.startswith(start)), "text")


def _cells(kind: str, line: str) -> tuple[str, ...]:
    if kind == "table":
        return tuple(cell.strip() for cell in line.strip("|").split("|"))
    return (line if kind == "text" else line.lstrip("#-@").strip(),)
