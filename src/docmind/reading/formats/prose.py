"""What texts of word processors have in common: runs to paragraphs, paragraphs to blocks, blocks to cells and lines."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from docmind.blocks import Block, BlockKind, Table, shown_in
from docmind.reading.formats.cells import CellRead
from docmind.reading.formats.characters import struck, subscript, superscript
from docmind.reading.formats.typeset import LINE, printable, shown

BREAK = "\x0c"
"""A page break within a paragraph's text, which can hold no such character itself."""
PAGE_NUMBER = "\x0e"
"""A page number in a header or footer, in place of its digits."""
ANCHOR_MAX = 200
"""Characters of the text that a note or comment belongs to."""

STRUCK = "\x10"
"""What stands before and behind a run that is struck out: runs side by side are one."""
_STRUCK_RUN = re.compile(f"{STRUCK}([^{STRUCK}]*){STRUCK}")
_SENTENCE = re.compile(r"(?<=[.!?…])[\s\"”’»)\]]+")
_HEADING = re.compile(
    r"(?:heading|überschrift|titre|título|titulo|titolo|encabezado|cabeçalho|kop|rubrik|overskrift|otsikko|nagłówek|"
    r"заголовок|标题|見出し|제목) ?([1-9])"
)
_NAMED = {"title": 1, "subtitle": 3}
_BESIDE_MAX = 100  # characters beside an equation of its own line
_NUMBERED = re.compile(r"[\s.,;]*+(\([\w.\-]{1,8}\))?[\s.,;]*")  # what may stand beside an equation of its own line
_SCRIPTS = {"superscript": superscript, "subscript": subscript}
_SCRIPT_MAX = 100  # characters of raised or lowered text over several runs
_HEADING_MAX = 250  # characters: a longer one is a clause that only has the style of a heading
_RUNNING_MAX = 1_000  # characters of a line of a header, in which the words around its page number are looked for
_CODE = frozenset(("code", "source code", "html preformatted", "preformatted text", "code block"))
_ASIDE = frozenset(("footnote", "comment"))
_PAGE_WORDS = r"(?:page|p\.|pg\.?|página|pág\.?|pagina|pag\.?|seite|s\.|folha|hoja|str\.?|strana|sida|side|стр\.?)"
_PAGES = re.compile(
    rf"(?:\b{_PAGE_WORDS}\s*)?[\[(|/–—-]*\s*{PAGE_NUMBER}(?:\s*+(?:(?:of|de|von|sur|di|van|av|af|z|из|/|\|)\s*+)?"
    rf"(?:{PAGE_NUMBER}|\d+\b))?\s*+[\])|/–—-]*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Run:
    """Text of one look. `script` is "superscript", "subscript" or "". An equation may know its LaTeX."""

    text: str
    script: str = ""
    is_struck: bool = False
    is_equation: bool = False
    latex: str = ""


@dataclass(slots=True)
class Runs:
    """A paragraph: its runs, with `BREAK` where a page ends, and how much of it is bold or hidden."""

    runs: list[Run] = field(default_factory=list)
    bold: int = 0
    plain: int = 0
    hidden: int = 0

    def say(self, text: str, *, script: str = "", is_struck: bool = False, is_bold: bool = False) -> None:
        """Add a text."""
        self.runs.append(Run(text, script, is_struck))
        letters = len(text.strip())
        self.bold += letters if is_bold else 0
        self.plain += 0 if is_bold else letters

    def text(self) -> str:
        """Return the text with its equations in it; what is struck out stands between tildes."""
        parts: list[str] = []
        for run in self._joined():
            text = run.text
            if run.script in _SCRIPTS and len(text) <= _SCRIPT_MAX:
                ahead = next((part for part in reversed(parts[-5:]) if part.strip(STRUCK)), "")
                text = _SCRIPTS[run.script](text, ahead.strip(STRUCK))
            parts.append(f"{STRUCK}{text}{STRUCK}" if run.is_struck and text.strip() else text)
        return struck_out("".join(parts))

    def end(self, most: int) -> str:
        """Return the last characters of the text, without reading all of a long one."""
        last, length = list[Run](), 0
        for run in reversed(self.runs):
            last.append(replace(run, is_struck=False))
            length += len(run.text)
            if length >= most:
                break
        return Runs(last[::-1]).text()[-most:]

    def equations(self) -> list[Run]:
        """Return the equations of a paragraph that shows nothing else but a number; none where there is text."""
        found = [run for run in self.runs if run.is_equation]
        words = "".join(run.text for run in self.runs if not run.is_equation) if found else ""
        return found if is_beside_equation(words) else []

    def equation_blocks(self) -> list[Block]:
        """Return the blocks of a paragraph that is `equations`; none where there is text."""
        found = self.equations()
        words = "".join(run.text for run in self.runs if not run.is_equation).strip(" \t\u2028.,;") if found else ""
        texts = [run.text for run in found]
        if found:
            texts[-1] = f"{texts[-1]} {words}".strip()
        return [
            Block(kind="equation", text=clean(text), latex=printable(run.latex))
            for text, run in zip(texts, found, strict=True)
        ]

    def _joined(self) -> Iterator[Run]:
        """Yield the runs; those of one look side by side are one."""
        texts: list[str] = []
        last = Run("")
        for run in self.runs:
            is_alike = run.script == last.script and run.is_struck == last.is_struck
            if texts and not (is_alike and not run.is_equation and not last.is_equation):
                yield Run("".join(texts), last.script, last.is_struck)
                texts = []
            texts.append(run.text)
            last = run
        if texts:
            yield Run("".join(texts), last.script, last.is_struck)


def is_beside_equation(words: str) -> bool:
    """Return whether the words of a paragraph beside its equations are none but a number, such as "(2)"."""
    return len(words) <= _BESIDE_MAX and bool(_NUMBERED.fullmatch(words))


def struck_out(text: str) -> str:
    """Return text in which what stands between marks of struck-out runs stands between tildes."""
    if STRUCK not in text:
        return text
    joined = text.replace(STRUCK + STRUCK, "")
    return _STRUCK_RUN.sub(lambda found: _struck_inside(found[1]), joined)


def _struck_inside(text: str) -> str:
    """Return a text struck out, but for the space around it."""
    rest = text.lstrip()
    words = rest.rstrip()
    return text[: len(text) - len(rest)] + struck(words) + rest[len(words) :]


def last_sentence(text: str) -> str:
    """Return the sentence at whose end the mark of a note stands."""
    return _SENTENCE.split(text.rpartition(BREAK)[2].strip())[-1][-ANCHOR_MAX:]


def level_of_name(name: str) -> int:
    """Return the level of the headings of a style, by its name in any language; 0 where it is none of headings."""
    found = _HEADING.fullmatch(name.lower())
    return int(found.group(1)) if found else _NAMED.get(name.lower(), 0)


def is_code(style: str) -> bool:
    """Return whether a style, by its name in small letters, is that of code."""
    return style in _CODE


def written(text: str, kind: BlockKind, *, level: int = 0, marker: str = "", rank: int = 0) -> Iterator[Block]:
    """Yield the text of a paragraph as blocks, with the page breaks in it.

    It is a heading where it has a `level`, else an item where it has a `marker`, else of the `kind`.
    """
    for number, raw in enumerate(text.split(BREAK)):
        if number:
            yield Block(kind="page_break")
        piece = clean(raw).strip()
        if not piece:
            continue
        if level and len(piece) <= _HEADING_MAX:
            yield Block(kind="heading", text=piece, level=level, marker=marker)
        elif marker:
            yield Block(kind="item", text=piece, level=rank, marker=marker)
        else:
            yield Block(kind=kind, text=piece.replace(LINE, "\n") if kind == "code" else piece)
        marker = ""


def cell_read(blocks: list[Block | Table], unsaid: str = "", *, is_bold: bool = False) -> CellRead:
    """Return a cell. Tables in it are part of its text, so that a row that is quoted is complete.

    `unsaid` is the number of a paragraph without text: rows are often numbered by a list of such.
    """
    text, aside = flat(blocks)
    if not text:
        figures = [block for block in aside if isinstance(block, Block) and block.kind == "figure"]
        text = " ".join(filter(None, (block.text for block in figures)))
        shown_below = [replace(block, text="") for block in figures if block.picture is not None]
        aside = [*(block for block in aside if block not in figures), *shown_below]
    kept = [block for block in blocks if block not in aside]
    return CellRead(" ".join((text or unsaid).split()), kept, aside, is_bold)


def flat(blocks: Iterable[Block | Table]) -> tuple[str, list[Block | Table]]:
    """Return the text of blocks, a line for each, and those that are no part of the text."""
    lines, aside = list[str](), list[Block | Table]()
    for block in blocks:
        if isinstance(block, Table):
            rows = (
                [shown_in(cell) for cell in row if isinstance(cell, str) or not cell.is_filled] for row in block.rows
            )
            lines.append("; ".join(filter(None, (", ".join(filter(None, row)) for row in rows))))
        elif block.kind in _ASIDE or block.kind == "figure":
            aside.append(block)
        elif block.kind != "page_break":
            lines.append(shown(block))
    return LINE.join(filter(None, lines)), aside


def _without_page_numbers(line: str) -> str:
    """Return a line of a header without its page number; "" where nothing else is said."""
    if PAGE_NUMBER not in line:
        return line
    if len(line) <= _RUNNING_MAX:
        line = _PAGES.sub(" ", " ".join(line.split()))
    rest = " ".join(line.replace(PAGE_NUMBER, " ").split())
    return rest if any(map(str.isalnum, rest)) else ""


def running(text: str, kind: str, given: set[tuple[str, str]]) -> Block | None:
    """Return the block of a header or footer without its page numbers; None where it says nothing, or was `given`.

    `kind` is "header" or that of a footer. What is returned is noted in `given`.
    """
    text = LINE.join(filter(None, map(_without_page_numbers, text.split(LINE))))
    key = kind, " ".join(text.split()).casefold()
    if not text or key in given:
        return None
    given.add(key)
    return Block(kind="header" if kind == "header" else "footer", text=text)


def clean(text: str) -> str:
    """Return text as a reader sees it: accents composed, without invisible characters."""
    # The mark of a page number is a control character, which stays until its line is known.
    shown_text = PAGE_NUMBER.join(map(printable, text.split(PAGE_NUMBER))) if PAGE_NUMBER in text else printable(text)
    return shown_text if shown_text.isascii() else unicodedata.normalize("NFC", shown_text)
