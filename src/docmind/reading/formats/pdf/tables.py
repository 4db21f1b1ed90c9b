"""Tables on a page of a PDF, from the places of its words.

A line of the text is split into cells at wide spaces. Lines that follow each other and whose cells stand in the same
columns are rows of a table, if a column behind the first one has figures, or if there are three columns and more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest

import numpy as np

from docmind.blocks import PageBlock, PageTable
from docmind.reading.formats.pdf.layer import Layer
from docmind.reading.formats.pdf.lines import Lines

_GAP = 0.9  # of a line's height, between two cells
_FEWEST_ROWS = 3
_FEWEST_OF_WORDS = 5  # rows of a table without a column of figures
_MOST_BETWEEN = 3  # lines of one cell between two rows: the sections of a table, and labels of several lines
_MOST_COLUMNS = 60
_FILLED = 0.45  # of the cells of the rows with several
_MOST_HEADS = 6
_MOST_NAMES = 2  # lines of one cell above the first row
_APART = 3.5  # heights of a line between two rows
_LONGEST_TEXT = 12  # words in a usual cell behind the first one
_SAME_PLACE = 0.02  # of the page's width, for a table that goes on over pages
_LONGEST_NAME = 200
_MOST_TABLES = 1_000  # of a page: each has three lines at least
_BESIDE = 2.0  # heights of a line, between the figures of a column and its sign for nothing
_CENTRED = 0.08  # of the width of columns, between their middle and that of their common name

_FIGURE = re.compile(r"[(\-\u2212\u2013+~<>≤≥$€£¥R]*\s*\d[\d.,'\u00a0\s]*+[%)x×*†‡a-z]{0,3}")
_NOTHING = re.compile(r"[$€£(\s]*[\u2014\u2013\-*]+[)%\s]*|n/?a|n\.?m\.?|nil", re.IGNORECASE)
_YEAR = re.compile(r"(?:FY|Q[1-4]\s?)?(?:19|20)\d\d(?:/\d\d)?[*†)]?|[1-4]Q\d\d")
_ROW_YEAR = re.compile(r"(?:1[5-9]|20)\d\d(?:[/\-\u2013]\d\d(?:\d\d)?)?")
_MARK = re.compile(r"(?<=[\d%)])\s?\[(?:\d{1,3}|[a-z])[^\[\]]{0,8}\]$")  # of a note, behind a number
_SIGN = frozenset(("$", "€", "£", "¥", "R$", "US$", "($", "("))
_DASH = frozenset(("-", "\u2212"))  # a minus sign, or the sign for nothing
_AFTER = frozenset(("%", ")", ")%", "%)", "pts", "bps", "x"))
_LEADER = re.compile(r"[.\u2026\u00b7_]{3,}")
_LEADERS = re.compile(r"(?:[.\u2026_]\s?){5}")
_PROGRAM = re.compile(r">>>|[{}]|->|\+--|--\+|\w\s?\(\s?[\"'a-z_]{2,}[_,.]|(?<!\S)=(?!\S)|\btensor\b|(?<!\S)\|(?!\S)")
_CAPTION = re.compile(
    r"(?:Table|Tabela|Tabla|Quadro|Cuadro|Tableau|Tabelle|TABLE|TABELA|TABLA|Exhibit)\s+[\dIVXA-Z][\w.-]*\b"
)


@dataclass(slots=True)
class _Cell:
    start: int
    end: int
    left: float
    right: float


@dataclass(slots=True)
class _Line:
    """A line of the page's text with its cells."""

    start: int
    end: int
    top: float
    bottom: float
    cells: list[_Cell] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Last:
    """The table before, for one that goes on: columns as shares of the width, and its names."""

    page_no: int
    columns: tuple[tuple[float, float], ...]
    table: PageTable


class Tables:
    """The tables of a document, page by page in order: they go on over pages.

    A table's number is that of its first page and its place there, so that it stays unique where another process reads
    the further pages.
    """

    def __init__(self) -> None:
        self._last: Last | None = None

    def of(
        self, layer: Layer, shown: np.ndarray, places: Lines, captions: Sequence[PageBlock], page_no: int, width: int
    ) -> list[PageBlock]:
        """Return the rows of the tables of a page as blocks, in the order of its text.

        `shown` has the numbers of the words that are seen, `places` their lines; `captions` are no rows.
        """
        last, self._last = self._last, None
        lines = _lines(layer, shown, places, captions)
        if sum(len(line.cells) > 1 for line in lines) < _FEWEST_ROWS:
            return []
        blocks: list[PageBlock] = []
        number = (page_no - 1) * _MOST_TABLES
        after = 0  # the line behind the table before
        for first, end in _runs(lines):
            rows = lines[first:end]
            columns = _columns(rows, layer.text)
            if _join_minus_signs(rows, columns, layer.text):
                columns = _columns(rows, layer.text)
            if not _is_table(rows, columns, layer.text):
                continue
            begun = _above(lines, first, after, columns)
            after, rows = end, lines[begun:end]
            heads = _header_rows(rows, columns, layer.text)
            names = _names(rows[:heads], columns, layer.text)
            caption = _caption(rows, captions, layer.text)
            if last is not None and _goes_on(last, page_no, columns, width, names, caption):
                table = last.table
            else:
                table = PageTable(names, caption, "", number)
                number += 1
            blocks += _blocks(rows, columns, heads, table, layer.text)
            last = self._last = Last(page_no, tuple((left / width, right / width) for left, right in columns), table)
        return blocks


def _above(lines: Sequence[_Line], first: int, after: int, columns: Sequence[tuple[float, float]]) -> int:
    """Return where a table begins with the names above several of its columns, each on a line of its own."""
    begun = first
    while begun > max(after, first - _MOST_NAMES) and len(lines[begun - 1].cells) == 1:
        above, below = lines[begun - 1], lines[begun]
        is_near = 0 <= below.top - above.top <= 2.5 * (below.bottom - below.top)
        if not is_near or above.cells[0].left < columns[0][1] or above.cells[0].right > columns[-1][1] + 20:
            break
        begun -= 1
    return begun


def _goes_on(
    last: Last,
    page_no: int,
    columns: Sequence[tuple[float, float]],
    width: int,
    names: tuple[str, ...],
    caption: str,
) -> bool:
    """Return whether a table goes on with the one before: without a header, or with the same one again."""
    if last.page_no < page_no - 1 or len(last.columns) != len(columns) or not last.table.header:
        return False
    if names:
        is_new = caption and last.table.caption and not _is_same_caption(caption, last.table.caption)
        return page_no > last.page_no and names == last.table.header and not is_new
    # Figures are set flush right and words flush left, so one of the edges is at the same place.
    return all(
        min(abs(left / width - before), abs(right / width - behind)) < _SAME_PLACE
        for (left, right), (before, behind) in zip(columns, last.columns, strict=True)
    )


def _is_same_caption(one: str, other: str) -> bool:
    """Return whether two captions have the same number, as `Table 3 (continued)`."""
    first, second = _CAPTION.match(one), _CAPTION.match(other)
    return first is not None and second is not None and first.group() == second.group()


def _lines(layer: Layer, shown: np.ndarray, places: Lines, captions: Sequence[PageBlock]) -> list[_Line]:
    """Return the lines of a page with their cells, without captions; lines without a wide space have one cell."""
    words, text = layer.words, layer.text
    if len(shown) < 2 * _FEWEST_ROWS:
        return []
    x, _y, w, h = words.boxes[shown].T
    # The mark of a note is a part of the word before it, and its small box tells nothing of the line.
    is_part = np.append(False, words.starts[shown][1:] == words.ends[shown][:-1])
    h = np.where(is_part, np.maximum(h, np.roll(h, 1)), h)
    wide = x[1:] - (x[:-1] + w[:-1]) > _GAP * np.maximum(h[1:], h[:-1])
    wide[np.asarray(places.first[1:], dtype=np.int64) - 1] = False
    at = np.flatnonzero(wide) + 1
    firsts = places.first
    if len(np.unique(np.searchsorted(firsts, at, side="right"))) < _FEWEST_ROWS:  # as on most pages
        return []
    lasts = [*(number - 1 for number in firsts[1:]), len(shown) - 1]
    cuts = at.tolist()
    starts, ends = words.starts[shown].tolist(), words.ends[shown].tolist()
    right, edges = (x + w).tolist(), x.tolist()
    left_out = {at for block in captions for at in range(block.start, block.end)}
    out: list[_Line] = []
    cut = 0
    for number, (first, last) in enumerate(zip(firsts, lasts, strict=True)):
        begun = cut
        while cut < len(cuts) and cuts[cut] <= last:
            cut += 1
        if starts[first] in left_out:
            continue
        line = _Line(starts[first], ends[last], places.tops[number], places.bottoms[number])
        if cut == begun:
            line.cells.append(_Cell(starts[first], ends[last], edges[first], right[last]))
            out.append(line)
            continue
        for one, other in pairwise([first, *cuts[begun:cut], last + 1]):
            cell = _Cell(starts[one], ends[other - 1], edges[one], right[other - 1])
            before = line.cells[-1] if line.cells else None
            said = text[cell.start : cell.end]
            if before and (text[before.start : before.end] in _SIGN or said in _AFTER):
                before.end, before.right = cell.end, cell.right
            elif not _LEADER.fullmatch(said):
                line.cells.append(cell)
        for cell in line.cells:
            mark = _MARK.search(text[cell.start : cell.end])
            cell.end = cell.start + mark.start() if mark is not None else cell.end
        if line.cells:
            out.append(line)
    return out


def _runs(lines: Sequence[_Line]) -> list[tuple[int, int]]:
    """Return where lines of several cells follow each other from the top down, with few of one cell between them."""
    out: list[tuple[int, int]] = []
    first = last = -1
    for number, line in enumerate(lines):
        high = line.bottom - line.top
        if first >= 0 and (
            line.top < lines[number - 1].top - 3.5 * high
            or line.top - lines[number - 1].bottom > _APART * high
            or number - last > _MOST_BETWEEN
        ):
            out.append((first, last + 1))
            first = -1
        if len(line.cells) > 1:
            first = number if first < 0 else first
            last = number
    if first >= 0:
        out.append((first, last + 1))
    return out


def _columns(rows: Sequence[_Line], text: str) -> list[tuple[float, float]]:
    """Return left and right of the columns: strips that no usual row leaves empty and none crosses."""
    usual = max((len(row.cells) for row in rows), default=0)
    counts = sorted((len(row.cells) for row in rows if len(row.cells) > 1), reverse=True)
    if not counts or usual > _MOST_COLUMNS:
        return []
    middle = counts[len(counts) // 2]
    whole = [row for row in rows if len(row.cells) >= max(2, middle)]
    strips = _strips((c.left, c.right) for row in whole for c in row.cells if text[c.start : c.end] not in _DASH)
    return _strips([*strips, *_strips_of_dashes(whole, strips, text)])


def _strips(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return spans with those that overlap as one."""
    out: list[list[float]] = []
    for left, right in sorted(spans):
        if out and left < out[-1][1]:
            out[-1][1] = max(out[-1][1], right)
        else:
            out.append([left, right])
    return [(left, right) for left, right in out]


def _strips_of_dashes(
    rows: Sequence[_Line], strips: Sequence[tuple[float, float]], text: str
) -> Iterator[tuple[float, float]]:
    """Yield what dashes that stand beside the strips of other cells add to them.

    A dash is set flush with the last figure of a column or behind it, where negative numbers have their bracket. It
    belongs to the nearer strip beside it in which its row has nothing else, and where there is none to one of its own.
    """
    for row in rows:
        for cell in (cell for cell in row.cells if text[cell.start : cell.end] in _DASH):
            if any(left < cell.right and cell.left < right for left, right in strips):
                continue
            reach = _BESIDE * (row.bottom - row.top)
            near = [
                (max(cell.left - right, left - cell.right), left, right)
                for left, right in strips
                if max(cell.left - right, left - cell.right) <= reach
                and not any(other.left < right and left < other.right for other in row.cells)
            ]
            _gap, left, right = min(near, default=(0.0, cell.left, cell.right))
            yield min(left, cell.left), max(right, cell.right)


def _join_minus_signs(rows: Sequence[_Line], columns: Sequence[tuple[float, float]], text: str) -> bool:
    """Join minus signs that are set apart to their numbers, and return whether there are any.

    A dash in a column of numbers says that there is none. One that is the sign of the number behind it stands where no
    row has anything else, and not every row has it.
    """
    others: set[int] = set()  # columns with anything but dashes
    dashes: dict[int, list[tuple[_Line, _Cell, _Cell]]] = {}
    full = [row for row in rows if len(row.cells) > 1]
    for row in full:
        for cell, after in zip_longest(row.cells, row.cells[1:]):
            over = _place(cell, columns)
            is_dash = text[cell.start : cell.end] in _DASH and len(over) == 1
            if (
                is_dash
                and after is not None
                and _place(after, columns)[0] == over[0] + 1
                and _FIGURE.fullmatch(text[after.start : after.end])
            ):
                dashes.setdefault(over[0], []).append((row, cell, after))
            else:
                others.update(over)
    columns_of_signs = [column for column, found in dashes.items() if column not in others and len(found) < len(full)]
    signs = [one for column in columns_of_signs for one in dashes[column]]
    for row, cell, after in signs:
        after.start, after.left = cell.start, cell.left
        row.cells.remove(cell)
    return bool(signs)


def _place(cell: _Cell, columns: Sequence[tuple[float, float]]) -> list[int]:
    """Return the columns over which a cell stands, or the nearest one."""
    over = [number for number, (left, right) in enumerate(columns) if cell.left < right and cell.right > left]
    if over:
        return over
    middle = (cell.left + cell.right) / 2
    return [min(range(len(columns)), key=lambda number: abs(sum(columns[number]) / 2 - middle))]


def _is_figure(text: str) -> bool:
    return bool(_FIGURE.fullmatch(text) or _NOTHING.fullmatch(text))


def _is_table(rows: Sequence[_Line], columns: Sequence[tuple[float, float]], text: str) -> bool:
    full = [row for row in rows if len(row.cells) > 1]
    leaders = sum(bool(_LEADERS.search(text, row.start, row.end)) for row in rows)
    if len(full) < _FEWEST_ROWS or len(columns) < 2 or 2 * len(full) < len(rows) or 3 * leaders > len(rows):
        return False
    cells: list[list[str]] = [[] for _ in columns]
    for row in full:
        for cell in row.cells:
            over = _place(cell, columns)
            if len(over) == 1:
                cells[over[0]].append(text[cell.start : cell.end])
    filled = [len(column) >= 0.4 * len(full) for column in cells]
    figures = [sum(map(_is_figure, column)) >= max(_FEWEST_ROWS, 0.5 * len(column)) for column in cells]
    long = [bool(column) and sum(len(one.split()) for one in column) > _LONGEST_TEXT * len(column) for column in cells]
    lettered = [sum(any(map(str.isalpha, text[c.start : c.end])) for c in row.cells) for row in full]
    if sum(filled) < 2 or any(long[1:]):
        return False
    if 2 * sum(map(bool, lettered)) < len(full) and not (
        2 * lettered[0] > len(columns) or _are_years(cells[0], len(full))
    ):
        return False  # numbers on a drawing, unless a first row names their columns or years number the rows
    signs = sum(bool(_PROGRAM.search(text, row.start, row.end)) for row in rows)
    if 3 * signs > len(rows):
        return False
    if sum(len(row.cells) for row in full) < _FILLED * len(full) * len(columns):
        return False
    if any(has and some for has, some in zip(figures[1:], filled[1:], strict=True)):
        return True
    # Words alone may be lines that are spread to the margins, or a program.
    whole = sum(len(row.cells) >= 3 for row in full)
    return sum(filled) >= 3 and whole >= _FEWEST_OF_WORDS and whole >= 0.75 * len(full) >= 0.5 * len(rows)


def _are_years(cells: Sequence[str], rows: int) -> bool:
    """Return whether the cells of a column are the years of all rows but one, up or down."""
    years = [int(one[:4]) for one in cells if _ROW_YEAR.fullmatch(one)]
    steps = {later > earlier for earlier, later in pairwise(years)}
    return len(years) >= max(_FEWEST_ROWS, rows - 1) and len(set(years)) == len(years) and len(steps) == 1


def _header_rows(rows: Sequence[_Line], columns: Sequence[tuple[float, float]], text: str) -> int:
    """Return how many rows at the top name the columns: those before the first with a figure that is no year."""
    has_figures = False
    for number, row in enumerate(rows):
        said = [(text[c.start : c.end], _place(c, columns)) for c in row.cells]
        behind = [one for one, over in said if over[0] > 0]
        figures = [one for one in behind if _is_figure(one)]
        if figures and not all(_YEAR.fullmatch(one) for one in figures):
            has_figures = True
            # The title of a section, and the first line of a row of several lines, are no names of columns.
            behind_names = {over[0] for one, over in said if over[0] > 0 and _is_figure(one)}
            while number > 0 and _begins_row(rows[number - 1], columns, behind_names):
                number -= 1
            return number if number <= _MOST_HEADS else 0
    whole = next((number for number, row in enumerate(rows) if len(row.cells) >= len(columns)), 0)
    return 0 if has_figures or whole > _MOST_HEADS else max(1, whole)


def _begins_row(row: _Line, columns: Sequence[tuple[float, float]], figures: set[int]) -> bool:
    places = [_place(cell, columns) for cell in row.cells]
    return places[0][0] == 0 and not any(figures & set(over) for over in places)


def _names(heads: Sequence[_Line], columns: Sequence[tuple[float, float]], text: str) -> tuple[str, ...]:
    if not heads:
        return ()
    names: list[list[str]] = [[] for _ in columns]
    for number, row in enumerate(heads):
        places = [_place(cell, columns) for cell in row.cells]
        if number + 1 < len(heads):
            below = {at: cell for cell in heads[number + 1].cells for at in _place(cell, columns)}
            reach = [
                (min(left, below[at].left), max(right, below[at].right)) if at in below else (left, right)
                for at, (left, right) in enumerate(columns)
            ]
            places = [
                _spanned(cell, over, places, reach, below.keys()) for cell, over in zip(row.cells, places, strict=True)
            ]
        for cell, over in zip(row.cells, places, strict=True):
            for at in over:
                names[at].append(text[cell.start : cell.end].replace("\n", " "))
    return tuple(" ".join(parts)[:_LONGEST_NAME] for parts in names)


def _spanned(
    cell: _Cell,
    over: list[int],
    others: Sequence[list[int]],
    columns: Sequence[tuple[float, float]],
    named: Set[int],
) -> list[int]:
    """Return the columns over whose middle a name stands, where the row below it names each of them.

    A name in the middle of several columns is that of all of them: `Paid in` above `May` and `June`.
    """
    if over[0] == 0:
        return over
    taken = {at for place in others if place is not over for at in place}
    middle, best = (cell.left + cell.right) / 2, over
    first, last = over[0], over[-1]
    while first - 1 > 0 and first - 1 in named and first - 1 not in taken:
        first -= 1
    while last + 1 < len(columns) and last + 1 in named and last + 1 not in taken:
        last += 1
    for begun in range(first, over[0] + 1):
        for ended in range(over[-1], last + 1):
            left, right = columns[begun][0], columns[ended][1]
            is_centred = abs((left + right) / 2 - middle) < _CENTRED * (right - left)
            if is_centred and ended - begun > best[-1] - best[0]:
                best = list(range(begun, ended + 1))
    return best


def _caption(rows: Sequence[_Line], captions: Sequence[PageBlock], text: str) -> str:
    """Return the nearest caption of a table with few lines between it and the rows, above them or else below."""
    above = [one for one in captions if one.end <= rows[0].start and text.count("\n", one.end, rows[0].start) <= 3]
    below = [one for one in captions if one.start >= rows[-1].end and text.count("\n", rows[-1].end, one.start) <= 2]
    for one in (*above[::-1], *below):
        said = text[one.start : one.end]
        if _CAPTION.match(said):
            return said.replace("\n", " ")[:_LONGEST_NAME]
    return ""


def _blocks(
    rows: Sequence[_Line], columns: Sequence[tuple[float, float]], heads: int, table: PageTable, text: str
) -> list[PageBlock]:
    out: list[PageBlock] = []
    open_rows: list[_Line] = []  # the lines before of a row of several lines
    for number, row in enumerate(rows):
        if number >= heads and number + 1 < len(rows) and _continues(row, rows[number + 1], columns, text):
            open_rows.append(row)
            continue
        spans: list[tuple[int, int]] = [(-1, -1)] * len(columns)
        for cell in (cell for line in [*open_rows, row] for cell in line.cells):
            at = _place(cell, columns)[0]
            begun, _ = spans[at]
            spans[at] = (cell.start if begun < 0 else begun, cell.end)
        start = open_rows[0].start if open_rows else row.start
        place, cells = start, []
        for begun, ended in spans:
            cells.append((begun, ended) if begun >= 0 else (place, place))
            place = max(place, cells[-1][1])
        out.append(
            PageBlock("header_row" if number < heads else "row", start, row.end, table=table, cells=tuple(cells))
        )
        open_rows = []
    return out


def _continues(row: _Line, after: _Line, columns: Sequence[tuple[float, float]], text: str) -> bool:
    """Return whether the last cell of a line without figures goes on in the next line, which belongs to its row."""
    last, first = row.cells[-1], after.cells[0]
    column = _place(first, columns)[0]
    if len(row.cells) > 2 or _place(last, columns)[0] != column or after.start <= row.end:
        return False
    if any(_is_figure(text[cell.start : cell.end]) for cell in row.cells):
        return False
    return column > 0 or (len(after.cells) > 1 and text[first.start].islower())
