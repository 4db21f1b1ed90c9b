"""Parts of a page beside its body: running heads and feet, footnotes, and captions.

They are known by the size of their letters and their place, so that no sentence of the body runs into them. A wrong
guess costs little: the text stays as it is, and only ends of sentences are set there.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import takewhile

from docmind.blocks import PageBlock, PageKind
from docmind.reading.formats.pdf.lines import Lines

_EDGE = 0.12  # of the page's height, at its top and at its foot
_EDGE_LINES = 4  # at either end of a page that may be heads and feet
_PAGES = 2  # before: heads of left and right pages differ
_SMALLER = 0.94  # of the size of the body: letters of a note
_RAISED = 0.8  # of the size of its line: the number of a note
_APART = 1.6  # usual steps from line to line, before a note in letters of the size of the body
_LOW = 0.4  # of the page's height, below which a note in such letters begins
_MOST_LEFT_OUT = 2  # from the number of a note to that of the next one
_MOST_CAPTION_LINES = 8
_FEWEST_LISTED = 3  # captions that follow each other are a list of figures

_NOTE = re.compile(
    r"(?:\(?(?P<number>\d{1,3})[.)\]/]?|\[(?P<cited>\d{1,3})\]|[*†‡§¶]{1,3}|[a-z][.)]?(?=\s))\s*[\"“«‘(¿]?[^\W\d_]"
)
_NUMBERED_NOTE = re.compile(r"(?:\d{1,3}|[*†‡§¶]{1,3})\s*[\"“«‘(¿]?[A-ZÀ-Þ][\w’']*(?:\s+\S+){4}")
_ENDED = re.compile(r"[.!?…:;][\"”’»)\]\d*†]{0,6}$")
_CAPTION = re.compile(
    r"(?:fig(?:ure|ura|\.)?|table|tabela|tabla|quadro|cuadro|tableau|tabelle|abb(?:ildung|\.)?|chart|gráfico|plate|"
    r"photo|foto)\s*(?:\d{1,3}|[IVX]{1,5}|[A-Z](?![a-z]))(?:[.\-–]\d{1,3})*(?:(?<=\d)[a-z])?(?P<mark>\s*[.:|–—](?=\s|$)|$)?",
    re.IGNORECASE,
)
_LEADERS = re.compile(r"(?:[.…_]\s?){4}")
_LISTED = re.compile(r"(?:[.…_]\s?){4}|\s\d{1,4}$")
_PAGE_NUMBER = re.compile(
    r"[-–—\s\[(|]*(?:(?:page|p[áa]gina|p[áa]g\.?|p\.|seite)\s*)?(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:of|de|von|/|\|)\s*\d{1,4})?"
    r"[-–—\s\])|]*",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"[\d.,:/]+|\b[ivxlc]+\b")


class Parts:
    """The parts of the pages of a document, page by page in order: heads and feet repeat those of the pages before."""

    def __init__(self) -> None:
        self._edges: deque[set[str]] = deque(maxlen=_PAGES)

    def of(self, text: str, lines: Lines, height: int) -> list[PageBlock]:
        """Return heads, feet, footnotes and captions of a page `height` pixels high, in the order of its text."""
        if not lines.starts:
            self._edges.append(set())
            return []
        page = _Page(text, lines, height)
        edges = page.edges()
        kinds: dict[int, PageKind] = {}
        for kind, outer in edges.items():
            for at in takewhile(lambda at: self._is_running(page.said(at)), outer):
                kinds[at] = kind
        self._edges.append({_masked(page.said(at)) for outer in edges.values() for at in outer})
        notes = list(page.notes(kinds))
        taken = {*kinds, *(line for first, last in notes for line in range(first, last + 1))}

        def block(kind: PageKind, first: int, last: int) -> PageBlock:
            return PageBlock(kind, lines.starts[first], lines.ends[last])

        found = [block(kind, at, at) for at, kind in kinds.items()]
        found += [block("footnote", *span) for span in notes]
        found += [block("caption", *span) for span in page.captions(taken)]
        return sorted(found, key=lambda block: block.start)

    def _is_running(self, said: str) -> bool:
        if _PAGE_NUMBER.fullmatch(said):
            return True
        masked = _masked(said)
        return any(masked in edges for edges in self._edges) and any(map(str.isalpha, masked))


def _masked(said: str) -> str:
    """Return a head or foot without its numbers, to compare it with that of another page."""
    return " ".join(_DIGITS.sub("", said).split())


def beside(rows: Sequence[PageBlock], parts: Sequence[PageBlock]) -> list[PageBlock]:
    """Return rows of tables and the parts that do not overlap them, in the order of the text."""
    out: list[PageBlock] = list(rows)
    at = 0
    for part in parts:
        while at < len(rows) and rows[at].end <= part.start:
            at += 1
        if at == len(rows) or rows[at].start >= part.end:
            out.append(part)
    return sorted(out, key=lambda block: block.start)


class _Page:
    """The lines of one page with its usual letters and steps."""

    def __init__(self, text: str, lines: Lines, height: int) -> None:
        self._text, self._lines, self._height = text, lines, height
        self._count = len(lines.starts)
        self._body = _weighted_median(
            lines.sizes, [end - start for start, end in zip(lines.starts, lines.ends, strict=True)]
        )
        steps = sorted(
            lines.tops[at] - lines.tops[at - 1]
            for at in range(1, self._count)
            if lines.sizes[at] >= _SMALLER * self._body and lines.tops[at] > lines.tops[at - 1]
        )
        self._step = steps[len(steps) // 2] if steps else 0.0

    def said(self, at: int) -> str:
        return self._text[self._lines.starts[at] : self._lines.ends[at]]

    def edges(self) -> dict[PageKind, list[int]]:
        """Return the lines that may be heads and feet, each from the outermost one inwards."""
        tops, bottoms = self._lines.tops, self._lines.bottoms
        down = sorted(range(self._count), key=tops.__getitem__)
        heads = [at for at in down[:_EDGE_LINES] if bottoms[at] <= _EDGE * self._height]
        feet = [at for at in down[-_EDGE_LINES:][::-1] if tops[at] >= (1 - _EDGE) * self._height]
        return {"header": heads, "footer": feet}

    def notes(self, taken: dict[int, PageKind]) -> Iterator[tuple[int, int]]:
        """Yield the first and the last line of each footnote: what is below the lines of a column."""
        for first, end in self._runs(taken):
            begun = self._notes_begin(first, end)
            if begun is None:
                continue
            starts, number = [begun], self._number_of(begun)
            for at in range(begun + 1, end):
                follows = self._number_of(at)
                if self._begins_note(at) and (not follows or not number or number < follows <= number + _MOST_LEFT_OUT):
                    starts.append(at)
                    number = follows or number
            yield from zip(starts, [*(at - 1 for at in starts[1:]), end - 1], strict=True)

    def _runs(self, taken: dict[int, PageKind]) -> Iterator[tuple[int, int]]:
        """Yield lines that follow each other from the top down: a column, or a page of one."""
        tops, first = self._lines.tops, 0
        for at in range(1, self._count + 1):
            is_break = at == self._count or at in taken or at - 1 in taken or tops[at] < tops[at - 1]
            if is_break:
                if first not in taken and at > first:
                    yield first, at
                first = at

    def _notes_begin(self, first: int, end: int) -> int | None:
        lines = self._lines
        begun = end
        while begun > first and lines.sizes[begun - 1] < _SMALLER * self._body:
            begun -= 1
        if begun < end:
            if any(_LEADERS.search(self.said(at)) for at in range(begun, end)):  # a table of contents
                return None
            marked = next((at for at in range(begun, end) if self._begins_note(at)), None)
            if marked is None:
                return None
            if begun == first and lines.tops[begun] < 0.5 * self._height:
                return None
            is_apart = begun == first or lines.tops[begun] - lines.bottoms[begun - 1] > 0.3 * self._step
            return begun if is_apart else marked
        return next((at for at in range(first + 1, end) if self._is_note_of_same_size(at, end)), None)

    def _begins_note(self, at: int) -> bool:
        """Return whether a line begins with the sign of a note; one above 99 is raised, or a number of its sentence."""
        said = self.said(at)
        if not _NOTE.match(said):
            return False
        return self._number_of(at) < 100 or self._lines.lead_sizes[at] < _RAISED * self._lines.sizes[at]

    def _number_of(self, at: int) -> int:
        """Return the number of the note that begins with a line; 0 where it has a sign or none."""
        match = _NOTE.match(self.said(at))
        return int(match["number"] or match["cited"] or 0) if match is not None else 0

    def _is_note_of_same_size(self, at: int, end: int) -> bool:
        lines = self._lines
        step = lines.tops[at] - lines.tops[at - 1]
        if not _NUMBERED_NOTE.match(self.said(at)):
            return False
        is_raised = lines.lead_sizes[at] < _RAISED * lines.sizes[at]
        if is_raised or self._is_closer(at, end):
            return lines.tops[at] > _LOW * self._height
        return step > _APART * self._step and not _ENDED.search(self.said(at - 1))

    def _is_closer(self, at: int, end: int) -> bool:
        """Return whether the lines from here on are closer to each other than those of the body."""
        tops = self._lines.tops
        steps = sorted(tops[each] - tops[each - 1] for each in range(at + 1, end))
        return bool(steps) and 0 < steps[len(steps) // 2] < 0.75 * self._step

    def captions(self, taken: set[int]) -> Iterator[tuple[int, int]]:
        """Yield the first and the last line of each caption."""
        found: list[tuple[int, int]] = []
        at = 0
        while at < self._count:
            if at in taken or not self._is_caption(at):
                at += 1
                continue
            last = at
            while last + 1 - at < _MOST_CAPTION_LINES and last + 1 not in taken and self._goes_on(at, last):
                last += 1
            found.append((at, last))
            at = last + 1
        lists = [
            sum(other[0] == one[1] + 1 or one[0] == other[1] + 1 for other in found) >= _FEWEST_LISTED - 1
            for one in found
        ]
        yield from (span for span, is_list in zip(found, lists, strict=True) if not is_list)

    def _is_caption(self, at: int) -> bool:
        said = self.said(at)
        match = _CAPTION.match(said)
        if match is None or not said[0].isupper() or _LISTED.search(said):
            return False
        is_smaller = self._lines.sizes[at] < _SMALLER * self._body
        if match["mark"] is None and not (is_smaller and said[match.end() :].lstrip()[:1].isupper()):
            return False
        if at == 0 or is_smaller or self._lines.tops[at] < self._lines.tops[at - 1]:
            return True
        is_apart = self._lines.tops[at] - self._lines.tops[at - 1] > 1.25 * self._step
        return is_apart or bool(_ENDED.search(self.said(at - 1)))

    def _goes_on(self, first: int, last: int) -> bool:
        """Return whether the line below the last one belongs to the same caption."""
        lines, after = self._lines, last + 1
        if after >= self._count or abs(lines.sizes[after] - lines.sizes[first]) > 0.04 * lines.sizes[first]:
            return False
        step, high = lines.tops[after] - lines.tops[last], lines.bottoms[last] - lines.tops[last]
        if not 0 < step <= 1.8 * high or _CAPTION.match(self.said(after)):
            return False
        if lines.lefts[after] >= lines.rights[first] or lines.rights[after] <= lines.lefts[first]:
            return False
        is_body = lines.sizes[first] >= _SMALLER * self._body
        return not is_body or (not _ENDED.search(self.said(last)) and self.said(after)[:1].islower())


def _weighted_median(values: Sequence[float], weights: Sequence[int]) -> float:
    half, reached = sum(weights) / 2, 0
    for value, weight in sorted(zip(values, weights, strict=True)):
        reached += weight
        if reached >= half:
            return value
    return 0.0
