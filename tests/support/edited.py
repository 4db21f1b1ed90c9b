"""Documents edited by code: a text with known edits, written in any of the formats that DocMind reads."""

from __future__ import annotations

import copy
import csv
import html
import io
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import docx
import openpyxl

from papers import pdf

SYLLABLES = ("ba", "co", "di", "fe", "gu", "la", "mo", "ni", "pa", "ro", "su", "ta", "ve", "zi", "ler", "mun")
LINKS = ("the", "of", "and", "is", "to", "in", "for", "by")
TEXTS, TABLES = ("txt", "md", "docx", "html", "pdf"), ("csv", "xlsx")
FORMATS = TEXTS + TABLES
_LINES, _WIDE = 44, 70  # of a page of a PDF


@dataclass
class Edit:
    """What was done: the words that are gone, and those that came. A move has the same in both."""

    kind: str
    gone: str = ""
    came: str = ""


@dataclass
class Paper:
    """A text: paragraphs, each a list of sentences, below headings, and rows of a table."""

    headings: list[str] = field(default_factory=list)
    parts: list[list[list[str]]] = field(default_factory=list)  # sections of paragraphs of sentences
    rows: list[list[str]] = field(default_factory=list)


class Writer:
    """Makes a paper and edits it; the same seed gives the same."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def word(self) -> str:
        return "".join(self.chance.choice(SYLLABLES) for _ in range(self.chance.randint(2, 4)))

    def number(self) -> str:
        return f"{self.chance.randint(2, 9_999):,}"

    def sentence(self) -> str:
        words = [
            self.word() if self.chance.random() < 0.6 else self.chance.choice(LINKS)
            for _ in range(self.chance.randint(7, 18))
        ]
        words[self.chance.randrange(2, len(words) - 1)] = self.number()
        if self.chance.random() < 0.3:
            words[2] += ","
        return " ".join(words).capitalize() + "."

    def paragraph(self) -> list[str]:
        return [self.sentence() for _ in range(self.chance.randint(2, 5))]

    def row(self) -> list[str]:
        return [f"{self.word()} {self.word()}".capitalize(), self.number(), self.word(), self.number()]

    def paper(self, sections: int, rows: int) -> Paper:
        made = Paper(rows=[self.row() for _ in range(rows)])
        for _ in range(sections):
            made.headings.append(f"{self.word()} {self.word()}".capitalize())
            made.parts.append([self.paragraph() for _ in range(self.chance.randint(2, 4))])
        return made

    def edited(self, paper: Paper, kinds: Sequence[str]) -> tuple[Paper, list[Edit]]:
        """Return a copy with one edit of each kind, each in a paragraph or row of its own."""
        paper = copy.deepcopy(paper)
        paragraphs = [one for part in paper.parts for one in part]
        self.chance.shuffle(paragraphs)
        rows = paper.rows[:]
        self.chance.shuffle(rows)
        edits: list[Edit] = []
        later: list[tuple[str, list[str]]] = []
        for kind in kinds:
            if kind in ("word", "words", "number", "sentence in", "sentence out", "sentence new"):
                edits.append(self._in_paragraph(kind, paragraphs.pop()))
            elif kind in ("cell", "row out", "row in"):
                edits.append(self._in_rows(kind, rows.pop(), paper.rows))
            else:
                later.append((kind, paragraphs.pop()))
        edits += [self._of_paragraph(kind, one, paper) for kind, one in later]
        return paper, edits

    def _in_paragraph(self, kind: str, sentences: list[str]) -> Edit:
        at = self.chance.randrange(len(sentences))
        if kind == "sentence in":
            sentences.insert(at, new := self.sentence())
            return Edit("added", came=new)
        if kind == "sentence out":
            return Edit("removed", gone=sentences.pop(at))
        if kind == "sentence new":
            old, sentences[at] = sentences[at], self.sentence()
            return Edit("replaced", old, sentences[at])
        words = sentences[at][:-1].split()
        if kind == "number":
            place = next(place for place, word in enumerate(words) if word[0].isdigit())
            new = [self.number()]
        else:
            place = self.chance.randrange(1, len(words) - 2)
            new = [self.word() for _ in range(1 if kind == "word" else self.chance.randint(1, 3))]
        count = 1 if kind != "words" else 2
        old = words[place : place + count]
        words[place : place + count] = new
        sentences[at] = " ".join(words) + "."
        return Edit("changed", " ".join(old), " ".join(new))

    def _in_rows(self, kind: str, row: list[str], rows: list[list[str]]) -> Edit:
        if kind == "cell":
            at = self.chance.choice([1, 3])
            old, row[at] = row[at], self.number()
            return Edit("changed", old, row[at])
        place = rows.index(row)
        if kind == "row out":
            return Edit("removed", gone=" ".join(rows.pop(place)))
        rows.insert(place, new := self.row())
        return Edit("added", came=" ".join(new))

    def _of_paragraph(self, kind: str, one: list[str], paper: Paper) -> Edit:
        part = next(part for part in paper.parts if any(each is one for each in part))
        if kind == "paragraph in":
            part.insert(self.chance.randint(0, len(part)), new := self.paragraph())
            return Edit("added", came=" ".join(new))
        if kind == "page in":
            place = paper.parts.index(part)
            paper.headings.insert(place, heading := f"{self.word()} {self.word()}".capitalize())
            new = [self.paragraph() for _ in range(9)]
            paper.parts.insert(place, new)
            return Edit("added", came=" ".join([heading, *(" ".join(each) for each in new)]))
        place = next(place for place, each in enumerate(part) if each is one)
        del part[place]
        if kind == "paragraph out":
            return Edit("removed", gone=" ".join(one))
        own = next(place for place, each in enumerate(paper.parts) if each is part)
        goal = paper.parts[(own + 2) % len(paper.parts)]  # over a whole section
        goal.insert(self.chance.randint(0, len(goal)), one)
        return Edit("moved", " ".join(one), " ".join(one))


def written(paper: Paper, form: str, chance: random.Random) -> bytes:
    """Return the paper as the bytes of a file of this format."""
    if form in TABLES:
        return _table(paper, form)
    blocks: list[tuple[str, str]] = []
    for heading, part in zip(paper.headings, paper.parts, strict=True):
        blocks.append(("heading", heading))
        blocks += [("paragraph", " ".join(one)) for one in part]
    if form == "docx":
        return _docx(blocks, paper.rows)
    if form == "html":
        marked = "".join(
            f"<h2>{html.escape(text)}</h2>" if kind == "heading" else f"<p>{html.escape(text)}</p>"
            for kind, text in blocks
        )
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in paper.rows
        )
        head = "<tr>" + "".join(f"<th>{name}</th>" for name in _HEADER) + "</tr>"
        return f"<html><body>{marked}<table>{head}{rows}</table></body></html>".encode()
    if form == "pdf":
        return _pdf(blocks, chance)
    lines = [f"## {text}" if kind == "heading" and form == "md" else text for kind, text in blocks]
    if form == "txt":
        lines = ["\n".join(_wrapped(line, chance.randint(60, 90))) for line in lines]
    elif paper.rows:
        head = ["| " + " | ".join(_HEADER) + " |", "|---" * len(_HEADER) + "|"]
        lines.append("\n".join(head + ["| " + " | ".join(row) + " |" for row in paper.rows]))
    return ("\n\n".join(lines) + "\n").encode()


_HEADER = ("Article", "Price", "Place", "Stock")


def _table(paper: Paper, form: str) -> bytes:
    if form == "csv":
        text = io.StringIO()
        csv.writer(text).writerows([_HEADER, *paper.rows])
        return text.getvalue().encode()
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (_HEADER, *paper.rows):
        sheet.append(list(row))
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _docx(blocks: list[tuple[str, str]], rows: list[list[str]]) -> bytes:
    made = docx.Document()
    for kind, text in blocks:
        if kind == "heading":
            made.add_heading(text, 1)
        else:
            made.add_paragraph(text)
    if rows:
        table = made.add_table(len(rows) + 1, len(_HEADER))
        for at, row in enumerate((_HEADER, *rows)):
            for column, cell in enumerate(row):
                table.cell(at, column).text = cell
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def _wrapped(text: str, wide: int, chance: random.Random | None = None) -> list[str]:
    """Return the lines of a text; a long word is now and then hyphenated at the end of a line."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + 1 + len(word) <= wide:
            lines[-1] = f"{lines[-1]} {word}".strip()
            continue
        room = wide - len(lines[-1]) - 2
        if chance is not None and word.isalpha() and room >= 3 and len(word) - room >= 3 and chance.random() < 0.5:
            lines[-1] += f" {word[:room]}-"
            word = word[room:]
        lines.append(word)
    return lines


def _pdf(blocks: list[tuple[str, str]], chance: random.Random) -> bytes:
    wide = chance.randint(_WIDE - 6, _WIDE)
    lines: list[str] = []
    for _kind, text in blocks:
        lines += [*_wrapped(text, wide, chance), ""]
    sheets = [lines[at : at + _LINES] for at in range(0, len(lines), _LINES)]
    pages: list[str] = []
    for number, sheet in enumerate(sheets, 1):
        shown = [(760, "Paper of the mill house"), (30, f"Page {number} of {len(sheets)}")]
        shown += [(730 - 15 * at, text) for at, text in enumerate(sheet) if text]
        pages.append(" ".join(f"BT /F1 11 Tf 72 {y} Td ({text}) Tj ET" for y, text in shown))
    return pdf(pages)
