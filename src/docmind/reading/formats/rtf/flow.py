"""The text of one part of a rich text file: its paragraphs, and the tables that they stand in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from docmind.blocks import MOST_CELLS, MOST_COLUMNS, Block, Losses, Table
from docmind.reading.formats.cells import CellRead, Placed, gridded
from docmind.reading.formats.numerals import bullet
from docmind.reading.formats.prose import (
    ANCHOR_MAX,
    BREAK,
    PAGE_NUMBER,
    Run,
    Runs,
    cell_read,
    clean,
    is_code,
    last_sentence,
    written,
)
from docmind.reading.formats.rtf.parser import Destination, State
from docmind.reading.formats.rtf.tables import Lists, Styles
from docmind.reading.formats.typeset import LINE
from docmind.records.documents import LossKind

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f]")
_ATTACHED = "¬\ufffc"
_DEEPEST = 20  # tables within each other
_EDGE = 60  # twips between edges that are one: about a millimetre
_WIDE = 1_000  # twips of a cell whose edge is not said
_DROP_MAX = 10  # characters of a drop cap
_IN_TEXT = {
    "tab": "\t", "line": LINE, "lbr": LINE, "page": BREAK, "column": LINE, "chpgn": PAGE_NUMBER,
}  # fmt: skip


@dataclass(slots=True)
class Shared:
    """What all parts of a document share."""

    styles: Styles
    lists: Lists
    losses: Losses
    left: int
    """Characters of text that may still be read; None are left where the text is too large."""


@dataclass(slots=True)
class _Row:
    """The cells of a row as its definition has them: their right edges, and how they are merged with others."""

    left: int = 0
    edges: list[int] = field(default_factory=list)
    flags: list[frozenset[str]] = field(default_factory=list)
    is_named: bool = False
    _next: set[str] = field(default_factory=set)

    def word(self, name: str, number: int) -> bool:
        """Take a word of the definition; return False for another one."""
        if name in ("clmgf", "clmrg", "clvmgf", "clvmrg"):
            self._next.add(name)
        elif name == "cellx" and len(self.edges) < MOST_COLUMNS:
            self.edges.append(max(-100_000, min(number, 100_000_000)))
            self.flags.append(frozenset(self._next))
            self._next = set()
        elif name == "trleft":
            self.left = max(-100_000, min(number, 1_000_000))
        elif name == "trhdr":
            self.is_named = True
        else:
            return False
        return True


@dataclass(slots=True)
class _Grid:
    """A table that is being read: its rows so far, the cells of the row, and the blocks of the cell."""

    rows: list[list[Placed]] = field(default_factory=list)
    named: int = 0
    count: int = 0
    cells: list[CellRead] = field(default_factory=list)
    blocks: list[Block | Table] = field(default_factory=list)
    bold: list[bool] = field(default_factory=list)
    unsaid: str = ""

    def end_cell(self) -> None:
        """End a cell."""
        self.cells.append(cell_read(self.blocks, self.unsaid, is_bold=bool(self.bold) and all(self.bold)))
        self.blocks, self.bold, self.unsaid = [], [], ""

    def end_row(self, row: _Row) -> int:
        """End a row; return how many cells are left out, because there are too many."""
        if self.blocks:
            self.end_cell()
        cells, self.cells = self.cells, []
        self.count += len(cells)
        if self.count > MOST_CELLS:
            return len(cells)
        placed: list[Placed] = []
        left = row.left
        for at, read in enumerate(cells):
            if at >= len(row.edges) > 0 and not read.blocks:
                break  # an end of a cell that is none of this row
            edge = row.edges[at] if at < len(row.edges) else left + _WIDE
            flags = row.flags[at] if at < len(row.flags) else frozenset[str]()
            edge = max(edge, left + 1)
            if "clmrg" in flags and placed:
                placed[-1].columns += edge - left
                placed[-1].read.add(read)
            else:
                merge = "restart" if "clvmgf" in flags else "continue" if "clvmrg" in flags else ""
                placed.append(Placed(left, edge - left, merge, read))
            left = edge
        if placed:
            self.named += row.is_named and self.named == len(self.rows)
            self.rows.append(placed)
        return 0

    def made(self) -> list[Block | Table]:
        """Return the table, and what stands after its last row."""
        rest = self.blocks
        for cell in self.cells:
            rest = [*cell.blocks, *cell.aside, *rest]
        if not self.rows:
            return rest
        self._snap()
        return [*gridded(self.rows, self.named), *rest]

    def _snap(self) -> None:
        """Make edges that lie close to each other one: programs round them differently in each row."""
        edges = sorted({cell.first for row in self.rows for cell in row})
        one: dict[int, int] = {}
        for edge in edges:
            last = one[edges[len(one) - 1]] if one else edge - 2 * _EDGE
            one[edge] = last if edge - last <= _EDGE else edge
        for row in self.rows:
            taken: set[int] = set()
            for cell in row:
                end = cell.first + cell.columns
                first = one[cell.first] if one[cell.first] not in taken else cell.first
                taken.add(first)
                cell.first, cell.columns = first, max(1, end - first)


@dataclass(slots=True)
class Paragraph:
    """A paragraph that is being read, and what hangs on it."""

    runs: Runs = field(default_factory=Runs)
    label: str | None = None
    after: list[Block | Table] = field(default_factory=list)
    starts_page: bool = False


class Flow(Destination):
    """The text of the document, of a note, of a header or of a text box."""

    def __init__(self, shared: Shared, place: str = "") -> None:
        """Begin with no text; `place` is what losses are said to be in."""
        self.shared = shared
        self.place = place
        self.blocks: list[Block | Table] = []
        self.para = Paragraph()
        self.has_mark = False
        """Whether the number of a note was shown since the last note."""
        self.has_attached = False
        """Whether the next character stands for a picture that lies beside the file."""
        self._grids: list[_Grid] = []
        self._row, self._nested_row = _Row(), _Row()
        self._open: dict[str, str] = {}
        self._anchors: dict[str, str] = {}

    # What is read

    @property
    def is_running(self) -> bool:
        """Whether this is a header or footer."""
        return self.place in ("header", "footer")

    def text(self, text: str, state: State) -> None:
        """Take text of the file."""
        if self.has_attached and text:
            self.has_attached, text = False, text[text[0] in _ATTACHED :]
        self.say(_CONTROLS.sub("", text), state)

    def say(self, text: str, state: State) -> None:
        """Add text, which may hold the marks of breaks and page numbers."""
        if state.is_deleted or not text:
            return
        if state.is_hidden:
            self.para.runs.hidden += bool(text.strip())
            return
        self.shared.left -= len(text)
        self.para.runs.say(text, script=state.script, is_struck=state.is_struck, is_bold=state.is_bold)
        self.hear(text)

    def lose(self, kind: LossKind) -> None:
        """Count a part that is not read."""
        self.shared.losses.note(kind, self.place)

    def word(self, name: str, number: int | None, state: State) -> None:
        """Take a control word."""
        if name in _IN_TEXT:
            if not (name == "page" and self._grids) and (name != "chpgn" or self.is_running):
                self.say(_IN_TEXT[name], state)
        elif name in ("par", "sect"):
            self._end_paragraph(state)
        elif name in ("cell", "nestcell"):
            self._end_cell(state, 1 if name == "cell" else max(2, state.depth))
        elif name in ("row", "nestrow"):
            self._end_row(state, 1 if name == "row" else max(2, state.depth))
        elif name == "chftn":
            self.has_mark = True
        elif not self._of_paragraph(name, number, state):
            self._of_row(name, number, state)

    def _of_paragraph(self, name: str, number: int | None, state: State) -> bool:
        value = number or 0
        if name == "pard":
            state.pard()
        elif name == "s":
            state.style = value
        elif name == "outlinelevel":
            state.outline = value
        elif name == "intbl":
            state.in_table = True
        elif name == "itap":
            state.depth = min(max(value, 0), _DEEPEST)
        elif name == "ls":
            state.list = value
        elif name == "ilvl":
            state.rank = min(max(value, 0), 8)
        elif name == "pagebb":
            state.starts_page = number != 0
        elif name == "dropcapt":
            state.is_drop_cap = True
        else:
            return False
        return True

    def _of_row(self, name: str, number: int | None, state: State) -> None:
        if name == "trowd":
            if state.in_nested_row:
                self._nested_row = _Row()
            else:
                self._row = _Row()
        else:
            (self._nested_row if state.in_nested_row else self._row).word(name, number or 0)

    # Comments and notes

    def hear(self, text: str) -> None:
        """Add a text to the words of the comments that are open."""
        for key, words in self._open.items():
            if len(words) < ANCHOR_MAX:
                self._open[key] = (words + text)[:ANCHOR_MAX]

    def open_comment(self, key: str) -> None:
        """Begin the words of a comment."""
        if len(self._open) < 100:
            self._open.setdefault(key.strip(), "")

    def close_comment(self, key: str) -> None:
        """End the words of a comment."""
        words = self._open.pop(key.strip(), None)
        if words is not None:
            self._anchors[key.strip()] = " ".join(words.split())

    def anchor(self, key: str) -> str:
        """Return the words of a comment, else the sentence before this place."""
        return self._anchors.pop(key.strip(), "") or self.sentence()

    def sentence(self) -> str:
        """Return the sentence so far."""
        return last_sentence(self.para.runs.end(2 * ANCHOR_MAX))

    def say_mark(self, mark: str, at: int) -> None:
        """Show the mark of a note, behind the first `at` runs of the paragraph."""
        self.para.runs.runs.insert(at, Run(mark))

    # Ends

    def finish(self) -> list[Block | Table]:
        """End the last paragraph and the tables, and return all blocks."""
        self._end_paragraph(State(self))
        return self.blocks

    def close(self) -> None:
        """Take the end of the group: its owner asks for `finish`."""

    def end_section(self, state: State) -> None:
        """End the paragraph and the tables before a new section."""
        self._end_paragraph(State(self, style=state.style, outline=state.outline))

    def _end_paragraph(self, state: State) -> None:
        text = self.para.runs.text()
        if state.is_drop_cap and 0 < len(text.strip()) <= _DROP_MAX and not self._grids:
            return  # the next paragraph goes on with it
        self._to_level(state.level)
        self._keep(state, text)

    def _keep(self, state: State, text: str) -> None:
        """Add the blocks of the paragraph to the cell or to the text."""
        para, self.para = self.para, Paragraph()
        grid = self._grids[-1] if self._grids else None
        to = self.blocks if grid is None else grid.blocks
        runs = para.runs
        if runs.hidden:
            self.lose("hidden_text")
        if grid is None and state.starts_page:
            to.append(Block(kind="page_break"))
        label = self._label(para, state, text)
        equations = runs.equation_blocks()
        said = equations or self._written(text, state, label)
        to += said
        to += para.after
        if grid is not None and said:
            grid.bold.append((runs.bold > 0 and runs.plain == 0) or any(each.kind == "heading" for each in said))
        elif grid is not None and label and label != "•":
            grid.unsaid = label

    def _label(self, para: Paragraph, state: State, text: str) -> str:
        if para.runs.hidden and not para.runs.runs:
            return ""
        counted = self.shared.lists.label(state.list, state.rank) if state.list and text.strip() else None
        said = para.label
        if said is None:
            return clean(counted or "")
        shown = clean(" ".join(said.split())) or counted or ""  # a sign of a font that is not said has no text
        if counted == "•" and shown:
            return bullet(shown, "") if not any(map(str.isalnum, shown)) else "•"
        return shown if any(map(str.isalnum, shown)) else bullet(shown, "")

    def _written(self, text: str, state: State, label: str) -> list[Block]:
        styles = self.shared.styles
        outline = state.outline
        level = styles.level(state.style) if outline is None else outline + 1 if 0 <= outline < 9 else 0
        names = [style.name.lower() for style in styles.chain(state.style)]
        kind = "code" if any(map(is_code, names)) else "caption" if "caption" in names else "paragraph"
        return list(written(text, kind, level=level, marker=label, rank=state.rank))

    # Tables

    def _to_level(self, level: int) -> None:
        """Close the tables that are deeper than a paragraph, and open those that it is in."""
        while len(self._grids) > level:
            made = self._grids.pop().made()
            (self._grids[-1].blocks if self._grids else self.blocks).extend(made)
        while len(self._grids) < min(level, _DEEPEST):
            self._grids.append(_Grid())

    def _end_cell(self, state: State, level: int) -> None:
        self._to_level(level)
        self._keep(state, self.para.runs.text())
        self._grids[-1].end_cell()

    def _has_text(self) -> bool:
        return bool(self.para.runs.runs or self.para.after)

    def _end_row(self, state: State, level: int) -> None:
        if len(self._grids) < level:
            return
        self._to_level(level)
        if self._has_text():
            self._keep(state, self.para.runs.text())
        left_out = self._grids[-1].end_row(self._nested_row if level > 1 else self._row)
        self.shared.losses.note("cell", self.place, left_out)


class Inside(Destination):
    """A group inside a text: what stands there itself is no text, but groups in it may be."""

    def __init__(self, flow: Flow) -> None:
        """Begin a group inside a text."""
        self.flow = flow


class Through(Inside):
    """A group inside a text that is text itself. `is_object` says that it shows an embedded object."""

    is_object = False

    def text(self, text: str, state: State) -> None:
        """Hand text on."""
        self.flow.text(text, state)

    def word(self, name: str, number: int | None, state: State) -> None:
        """Hand a control word on."""
        self.flow.word(name, number, state)
