"""The walk over the tree of a web page or of a chapter of a book, which gives its blocks in order.

It keeps its place on a list of its own, because a hostile page may be deeper than Python's stack. Only cells and
navigation have a walk of their own, a few levels deep. The module is long because every element of HTML that shows
text has its rule here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import lxml.html
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from docmind.blocks import Block, BlockKind, Losses, Picture, Table
from docmind.reading.formats.characters import struck, subscript, superscript, tidy
from docmind.reading.formats.grid import Grid
from docmind.reading.formats.math_text import latex_of_math, local, words_of_latex, words_of_math
from docmind.reading.formats.notes import BACK_SIGNS, Notes
from docmind.reading.formats.source_code import code_within
from docmind.records.documents import LossKind

Element = lxml.html.HtmlElement

# fmt: off
_UNREAD = frozenset((
    "style", "noscript", "template", "head", "meta", "link", "title", "datalist", "noframes", "base", "area",
    "colgroup", "col", "rp",
))
INLINE = frozenset((
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "label", "mark", "nobr", "output", "q", "rb", "rt", "rtc", "ruby", "s", "samp", "small", "span", "strike",
    "strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "picture", "source", "track", "param", "slot",
))
_LOST: dict[str, LossKind] = {
    "iframe": "embedded_object", "frame": "embedded_object", "embed": "embedded_object", "applet": "embedded_object",
    "portal": "embedded_object", "audio": "media", "video": "media", "bgsound": "media", "canvas": "picture",
}
# fmt: on
_LEVELS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_HIDDEN = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.I)
_NO_MARKER = re.compile(r"list-style(?:-type)?\s*:\s*none", re.I)
_STYLED = re.compile(
    r"list-style(?:-type)?\s*:\s*"
    r"((?:lower|upper)-(?:alpha|latin|roman)|lower-greek|decimal-leading-zero|disc|circle|square)",
    re.I,
)
_STYLES = {
    "lower-alpha": "a", "lower-latin": "a", "upper-alpha": "A", "upper-latin": "A", "lower-roman": "i",
    "upper-roman": "I", "lower-greek": "α", "decimal-leading-zero": "01", "disc": "•", "circle": "•", "square": "•",
}  # fmt: skip
_GREEK = "αβγδεζηθικλμνξοπρστυφχψω"
_OUT = re.compile(r"text-decoration(?:-line)?\s*:[^:;]*\bline-through\b", re.I)
_LANGUAGE = re.compile(r"(?:^|\s)(?:language-|lang-|highlight-source-|brush:\s*)([\w+#.-]+)", re.I)
_PARTS_OF_PAGE: dict[str, BlockKind] = {"header": "header", "footer": "footer", "aside": "note"}
_ROLES = {"banner": "header", "contentinfo": "footer", "complementary": "aside", "navigation": "nav"}
_MATHJAX = re.compile(r"^math/tex\b", re.I)
_SHOWN_TYPES = (
    "text",
    "",
    "number",
    "date",
    "email",
    "tel",
    "url",
    "search",
    "time",
    "month",
    "week",
    "datetime-local",
)
_BOXES = {True: "☒", False: "☐"}
_INNER = 6  # walks within each other: a table deeper within others is read as plain text
_CELL_OF_LAYOUT = 1_000  # characters: tables with longer cells and without headings lay out a page
_ICON = 32  # pixels; a drawing without a title that is not larger is an ornament


@dataclass(slots=True)
class Page:
    """What one page or chapter has in common for all of its walks."""

    losses: Losses = field(default_factory=Losses)
    notes: Notes = field(default_factory=Notes)
    place: str = ""
    late: list[Block | Table] = field(default_factory=list)  # navigation, which follows the text
    is_book: bool = False
    pictures: Callable[[str], Picture | None] = lambda _address: None  # of the page by their addresses
    is_drawn: bool = False  # whether a browser draws the page: the blocks then only tell which words it must show


@dataclass(slots=True)
class _List:
    """A list that is open: how its items are counted and marked."""

    style: str = "•"
    next: int = 1
    step: int = 1

    def marker(self) -> str:
        if self.style in ("", "•"):
            return self.style
        number, self.next = self.next, self.next + self.step
        return f"{numbered(number, self.style)}."


def numbered(number: int, style: str) -> str:
    """Return a number as a list of this type shows it: 1, 01, a, A, α, i or I."""
    if style == "01":
        return f"{number:02d}"
    if style == "α" and number > 0:
        letters = ""
        while number:
            number, digit = divmod(number - 1, len(_GREEK))
            letters = _GREEK[digit] + letters
        return letters
    if style in "aA" and number > 0:
        letters = ""
        while number:
            number, digit = divmod(number - 1, 26)
            letters = chr(ord(style) + digit) + letters
        return letters
    if style in "iI" and 0 < number < 4_000:
        roman = ""
        for value, sign in zip(_ROMAN_VALUES, _ROMAN_SIGNS, strict=True):
            roman += sign * (number // value)
            number %= value
        return roman if style == "I" else roman.lower()
    return str(number)


_ROMAN_VALUES = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
_ROMAN_SIGNS = ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I")


def kinds_of(element: Element) -> set[str]:
    """Return what an element is by EPUB's and ARIA's own words, as "footnote" and "doc-noteref"."""
    said = element.get("epub:type") or element.get("{http://www.idpf.org/2007/ops}type") or ""
    return {*said.lower().split(), *(element.get("role") or "").lower().split()}


class Walk:
    """One walk over a tree or a part of it, used once."""

    def __init__(self, root: Element, page: Page, depth: int = 0) -> None:
        self._root, self._page, self._depth = root, page, depth
        self._out: list[Block | Table] = []
        self._parts: list[str] = []
        self._beside: list[Block] = []  # pictures within the lines that are gathered
        self._ends: list[Callable[[], None] | None] = []
        self._kind: BlockKind = "paragraph"
        self._level = 0
        self._lists: list[_List] = []
        self._marker: str | None = None  # of the item that begins; None where none does
        self._note = ""  # the marker of the note that begins
        self._terms: list[str] = []
        self._sections = 0  # how many articles and sections are open: a header inside is not that of the page
        self._term_since = 0  # the number of flushes when the open term began; 0 where none is open
        self._flushes = 0

    def blocks(self) -> Iterator[Block | Table]:
        """Yield the blocks of the tree, and what belongs at its end after them."""
        yield from self._inner()
        if self._depth == 0:
            yield from self._page.late
            self._page.late.clear()

    def _inner(self) -> Iterator[Block | Table]:
        walker = etree.iterwalk(self._root, events=("start", "end", "comment", "pi"))
        for event, element in walker:
            if event == "start":
                if element is self._root:
                    self._ends.append(None)
                    self._parts.append(element.text or "")
                elif self._enter(element):
                    self._parts.append(element.text or "")
                else:
                    walker.skip_subtree()
            elif event == "end":
                end = self._ends.pop()
                if end is not None:
                    end()
            if event != "start" and element is not self._root:
                self._parts.append(element.tail or "")
            if self._out:
                yield from self._out
                self._out.clear()
        self._flush()
        self._end_terms()
        yield from self._out

    # --- what each element does -------------------------------------------------------------------------------------

    def _enter(self, element: Element) -> bool:
        """Begin an element, and note what ends it. Returns whether its contents are walked too."""
        tag = local(element)
        self._ends.append(None)
        if tag in _UNREAD or self._is_unseen(element, tag):
            return False
        if kinds_of(element) & _PAGE_ENDS:
            return False  # the number of a page of the printed book
        if tag == "del":  # as text that was deleted in Word
            if not self._page.is_drawn and any(text.strip() for text in element.itertext(with_tail=False)):
                self._page.losses.note("hidden_text", self._page.place)
            return False
        note = self._page.notes.marker_of(element)
        if note is not None or (tag not in INLINE and kinds_of(element) & _NOTES):
            self._begin_note(note or "")
            if tag not in ("table", "ul", "ol"):
                return True
        handle = _HANDLERS.get(tag)
        if handle is not None:
            return handle(self, element)
        if tag in INLINE or "-" in tag:  # what HTML does not know is part of its line
            return self._inline(element, tag)
        return self._container(element, tag)

    def _is_unseen(self, element: Element, tag: str) -> bool:
        if not is_hidden(element) or tag == "math":
            return False
        notes = self._page.notes
        if notes.marker_of(element) is not None or notes.is_around(element) or kinds_of(element) & NOTES_AND_LISTS:
            return False  # readers of books show notes only where somebody asks for them
        if "mwe-math" in (element.get("class") or ""):
            return False  # the formula of an encyclopaedia beside its picture
        is_twin = tag in ("svg", "img") or "katex-html" in (element.get("class") or "")
        if not is_twin and any(text.strip() for text in element.itertext(with_tail=False)):
            self._page.losses.note("hidden_text", self._page.place)
        return True

    def _inline(self, element: Element, tag: str) -> bool:
        if tag == "a":
            return self._link(element)
        if tag in ("sub", "sup"):
            self._ends[-1] = self._scripted(superscript if tag == "sup" else subscript)
        elif tag in ("s", "strike") or _OUT.search(element.get("style") or ""):
            self._ends[-1] = self._scripted(_struck)
        elif "-" in tag and not tag.startswith("mjx-"):
            self._parts.append(" ")
            self._ends[-1] = lambda: self._parts.append(" ")
        elif tag == "q":
            self._parts.append("“")
            self._ends[-1] = lambda: self._parts.append("”")
        elif tag == "rt":
            self._parts.append("(")
            self._ends[-1] = lambda: self._parts.append(")")
        elif "katex-error" in (element.get("class") or "") and element.get("title"):
            self._page.losses.note("equation", self._page.place)
        return True

    def _link(self, element: Element) -> bool:
        notes = self._page.notes
        label = notes.reference(element, lambda: tidy("".join(self._parts)))
        if label:
            self._parts.append(label)
            return False
        return not (self._kind == "footnote" and notes.is_way_back(element))

    def _scripted(self, change: Callable[[str, str], str]) -> Callable[[], None]:
        at, flushes = len(self._parts), self._flushes
        before = next((part for part in reversed(self._parts) if part), "")

        def end() -> None:
            if self._flushes == flushes and at <= len(self._parts):
                said = "".join(self._parts[at:])
                del self._parts[at:]
                self._parts.append(change(said, before))

        return end

    def _container(self, element: Element, tag: str) -> bool:
        """Begin a block that has no rule of its own: what is inside stands apart from what is around it."""
        self._flush()
        part = _ROLES.get((element.get("role") or "").strip().lower(), tag)
        if part == "nav" and self._depth < _INNER:
            self._navigation(element)
            return False
        kind = _PARTS_OF_PAGE.get(part)
        if kind is not None and not (self._sections and kind != "note") and self._kind == "paragraph":
            self._ends[-1] = self._within(kind, 0)
            return True
        if (element.get("role") or "") == "heading":
            self._ends[-1] = self._within("heading", _level_of(element.get("aria-level")))
            return True
        is_section = tag in ("article", "main", "section", "blockquote", "figure", "dialog", "fieldset")
        self._sections += is_section

        def end() -> None:
            self._flush()
            self._sections -= is_section

        self._ends[-1] = end
        return True

    def _within(self, kind: BlockKind, level: int) -> Callable[[], None]:
        """Give what follows a kind, and return what ends that."""
        before = self._kind, self._level
        self._kind, self._level = kind, level

        def end() -> None:
            self._flush()
            self._kind, self._level = before

        return end

    def _begin_note(self, marker: str) -> None:
        self._flush()
        self._marker = None  # the number of a note is that of its place in the text
        within = self._within("footnote", 0)
        self._note = marker

        def end() -> None:
            within()
            self._note = ""

        self._ends[-1] = end

    def _heading(self, element: Element) -> bool:
        self._flush()
        # Titles beside the text head nothing that follows it.
        if self._kind in ("note", "footer", "footnote"):
            self._ends[-1] = self._flush
        else:
            self._ends[-1] = self._within("heading", _LEVELS[local(element)])
        return True

    def _caption(self, element: Element) -> bool:
        self._flush()
        self._ends[-1] = self._within("caption", 0)
        return True

    def _break(self, element: Element) -> bool:
        if self._kind in ("heading", "caption"):
            self._parts.append(" ")
        else:
            self._flush()
        return False

    # --- lists ------------------------------------------------------------------------------------------------------

    def _list(self, element: Element) -> bool:
        self._flush()
        self._lists.append(_list_of(element))
        note_end = self._ends[-1]

        def end() -> None:
            self._flush()
            self._end_terms()
            self._lists.pop()
            if note_end is not None:
                note_end()

        self._ends[-1] = end
        return True

    def _item(self, element: Element) -> bool:
        self._flush()
        current = self._lists[-1] if self._lists else _List()
        value = element.get("value") or ""
        if re.fullmatch(r"\s*[+-]?\d{1,9}\s*", value) and current.style not in ("", "•"):
            current.next = int(value)
        marker = current.marker()
        if _NO_MARKER.search(element.get("style") or ""):
            marker = ""
        outer = self._marker if self._marker not in (None, "•") else ""
        self._marker = f"{outer} {marker}".strip()

        def end() -> None:
            self._flush()
            self._marker = None

        self._ends[-1] = end
        return True

    def _term(self, element: Element) -> bool:
        if not self._term_since:
            self._flush()
        self._take_term()  # terms whose ends are not marked lie within each other
        self._term_since = self._flushes

        def end() -> None:
            self._take_term()
            self._term_since = 0

        self._ends[-1] = end
        return True

    def _take_term(self) -> None:
        """Keep the words of a term for its definition; one that held blocks was given with them."""
        text = " ".join(tidy("".join(self._parts)).split())
        if text and self._term_since == self._flushes:
            self._parts.clear()
            self._terms.append(text)
        elif text:
            self._flush()

    def _definition(self, element: Element) -> bool:
        self._flush()
        self._marker = ""

        def end() -> None:
            self._flush()
            self._end_terms()
            self._marker = None

        self._ends[-1] = end
        return True

    def _end_terms(self) -> None:
        """Give terms that nothing defined."""
        if self._terms:
            terms, self._terms = ", ".join(self._terms), []
            self._out.append(Block(kind="item", text=terms, level=self._depth_of_lists()))

    def _depth_of_lists(self) -> int:
        return max(len(self._lists) - 1, 0)

    # --- tables, code, formulas and pictures ------------------------------------------------------------------------

    def _table(self, element: Element) -> bool:
        if self._depth >= _INNER or not _is_data(element):
            return self._container(element, "table")
        self._flush()
        if self._marker not in (None, "", "•"):
            self._out.append(Block(kind="item", text="", marker=self._marker or "", level=self._depth_of_lists()))
        self._marker = None
        apart: list[Block | Table] = []
        grid = Grid(element, lambda cell: self._cell(cell, apart), is_hidden)
        caption = next((child for child in element if local(child) == "caption"), None)
        said = self._cell(caption, apart) if caption is not None else ""
        if grid.rows:
            header, columns = grid.header_rows, grid.header_columns
            self._out.append(Table(rows=grid.rows, header_rows=header, header_columns=columns, caption=said))
        self._out += apart
        return False

    def _cell(self, cell: Element, apart: list[Block | Table]) -> str:
        """Return the text of a cell on one line; tables inside it follow the outer one."""
        if len(cell) == 0:
            return " ".join(tidy(cell.text or "").split())
        said: list[str] = []
        for block in Walk(cell, self._page, self._depth + 1)._inner():
            if isinstance(block, Table):
                apart.append(block)
                continue
            said += [block.marker, block.text]
            if block.picture is not None:
                apart.append(replace(block, text=""))
        return " ".join(" ".join(said).split())

    def _navigation(self, element: Element) -> None:
        """Keep lists of links for the end, on a few lines: their words are found, and are no text of the page."""
        if self._page.is_book and kinds_of(element) & {"toc", "landmarks", "page-list", "doc-toc", "doc-pagelist"}:
            return  # its titles stand before the chapters themselves
        inner = Walk(element, self._page, self._depth + 1)
        said = [" ".join(block.text.split()) for block in inner._inner() if isinstance(block, Block)]
        if said:
            self._page.late.append(Block(kind="footer", text=" | ".join(said)))

    def _code(self, element: Element) -> bool:
        self._flush()
        said: list[str] = []
        for event, inner in etree.iterwalk(element, events=("start", "end")):
            if event == "start" and local(inner) == "br":
                said.append("\n")
            if event == "start" and local(inner) not in ("script", "style"):
                said.append(inner.text or "")
            if event == "end" and inner is not element:
                said.append(inner.tail or "")
        text = tidy("".join(said)).replace("\xa0", " ").strip("\n")
        if text.strip():
            self._out.append(code_within(text, _language_of(element)))
        return False

    def _math(self, element: Element) -> bool:
        words, latex = words_of_math(element), latex_of_math(element)
        wrapper = (element.getparent() is not None and element.getparent().get("class")) or ""
        is_display = element.get("display") == "block" or "mode=display" in (element.get("mode") or "")
        self._equation(words, latex, is_display=is_display or "mwe-math-mathml-display" in wrapper)
        return False

    def _script(self, element: Element) -> bool:
        kind = element.get("type") or ""
        if _MATHJAX.match(kind):
            latex = (element.text or "").strip()
            self._equation(words_of_latex(latex), latex, is_display="display" in kind.lower())
        return False

    def _equation(self, words: str, latex: str, *, is_display: bool) -> None:
        if self._page.is_drawn:
            return
        words = tidy(words)
        if not words.strip():
            self._page.losses.note("equation", self._page.place)
        elif is_display and self._depth == 0:
            self._flush()
            self._out.append(Block(kind="equation", text=words, latex=latex))
        else:
            self._parts.append(words)

    def _picture(self, element: Element) -> bool:
        if self._page.is_drawn:  # the page shows the picture, and not what is said of it
            return False
        tag = local(element)
        said = element.get("alt") or element.get("aria-label") or element.get("title") or ""
        if tag == "svg" and not said.strip():
            # The title is the name of a drawing, the texts are what stands in it.
            said = ". ".join(filter(None, (" ".join(text.split()) for text in _texts_of(element))))
        said = " ".join(tidy(said).split())
        picture = self._page.pictures(element.get("src") or "") if tag == "img" and not _is_ornament(element) else None
        is_in_line = self._is_in_line(element)
        if picture is not None:
            if is_in_line:
                self._parts.append(said)
            else:
                self._flush()
            self._beside.append(Block(kind="figure", text="" if is_in_line else said, picture=picture))
            if not is_in_line:
                self._flush()
        elif said and is_in_line:
            self._parts.append(said)
        elif said:
            self._flush()
            self._out.append(Block(kind="figure", text=said))
        elif not _is_ornament(element):
            self._page.losses.note("picture", self._page.place)
        return False

    def _is_in_line(self, element: Element) -> bool:
        tail = (element.tail or "").strip()
        return self._kind == "heading" or bool(tail) or any(part.strip() for part in self._parts)

    def _lost(self, element: Element) -> bool:
        tag = local(element)
        self._page.losses.note(_LOST[tag], self._page.place)
        return tag in ("embed", "bgsound")  # what follows them may lie in them, because they have no end

    def _object(self, element: Element) -> bool:
        """Count an embedded object; what is shown in its place is read."""
        if (element.get("type") or "").startswith("image/") and not "".join(element.itertext()).strip():
            self._page.losses.note("picture", self._page.place)
        else:
            self._page.losses.note("embedded_object", self._page.place)
        return True

    # --- forms ------------------------------------------------------------------------------------------------------

    def _input(self, element: Element) -> bool:
        kind = (element.get("type") or "").strip().lower()
        if kind in ("checkbox", "radio"):
            self._parts.append(f" {_BOXES['checked' in element.attrib]} ")
        elif kind in _SHOWN_TYPES:
            self._parts.append(f" {element.get('value') or ''} ")
        return False

    def _select(self, element: Element) -> bool:
        options = [option for option in element.iter() if local(option) == "option"]
        chosen = [option for option in options if "selected" in option.attrib]
        if "multiple" not in element.attrib:
            chosen = chosen[-1:] or options[:1]
        said = (option.get("label") or "".join(option.itertext()) for option in chosen)
        self._parts.append(f" {', '.join(' '.join(text.split()) for text in said)} ")
        return False

    def _textarea(self, element: Element) -> bool:
        self._parts.append(" ")
        self._ends[-1] = lambda: self._parts.append(" ")
        return True

    def _button(self, element: Element) -> bool:
        """Read a button only where it is the title of a part that it opens."""
        above = element.getparent()
        return self._kind == "heading" or (above is not None and local(above) == "summary")

    def _dialog(self, element: Element) -> bool:
        if "open" not in element.attrib:
            self._page.losses.note("hidden_text", self._page.place)
            return False
        return self._container(element, "dialog")

    # --- what is given ----------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Give what was gathered as one block, and the pictures within its lines behind it."""
        self._give()
        self._out += self._beside
        self._beside = []

    def _give(self) -> None:
        self._flushes += 1
        text = " ".join(tidy("".join(self._parts)).split())
        self._parts.clear()
        if not text:
            return
        if self._kind == "footnote":
            marker, self._note = self._note, ""
            self._footnote(text, marker)
            return
        marker, self._marker = self._marker, None
        if self._kind == "heading":
            self._out.append(Block(kind="heading", text=text, level=self._level, marker=_number_in(marker)))
        elif self._kind == "paragraph" and marker is not None:
            self._out.append(self._item_of(text, marker))
        elif marker:
            self._out.append(Block(kind=self._kind, text=f"{marker} {text}"))
        else:
            self._out.append(Block(kind=self._kind, text=text))

    def _footnote(self, text: str, marker: str) -> None:
        if marker:
            text = self._page.notes.without_label(text, marker)
        if text.strip(BACK_SIGNS + " \n\t"):
            anchor = self._page.notes.anchor_of(marker)
            self._out.append(
                Block(kind="footnote", text=text.rstrip(BACK_SIGNS + " \n\t"), marker=marker, anchor=anchor)
            )

    def _item_of(self, text: str, marker: str) -> Block:
        if self._terms:
            terms, self._terms = ", ".join(self._terms), []
            text = f"{terms} {text}" if terms.endswith((":", "?", "!")) else f"{terms}: {text}"
        if marker in ("", "•") and text[:1] in _BOXES.values() and text[1:2] in ("", " "):
            marker, text = text[0], text[1:].lstrip()
        return Block(kind="item", text=text, marker=marker, level=self._depth_of_lists())


_PAGE_ENDS = frozenset(("pagebreak", "doc-pagebreak"))
_NOTES = frozenset(("footnote", "endnote", "rearnote", "doc-footnote", "doc-endnote"))
NOTES_AND_LISTS = _NOTES | {"footnotes", "endnotes", "rearnotes", "doc-endnotes"}
"""What an element of a book is that holds notes, which may be hidden until somebody asks for them."""

_HANDLERS: dict[str, Callable[[Walk, Element], bool]] = {
    **dict.fromkeys(_LEVELS, Walk._heading),
    **dict.fromkeys(_LOST, Walk._lost),
    **dict.fromkeys(("ul", "ol", "dl", "menu", "dir"), Walk._list),
    "li": Walk._item,
    "dt": Walk._term,
    "dd": Walk._definition,
    "br": Walk._break,
    "figcaption": Walk._caption,
    "caption": Walk._caption,
    "table": Walk._table,
    "pre": Walk._code,
    "listing": Walk._code,
    "xmp": Walk._code,
    "math": Walk._math,
    "script": Walk._script,
    "img": Walk._picture,
    "svg": Walk._picture,
    "object": Walk._object,
    "input": Walk._input,
    "select": Walk._select,
    "textarea": Walk._textarea,
    "button": Walk._button,
    "dialog": Walk._dialog,
}
"""What begins an element by its name; each returns whether the contents are walked."""


def _struck(text: str, _before: str) -> str:
    bare = text.strip()
    return text.replace(bare, struck(bare), 1) if bare else text


def is_hidden(element: Element) -> bool:
    """Return whether an element says itself that it is not shown."""
    if "hidden" in element.attrib and element.get("hidden", "").lower() != "until-found":
        return True
    if element.get("aria-hidden", "").lower() == "true":
        return True
    return bool(_HIDDEN.search(element.get("style") or ""))


def _list_of(element: Element) -> _List:
    styles = element.get("style") or ""
    if local(element) == "dl" or _NO_MARKER.search(styles):
        return _List("")
    if local(element) != "ol":
        return _List("•")
    kind = (element.get("type") or "").strip()
    styled = _STYLED.search(styles)
    if styled:
        kind = _STYLES[styled[1].lower()]
        if kind == "•":
            return _List(kind)
    is_reversed = "reversed" in element.attrib
    start = (element.get("start") or "").strip()
    first = int(start) if re.fullmatch(r"[+-]?\d{1,9}", start) else None
    if first is None:
        first = sum(local(child) == "li" for child in element) if is_reversed else 1
    return _List(kind if kind in ("a", "A", "i", "I", "α", "01") else "1", first, -1 if is_reversed else 1)


def _is_data(table: Element) -> bool:
    """Return whether a table holds data, and does not only lay out a page.

    One with headings or a caption does, unless it says that it is for presentation; others do where they have several
    rows, no tables inside and no long cells.
    """
    if (table.get("role") or "") in ("presentation", "none"):
        return False
    rows = [row for row in _own(table) if local(row) == "tr"]
    names = any(local(cell) == "th" for row in rows for cell in row)
    if names or any(local(part) in ("thead", "caption") for part in table):
        return bool(rows)
    if len(rows) < 2 or any(local(inner) == "table" for inner in table.iterdescendants()):
        return False
    lengths = [sum(map(len, cell.itertext())) for row in rows for cell in row]
    return bool(lengths) and max(lengths) < _CELL_OF_LAYOUT


def _own(table: Element) -> Iterator[Element]:
    """Yield the rows of a table, without those of tables inside it."""
    for child in table:
        if local(child) in ("thead", "tbody", "tfoot"):
            yield from child
        else:
            yield child


def _language_of(element: Element) -> str:
    code = next((child for child in element if local(child) == "code"), None)
    for one in (element, code, element.getparent()):
        found = _LANGUAGE.search((one.get("class") or "") if one is not None else "")
        if found:
            return found[1].lower()
    tokens = (element.get("class") or "").split()
    if "sourceCode" in tokens:
        return next((token.lower() for token in tokens if token not in ("sourceCode", "numberSource")), "")
    return ""


def _level_of(text: str | None) -> int:
    return min(max(int(text), 1), 6) if text and text.isascii() and text.isdecimal() and len(text) < 3 else 2


def _number_in(marker: str | None) -> str:
    return marker if marker and marker != "•" else ""


def _texts_of(drawing: Element) -> Iterator[str]:
    for element in drawing.iter():
        if local(element) in ("title", "desc", "text"):
            yield "".join(element.itertext())


def _is_ornament(element: Element) -> bool:
    sides = [element.get(side, "").removesuffix("px") for side in ("width", "height")]
    is_small = any(side.isdecimal() and int(side[:6] or 0) <= _ICON for side in sides)
    return is_small or (element.get("role") or "") in ("presentation", "none")
