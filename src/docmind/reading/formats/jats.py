"""Articles in JATS XML, as PubMed Central and publishers give them: the article as a reader of its page sees it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from docmind.blocks import Block, Losses, Table
from docmind.errors import CorruptFileError
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.characters import subscript, superscript
from docmind.reading.formats.grid import Grid
from docmind.reading.formats.jats_parts import authors_of, day_of, in_brief, local, reference_of
from docmind.reading.formats.math_text import latex_of_math, words_of_latex, words_of_math
from docmind.reading.formats.prose import clean
from docmind.reading.formats.text import check_size
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Upload
from docmind.wording import _

Element = Any
"""An element of lxml, whose types pyright does not know."""

_DEEPEST = 60
_SPACES = re.compile(r"\s+")
_BEGIN_TEX, _END_TEX = r"\begin{document}", r"\end{document}"
_UNSHOWN = frozenset(("object-id", "title", "label", "caption", "alt-text", "long-desc", "permissions", "sec-meta"))
_SECTIONS = frozenset(
    ("sec", "ack", "app", "app-group", "notes", "glossary", "bio", "fn-group", "boxed-text", "ref-list")
)
_APART = frozenset(
    ("list", "def-list", "table-wrap", "table-wrap-group", "fig", "fig-group", "disp-formula", "disp-formula-group",
     "disp-quote", "code", "preformat", "boxed-text", "media", "supplementary-material", "graphic", "p", "verse-group",
     "statement", "array")
)  # fmt: skip
_FILMS = frozenset(("media", "supplementary-material"))
_NAMED = {"ack": "Acknowledgments", "ref-list": "References", "fn-group": "Notes", "app": "Appendix"}


def open_jats(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open an article. Raises `CorruptFileError`, `TooLargeError` or `EmptyFileError`."""
    check_size(upload, rules)
    losses = Losses()
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_pis=True)
    try:
        root = etree.fromstring(upload.data.lstrip(), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise CorruptFileError(_("{name} is an article in XML that is broken.").format(name=upload.name)) from error
    _plain(root)
    articles = [root] if local(root) == "article" else [each for each in root.iter() if local(each) == "article"]
    if not articles:
        raise CorruptFileError(_("{name} is an article in XML that is broken.").format(name=upload.name))
    about = _first(articles[0], "front", "article-meta")
    title = _first(about, "title-group", "article-title")
    facts = facts_of(
        upload.name,
        title=_Article(Losses()).text(title) if title is not None else "",
        author=", ".join(authors_of(about)[:20]),
        dated=day_of(about),
    )
    article = _Article(losses)
    return LaidOut((block for each in articles for block in article.blocks(each)), facts, upload.name, rules, losses)


def _plain(root: Element) -> None:
    """Put characters in the place of named entities, and take comments and prefixes away."""
    for node in list(root.iter(etree.Entity, etree.Comment)):
        text = html.unescape(node.text or "") if node.tag is etree.Entity else ""
        parent, before = node.getparent(), node.getprevious()
        if parent is None:
            continue
        said = text + (node.tail or "")
        if before is not None:
            before.tail = (before.tail or "") + said
        else:
            parent.text = (parent.text or "") + said
        parent.remove(node)
    for element in root.iter(etree.Element):
        element.tag = local(element)


def _first(element: Element | None, *path: str) -> Element | None:
    return element.find("/".join(path)) if element is not None else None


class _Article:
    """The walk through articles: `_hanging` are the footnotes of the paragraph that is being read."""

    def __init__(self, losses: Losses) -> None:
        self._losses = losses
        self._hanging: list[Block] = []

    def blocks(self, article: Element) -> Iterator[Block | Table]:
        """Yield an article: what stands above its text, the text, and what follows it."""
        yield from self._front(article)
        for name in ("body", "back", "floats-group"):
            for part in article.iterfind(name):
                yield from self._within(part, 1, 0)
        for part in (each for each in article if each.tag in ("sub-article", "response")):
            yield from self.blocks(part)

    def _front(self, article: Element) -> Iterator[Block | Table]:
        about = next((found for way in ("front/article-meta", "front-stub") for found in article.iterfind(way)), None)
        if about is None:
            return
        title = _first(about, "title-group", "article-title")
        if title is not None:
            further = [self.text(each) for each in about.iterfind("title-group/subtitle")]
            yield Block(kind="heading", text=": ".join(filter(None, [self.text(title), *further])), level=1)
        people = authors_of(about)
        if people:
            yield Block(kind="paragraph", text=", ".join(people))
        for where in (each for each in about.iter() if each.tag == "aff"):
            if text := self.text(where):
                yield Block(kind="paragraph", text=text)
        if said := in_brief(article, about):
            yield Block(kind="paragraph", text=said)
        for abstract in (each for each in about if each.tag in ("abstract", "trans-abstract")):
            yield from self._titled(abstract, 2, "Abstract", 0)
        for group in about.iterfind("kwd-group"):
            words = [self.text(each) for each in group.iter("kwd")]
            title = self.text(group.find("title")) or "Keywords"
            if any(words):
                yield Block(kind="paragraph", text=f"{title.rstrip(':')}: {', '.join(filter(None, words))}")

    def _titled(self, part: Element, level: int, otherwise: str, depth: int) -> Iterator[Block | Table]:
        label, title = self.text(part.find("label")), self.text(part.find("title")) or otherwise
        if title or label:
            said = title if label and title else title or label
            yield Block(kind="heading", text=said, level=min(level, 9), marker=label if title else "")
        yield from self._within(part, level, depth)

    def _within(self, part: Element, level: int, depth: int) -> Iterator[Block | Table]:
        if depth > _DEEPEST:
            self._losses.note("part")
            return
        for child in part:
            name = child.tag
            if name in _SECTIONS:
                yield from self._titled(child, level + 1, _NAMED.get(name, ""), depth + 1)
            elif name == "ref":
                text = reference_of(child, self.text)
                if text:
                    yield Block(kind="item", text=text, marker=self.text(child.find("label")))
            elif name == "fn":
                yield from self._note(child)
            elif name not in _UNSHOWN:
                yield from self._one(child, depth + 1)

    def _one(self, element: Element, depth: int) -> Iterator[Block | Table]:
        """Yield what a part of the text is: a paragraph, list, table, figure, formula or code."""
        name = element.tag
        if depth > _DEEPEST:
            self._losses.note("part")
        elif name in ("list", "def-list"):
            yield from self._list(element, 0, depth)
        elif name in ("table-wrap", "array"):
            yield from self._table(element)
        elif name in ("fig", "graphic") or name in _FILMS:
            yield from self._figure(element)
        elif name == "disp-formula":
            yield from self._formula(element)
        elif name in ("code", "preformat"):
            yield Block(
                kind="code", text="".join(element.itertext()).strip("\n"), language=element.get("language") or ""
            )
        elif name in ("p", "verse-line", "attrib", "td") or not any(child.tag in _APART for child in element):
            yield from self._paragraph(element, depth)
        else:
            for child in element:
                if child.tag not in ("label", "title") or self.text(child):
                    yield from self._one(child, depth + 1)

    def _paragraph(self, element: Element, depth: int) -> Iterator[Block | Table]:
        """Yield a paragraph, with the lists, tables and formulas in it where they stand."""
        pieces: list[str] = [element.text or ""]
        for child in element:
            if child.tag in _APART:
                yield from self._said("".join(pieces))
                yield from self._one(child, depth + 1)
                pieces = []
            else:
                pieces.append(self._inline(child, "".join(pieces[-3:]), 0))
            pieces.append(child.tail or "")
        yield from self._said("".join(pieces))

    def _said(self, raw: str) -> Iterator[Block]:
        text = _tidy(raw)
        if text:
            yield Block(kind="paragraph", text=text)
        notes, self._hanging = self._hanging, []
        yield from notes

    def _note(self, note: Element) -> Iterator[Block]:
        label = self.text(note.find("label"))
        text = " ".join(filter(None, (self.text(child) for child in note if child.tag != "label")))
        if text:
            yield Block(kind="footnote", text=text, marker=label)

    def _list(self, element: Element, rank: int, depth: int) -> Iterator[Block | Table]:
        kind = element.get("list-type") or ""
        for number, item in enumerate((each for each in element if each.tag in ("list-item", "def-item")), 1):
            label = self.text(item.find("label")) or (
                "" if kind == "simple" else f"{number}." if kind == "order" else "•"
            )
            if item.tag == "def-item":
                term = " ".join(self.text(each) for each in item.iterfind("term"))
                meaning = " ".join(self.text(each) for each in item.iterfind("def"))
                yield Block(kind="item", text=f"{term}: {meaning}".strip(": "), level=rank, marker="")
                continue
            is_first = True
            for child in item:
                if child.tag in ("list", "def-list") and depth < _DEEPEST:
                    yield from self._list(child, min(rank + 1, 20), depth + 1)
                elif child.tag not in ("label", "title"):
                    for block in self._one(child, depth + 1):
                        if isinstance(block, Block) and block.kind == "paragraph" and is_first:
                            block = Block(kind="item", text=block.text, level=rank, marker=label)
                            is_first = False
                        yield block

    def _caption(self, element: Element) -> str:
        caption = element.find("caption")
        said = [self.text(each) for each in caption] if caption is not None else []
        return " ".join(filter(None, [self.text(element.find("label")), *said]))

    def _table(self, element: Element) -> Iterator[Block | Table]:
        caption = self._caption(element)
        tables = [
            each for each in element.iter() if each.tag == "table" or (each.tag == "array" and each.find("tbody"))
        ]
        for table in tables:
            grid = Grid(table, self.text, lambda _row: False)
            if grid.rows:
                header, columns = grid.header_rows, grid.header_columns
                yield Table(rows=grid.rows, header_rows=header, header_columns=columns, caption=caption)
        if not tables:
            if caption:
                yield Block(kind="caption", text=caption)
            self._losses.note("picture", caption[:40], sum(each.tag == "graphic" for each in element.iter()))
        notes, self._hanging = self._hanging, []
        yield from notes
        for foot in element.iterfind("table-wrap-foot"):
            for each in foot:
                inner = [each] if each.tag != "fn-group" else list(each)
                for one in inner:
                    text = self.text(one)
                    if text:
                        yield Block(kind="footnote", text=text)

    def _figure(self, element: Element) -> Iterator[Block]:
        caption = self._caption(element)
        told = [self.text(each) for each in element.iter() if each.tag in ("alt-text", "long-desc")]
        if caption:
            yield Block(kind="caption", text=caption)
        for text in filter(None, dict.fromkeys(told)):
            yield Block(kind="figure", text=text)
        if element.tag in _FILMS:
            self._losses.note("media", caption[:40])
        elif not any(told):
            self._losses.note("picture", caption[:40])
        notes, self._hanging = self._hanging, []
        yield from notes

    def _formula(self, element: Element) -> Iterator[Block]:
        words, latex = _math(element)
        label = self.text(element.find("label"))
        if not words:
            words = _tidy(
                "".join(self._inline(each, "", 0) + (each.tail or "") for each in element if each.tag != "label")
            )
        if words:
            yield Block(kind="equation", text=f"{words} {label}".strip(), latex=latex)
        else:
            self._losses.note("equation", label)

    # Text

    def text(self, element: Element | None) -> str:
        """Return the text of an element on one line; "" for None."""
        return _tidy(self._inside(element, 0)) if element is not None else ""

    def _inside(self, element: Element, depth: int) -> str:
        pieces = [element.text or ""]
        for child in element:
            pieces.append(self._inline(child, "".join(pieces[-3:]), depth + 1))
            pieces.append(child.tail or "")
        return "".join(pieces)

    def _inline(self, element: Element, before: str, depth: int) -> str:
        name = element.tag
        if depth > _DEEPEST:
            return " ".join(element.itertext())
        if name in ("sup", "sub"):
            inner = self._inside(element, depth)
            if element.find("xref") is not None:  # the mark of a note or reference
                return inner if inner.strip().startswith(("[", "(")) else f"[{inner.strip()}]" if inner.strip() else ""
            return superscript(inner, before) if name == "sup" else subscript(inner, before)
        if name in ("inline-formula", "alternatives", "math", "tex-math", "disp-formula"):
            return _math(element)[0] or (self._inside(element, depth) if name == "inline-formula" else "")
        if name == "fn":
            self._hanging += self._note(element)
            label = self.text(element.find("label"))
            return f"[{label}]" if label else ""
        if name in ("inline-graphic", "graphic"):
            return self.text(element.find("alt-text"))
        if name in ("object-id", "permissions"):
            return ""
        inner = self._inside(element, depth)
        is_apart = name in _APART or name in (
            "break",
            "title",
            "label",
            "list-item",
            "td",
            "th",
            "tr",
            "def",
            "term",
            "institution",
        )
        return f" {inner} " if is_apart else inner


def _math(element: Element) -> tuple[str, str]:
    """Return a formula as words, and its LaTeX; empty where there is none in an element."""
    tex = next((each for each in element.iter() if each.tag == "tex-math"), None)
    said = "".join(tex.itertext()) if tex is not None else ""
    inside, end, _rest = said.partition(_BEGIN_TEX)[2].partition(_END_TEX)
    latex = " ".join((inside if end else said).strip().strip("$").split())
    math = next((each for each in element.iter() if each.tag == "math"), None)
    if math is not None:
        return clean(words_of_math(math)), clean(latex or latex_of_math(math))
    return clean(words_of_latex(latex)) if latex else "", clean(latex)


def _tidy(text: str) -> str:
    said = _SPACES.sub(" ", clean(text)).strip()
    return re.sub(r" ([,.;:)\]])", r"\1", said)
