"""The walk through pandoc's tree: its blocks in reading order, and what its meta data tells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from docmind.blocks import Block, BlockKind, Losses, Table
from docmind.reading.formats.characters import tidy
from docmind.reading.formats.math_text import words_of_latex
from docmind.reading.formats.numerals import numeral
from docmind.reading.formats.pandoc.inline import DEEPEST, Inline, Node, environment, formula, parts_of
from docmind.reading.formats.pandoc.source import APPENDIX, LABEL
from docmind.reading.formats.pandoc.tables import table_of
from docmind.reading.formats.prose import cell_read, clean, flat, last_sentence
from docmind.reading.formats.source_code import code_within
from docmind.reading.formats.typeset import LINE, printable

_STYLES = {
    "LowerRoman": "lowerRoman", "UpperRoman": "upperRoman", "LowerAlpha": "lowerLetter", "UpperAlpha": "upperLetter",
}  # fmt: skip
_OF_LATEX = (("{}.", "decimal"), ("({})", "lowerLetter"), ("{}.", "lowerRoman"), ("{}.", "upperLetter"))
_DELIMITERS = {"OneParen": "{})", "TwoParens": "({})"}
_BOXES = frozenset("☐☒☑")
_HEADING_MAX = 250  # characters
_TOP = ("title", "subtitle", "author", "date")
_OTHER_FACTS_WORDS = """
abstract bibliography nocite header-includes csl lang toc link-citations documentclass classoption geometry fontsize
citation-style startup options latex-class result biblatexoptions thanks
"""
_OTHER_FACTS = frozenset(_OTHER_FACTS_WORDS.split())
"""Meta data that is no fact about the text, or that is read by itself."""
# Classes of LaTeX that number sections, chapters above them, and a text that sets numbers by itself.
_NUMBERING = re.compile(
    r"\\documentclass\s*+(?:\[[^\[\]]*\]\s*)?\{(?:ext)?(?:article|report|book|scrartcl|scrreprt|scrbook|amsart|amsbook|"
    r"memoir|llncs|elsarticle|svjour3|acmart)\}"
)
_NUMBERS_SET = re.compile(
    r"\\(?:(?:re)?newcommand\*?\s*\{?\\the|setcounter\s*\{(?:secnumdepth|part|chapter|section|sub)|frontmatter\b)"
)
_CHAPTER, _PART = re.compile(r"^[^%\n]*\\chapter\b", re.M), re.compile(r"^[^%\n]*\\part\b", re.M)
_NUMBERED_DEEP = 3  # levels: chapters, or else sections, and two below


class Document:
    """A text that pandoc has converted. `source` is the text itself, `losses` counts what is not read.

    Raises `KeyError`, `IndexError`, `TypeError`, `ValueError` or `AttributeError` for a tree of another shape.
    """

    def __init__(self, tree: dict[str, Any], kind: str, source: str, losses: Losses) -> None:
        self._blocks: list[Node] = tree["blocks"]
        self._meta: dict[str, Node] = tree["meta"]
        self._losses = losses
        self._inline = Inline(losses)
        self._is_latex = kind == "latex"
        self._ordered = 0  # numbered lists that are open
        self._shift = 1 if "title" in self._meta else 0
        self._numbers = _Numbers(source) if kind == "latex" and _is_numbered(source) else None

    def facts(self) -> dict[str, str]:
        """Return title, author and day as the meta data has them."""
        found = {"title": "title", "author": "author", "dated": "date"}
        said = {name: self._said(self._meta[key]) for name, key in found.items() if key in self._meta}
        return {name: text.replace(LINE, " ") for name, text in said.items() if text}

    def blocks(self) -> Iterator[Block | Table]:
        """Yield the blocks: first what stands above the text, title, authors and abstract."""
        yield from self._front()
        yield from self._walk(self._blocks, 0)

    def _front(self) -> Iterator[Block | Table]:
        for key in _TOP:
            if key not in self._meta:
                continue
            yield from self._at_top(self._meta[key], {"title": 1, "subtitle": 3}.get(key, 0))
        for key, node in self._meta.items():
            if key not in _TOP and key not in _OTHER_FACTS and (said := self._said(node)):
                yield Block(kind="paragraph", text=f"{key.replace('-', ' ').replace('_', ' ').capitalize()}: {said}")
        if "bibliography" in self._meta:
            for name in self._each_said(self._meta["bibliography"]):
                self._losses.note("part", name)
        if "abstract" in self._meta:
            abstract = self._meta["abstract"]
            yield Block(kind="heading", text="Abstract", level=self._shift + 1)
            yield from self._walk(_blocks_of(abstract), 0)

    def _at_top(self, node: Node, level: int) -> Iterator[Block | Table]:
        """Yield a value of the meta data as its page shows it, a heading where it has a level."""
        if node["t"] == "MetaList":
            for each in node["c"]:
                yield from self._at_top(each, level)
        elif node["t"] == "MetaInlines":
            said = self._inline.said(node["c"])
            if said.text:
                yield Block(kind="heading" if level else "paragraph", text=said.text, level=level)
            yield from self._notes(said.text, said.notes, 0)
        else:
            yield from (Block(kind="paragraph", text=text) for text in self._each_said(node))

    def _said(self, node: Node) -> str:
        return ", ".join(self._each_said(node))

    def _each_said(self, node: Node) -> list[str]:
        """Return the texts of a value of the meta data."""
        kind, content = parts_of(node)
        if kind == "MetaList":
            return [text for each in content for text in self._each_said(each)]
        if kind == "MetaMap":
            return [text for each in content.values() for text in self._each_said(each)]
        if kind == "MetaBool":
            return []
        if kind == "MetaString":
            found = clean(content)
        elif kind == "MetaInlines":
            found = self._inline.text(content)
        else:
            found, _aside = flat(self._walk(content, 0))
        return [found] if found else []

    def _walk(self, nodes: Iterable[Node], depth: int) -> Iterator[Block | Table]:
        if depth > DEEPEST:
            raise ValueError("nodes too deep")
        for node in nodes:
            kind, content = parts_of(node)
            if kind in ("Para", "Plain"):
                yield from self._paragraph(content, depth)
            elif kind == "Header":
                yield from self._heading(content, depth)
            elif kind == "CodeBlock":
                yield from _code(content)
            elif kind == "RawBlock":
                yield from self._raw(content)
            elif kind == "LineBlock":
                lines = [self._inline.said(line) for line in content]
                text = LINE.join(line.text for line in lines)
                yield from self._with_notes("paragraph", text, [note for line in lines for note in line.notes], depth)
            elif kind in ("BulletList", "OrderedList", "DefinitionList"):
                yield from self._list(kind, content, depth + 1)
            elif kind == "BlockQuote":
                yield from self._walk(content, depth + 1)
            elif kind == "Div":
                yield from self._division(content, depth + 1)
            elif kind == "Table":
                yield from self._table(content, depth + 1)
            elif kind == "Figure":
                yield from self._figure(content, depth + 1)
            elif kind not in ("HorizontalRule", "Null"):
                raise ValueError(f"a node {kind}")

    def _paragraph(self, nodes: list[Node], depth: int) -> Iterator[Block | Table]:
        """Yield a paragraph. Formulas that stand on lines of their own part it, a figure is a caption."""
        said: list[Node] = []
        for node in nodes:
            if node["t"] == "Math" and node["c"][0]["t"] == "DisplayMath":
                yield from self._words(said, depth)
                said = []
                yield _equation(formula(node["c"][1]))
            else:
                said.append(node)
        yield from self._words(said, depth)

    def _words(self, nodes: list[Node], depth: int) -> Iterator[Block | Table]:
        if len(nodes) == 1 and nodes[0]["t"] == "Image":
            title = nodes[0]["c"][2][1]
            kind: BlockKind = "caption" if str(title).startswith("fig:") else "paragraph"
        else:
            kind = "paragraph"
        said = self._inline.said(nodes)
        yield from self._with_notes(kind, said.text, said.notes, depth)

    def _with_notes(
        self, kind: BlockKind, text: str, notes: Sequence[tuple[str, list[Node]]], depth: int
    ) -> Iterator[Block | Table]:
        if text.strip(" .,;"):
            yield Block(kind=kind, text=text)
        yield from self._notes(text, notes, depth)

    def _notes(self, text: str, notes: Sequence[tuple[str, list[Node]]], depth: int) -> Iterator[Block | Table]:
        marks = re.findall(r"\[\d+\]", text)
        first = self._inline.notes - len(notes)
        for number, (before, nodes) in enumerate(notes, first + 1):
            said, aside = flat(self._walk(nodes, depth + 1))
            mark = f"[{number}]"
            anchor = last_sentence(" ".join(before.replace(LINE, " ").split())) if mark in marks else ""
            if said:
                yield Block(kind="footnote", text=said.replace(LINE, " "), marker=mark, anchor=anchor)
            yield from aside

    def _heading(self, content: Any, depth: int) -> Iterator[Block | Table]:
        level, (_id, classes, _pairs), nodes = content
        said = self._inline.said(nodes)
        marker = self._numbers.next(level, is_plain="unnumbered" in classes) if self._numbers is not None else ""
        if said.text and len(said.text) <= _HEADING_MAX:
            yield Block(kind="heading", text=said.text, level=min(level + self._shift, 9), marker=marker)
            yield from self._notes(said.text, said.notes, depth)
        else:
            yield from self._with_notes("paragraph", said.text, said.notes, depth)

    def _raw(self, content: Any) -> Iterator[Block]:
        form, text = content
        if form in ("latex", "tex") and (found := environment(text)):
            yield _equation(found)
        elif form != "org" and text.strip():
            self._losses.note("part", f"raw {form}")

    def _list(self, kind: str, content: Any, depth: int) -> Iterator[Block | Table]:
        if kind == "DefinitionList":
            for term, meanings in content:
                yield from self._defined(self._inline.said(term), meanings, depth)
            return
        markers: Iterator[str] = iter(())
        items = content
        if kind == "OrderedList":
            (start, style, delimiter), items = content
            pattern, shape = _DELIMITERS.get(delimiter["t"], "{}."), _STYLES.get(style["t"], "decimal")
            if self._is_latex and style["t"] == "DefaultStyle":
                pattern, shape = _OF_LATEX[min(self._ordered, len(_OF_LATEX) - 1)]
            markers = (pattern.format(numeral(at, shape)) for at in range(int(start), int(start) + len(items)))
        for item in items:
            marker, nodes = next(markers, "•"), item
            if label := _label_of(item):
                marker, nodes = clean(self._inline.text(label[0]["c"][1])), [_without_first(item[0]), *item[1:]]
            self._ordered += kind == "OrderedList"
            yield from self._item([*self._walk(nodes, depth)], marker)
            self._ordered -= kind == "OrderedList"

    def _item(self, blocks: Iterable[Block | Table], marker: str) -> Iterator[Block | Table]:
        """Yield the blocks of an item: the first has its marker, and items within are one level deeper."""
        is_begun = False
        for block in blocks:
            if isinstance(block, Block) and block.kind == "item":
                yield replace(block, level=block.level + 1)
            elif isinstance(block, Block) and block.kind == "paragraph" and not is_begun:
                box, _space, rest = block.text.partition(" ")
                if box in _BOXES and rest:
                    block, marker = replace(block, text=rest), box if marker == "•" else f"{marker} {box}"
                yield replace(block, kind="item", marker=marker)
            else:
                yield block
            is_begun = True

    def _defined(self, term: Any, meanings: list[list[Node]], depth: int) -> Iterator[Block | Table]:
        """Yield what a term means; what is more than a paragraph of it follows."""
        name = f"{term.text}:" if term.text else ""
        for meaning in meanings or [[]]:
            for block in self._walk(meaning, depth):
                if name and isinstance(block, Block) and block.kind == "paragraph":
                    yield replace(block, kind="item", text=f"{name} {block.text}")
                    name = ""
                elif name:
                    yield Block(kind="item", text=name.rstrip(":"))
                    yield block
                    name = ""
                elif isinstance(block, Block) and block.kind == "item":
                    yield replace(block, level=block.level + 1)
                else:
                    yield block
            name = f"{term.text}:" if term.text and len(meanings) > 1 else name
        if name and len(meanings) <= 1:
            yield Block(kind="item", text=name.rstrip(":"))
        yield from self._notes(term.text, term.notes, depth)

    def _division(self, content: Any, depth: int) -> Iterator[Block | Table]:
        """Yield the blocks of a part that has a class, such as a warning with its title."""
        (_id, classes, _pairs), nodes = content
        if "literalinclude" in classes:  # code in another file
            self._losses.note("part", flat(self._walk(nodes, depth))[0])
            return
        if APPENDIX in classes and self._numbers is not None:
            self._numbers.begin_appendix()
        first = nodes[0] if nodes else None
        is_titled = first is not None and first["t"] == "Div" and "title" in first["c"][0][1]
        title, _aside = flat(self._walk(first["c"][1], depth)) if is_titled and first is not None else ("", [])
        for block in self._walk(nodes[1:] if is_titled else nodes, depth):
            if title and isinstance(block, Block) and block.kind == "paragraph":
                block, title = replace(block, text=f"{title}: {block.text}"), ""
            elif title:
                yield Block(kind="paragraph", text=title)
                title = ""
            yield block
        if title:
            yield Block(kind="paragraph", text=title)

    def _table(self, content: Any, depth: int) -> Iterator[Block | Table]:
        caption, aside = flat(self._walk(content[1][1], depth))
        blocks = table_of(
            content, lambda nodes: cell_read([*self._walk(nodes, depth)], is_bold=_is_bold(nodes)), self._losses
        )
        for block in blocks:
            if isinstance(block, Table) and caption:
                block, caption = replace(block, caption=caption.replace(LINE, " ")), ""
            yield block
        if caption:
            yield Block(kind="caption", text=caption)
        yield from aside

    def _figure(self, content: Any, depth: int) -> Iterator[Block | Table]:
        _attributes, (_short, caption), nodes = content
        words, aside = flat(self._walk(caption, depth))
        for block in self._walk(nodes, depth):
            if isinstance(block, Table) and not block.caption:
                block, words = replace(block, caption=words.replace(LINE, " ")), ""
            if isinstance(block, Block) and block.text in (words, "image", ""):
                continue  # a picture says again what its caption says
            yield block
        if words:
            yield Block(kind="caption", text=words)
        yield from aside


def _label_of(item: list[Node]) -> list[Node]:
    """Return the label that an item of LaTeX begins with, as a list of one node; an empty one where it has none."""
    first = item[0] if item else None
    nodes: list[Node] = first["c"][:1] if first is not None and first["t"] in ("Para", "Plain") else []
    return [node for node in nodes if node["t"] == "Span" and _is_label(node["c"][0])]


def _is_label(attributes: Any) -> bool:
    return any(LABEL in value for _name, value in attributes[2])


def _without_first(paragraph: Node) -> Node:
    return {**paragraph, "c": paragraph["c"][1:]}


class _Numbers:
    """The numbers that LaTeX sets before headings."""

    def __init__(self, source: str) -> None:
        self._has_parts = bool(_PART.search(source))
        self._counts = [0] * _NUMBERED_DEEP
        self._is_appendix = False

    def next(self, level: int, *, is_plain: bool) -> str:
        """Return the number of the next heading of a level; "" where it has none."""
        at = level - 1 - int(self._has_parts)
        if is_plain or not 0 <= at < _NUMBERED_DEEP:
            return ""
        self._counts[at] += 1
        self._counts[at + 1 :] = [0] * (_NUMBERED_DEEP - at - 1)
        numbers = [str(count) for count in self._counts[: at + 1]]
        if self._is_appendix:
            numbers[0] = numeral(self._counts[0], "upperLetter")
        return ".".join(numbers)

    def begin_appendix(self) -> None:
        self._is_appendix = True
        self._counts = [0] * _NUMBERED_DEEP


def _is_numbered(source: str) -> bool:
    return _NUMBERING.search(source) is not None and _NUMBERS_SET.search(source) is None


def _blocks_of(node: Node) -> list[Node]:
    """Return the blocks of a value of the meta data."""
    if node["t"] == "MetaBlocks":
        return node["c"]
    return [{"t": "Para", "c": node["c"]}] if node["t"] == "MetaInlines" else []


def _code(content: Any) -> Iterator[Block]:
    (_id, classes, pairs), text = content
    caption = dict(pairs).get("caption", "")
    if caption:
        yield Block(kind="caption", text=clean(caption))
    language = next((name for name in classes if name not in ("example", "sourceCode", "literate", "numberLines")), "")
    shown = printable(text.rstrip("\n"))
    if shown.strip():
        yield code_within(shown, language.lower())


def _equation(latex: str) -> Block:
    return Block(kind="equation", text=tidy(words_of_latex(latex)), latex=printable(latex))


def _is_bold(nodes: list[Node]) -> bool:
    said = [inner for node in nodes if node["t"] in ("Para", "Plain") for inner in node["c"] if inner["t"] != "Space"]
    return bool(said) and all(inner["t"] == "Strong" for inner in said)
