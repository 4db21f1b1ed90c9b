"""One paragraph of pandoc's tree as text: accents and links as they are seen, formulas as words, notes apart."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from docmind.blocks import Losses
from docmind.reading.formats.characters import struck, subscript, superscript, tidy
from docmind.reading.formats.math_text import words_of_latex
from docmind.reading.formats.typeset import LINE

Node = dict[str, Any]
"""A node of the tree: its type `t`, and its content `c`."""

DEEPEST = 60
"""Nodes within each other; a deeper tree is not read."""

_LABEL = re.compile(r"\\(?:label|tag)\s*\{[^{}]*\}\s*|\\(?:nonumber|notag)\b\s*")
_TITLE_AND_TARGET = re.compile(r"(.*\S)\s*<[^<>]+>", re.S)  # what a role of reStructuredText shows, and where it leads
_BARE = frozenset(("footnote-ref", "uri", "email"))


def parts_of(node: Node) -> tuple[str, Any]:
    """Return the type and the content of a node; one without content has None."""
    return node["t"], node.get("c")


@dataclass(slots=True)
class Said:
    """The text of a paragraph, and its notes with the text before each."""

    text: str = ""
    notes: list[tuple[str, list[Node]]] = field(default_factory=list[tuple[str, list[Node]]])


class Inline:
    """Reads paragraphs. `losses` counts pictures, which are other files, and raw text of other formats."""

    def __init__(self, losses: Losses) -> None:
        self._losses = losses
        self._notes = 0

    @property
    def notes(self) -> int:
        """The notes so far."""
        return self._notes

    def said(self, nodes: Iterable[Node]) -> Said:
        """Return a paragraph; its notes are numbered on from those before."""
        said = Said()
        parts: list[str] = []
        self._add(nodes, parts, said, 0)
        said.text = _tidied("".join(parts))
        return said

    def text(self, nodes: Iterable[Node]) -> str:
        """Return a text that has no notes of its own: those in it are left out."""
        said, parts = Said(), list[str]()
        before = self._notes
        self._add((node for node in nodes if node["t"] != "Note"), parts, said, 0)
        self._notes = before
        return _tidied("".join(parts))

    def _add(self, nodes: Iterable[Node], parts: list[str], said: Said, depth: int) -> None:
        if depth > DEEPEST:
            raise ValueError("nodes too deep")
        for node in nodes:
            kind, content = parts_of(node)
            if kind == "Str":
                parts.append(content)
            elif kind in ("Space", "SoftBreak"):
                parts.append(" ")
            elif kind == "LineBreak":
                parts.append(LINE)
            elif kind == "Note":
                self._notes += 1
                said.notes.append(("".join(parts), content))
                parts.append(f"[{self._notes}]")
            elif kind == "Math":
                parts.append(words_of_latex(formula(content[1])))
            elif kind == "Code":
                parts.append(_code(content))
            elif kind == "RawInline":
                self._raw(content, parts)
            else:
                self._add_around(kind, content, parts, said, depth + 1)

    def _add_around(self, kind: str, content: Any, parts: list[str], said: Said, depth: int) -> None:
        """Add a node that holds others."""
        if kind in ("Emph", "Strong", "Underline", "SmallCaps"):
            self._add(content, parts, said, depth)
        elif kind in ("Superscript", "Subscript", "Strikeout"):
            inner = self._inner(content, said, depth)
            shown = {"Superscript": superscript, "Subscript": subscript}.get(kind)
            parts.append(shown(inner, "".join(parts[-3:])) if shown else struck(inner))
        elif kind == "Quoted":
            opening, closing = "“”" if content[0]["t"] == "DoubleQuote" else "‘’"
            parts.append(opening)
            self._add(content[1], parts, said, depth)
            parts.append(closing)
        elif kind == "Link":
            parts.append(self._link(content, said, depth))
        elif kind == "Image":
            parts.append(self._image(content, said, depth))
        elif kind == "Span":
            classes = content[0][1]
            inner = self._inner(content[1], said, depth)
            parts.append(f":{inner}:" if "tag" in classes else inner)
        elif kind == "Cite":
            parts.append(self._cited(content, said, depth))
        else:
            raise ValueError(f"a node {kind}")

    def _inner(self, nodes: Iterable[Node], said: Said, depth: int) -> str:
        parts: list[str] = []
        self._add(nodes, parts, said, depth)
        return "".join(parts)

    def _link(self, content: Any, said: Said, depth: int) -> str:
        (_id, classes, _pairs), nodes, (address, _title) = content
        inner = self._inner(nodes, said, depth)
        is_said = address.startswith("#") or not _BARE.isdisjoint(classes) or "wikilink" in classes
        is_said = is_said or inner.strip() in (address, address.removeprefix("mailto:"))
        return inner if is_said else f"{inner} ({address})".lstrip()

    def _image(self, content: Any, said: Said, depth: int) -> str:
        _attributes, nodes, (address, _title) = content
        inner = self._inner(nodes, said, depth)
        self._losses.note("picture" if address.startswith("data:") else "linked_picture")
        return "" if inner in ("image", address) else inner  # which pandoc writes where there are no words

    def _cited(self, content: Any, said: Said, depth: int) -> str:
        """Return a citation as the text writes it, or the keys that it names."""
        cited, nodes = content
        if not all(node["t"] == "RawInline" for node in nodes):
            return self._inner(nodes, said, depth)
        shown: list[str] = []
        for one in cited:
            before, behind = (self._inner(one[name], said, depth) for name in ("citationPrefix", "citationSuffix"))
            key = f"{before} {one['citationId']}".strip()
            shown.append(f"{key}{'' if behind.lstrip().startswith(',') or not behind else ', '}{behind}")
        return f"[{'; '.join(shown)}]"

    def _raw(self, content: Any, parts: list[str]) -> None:
        form, text = content
        if form in ("latex", "tex") and (found := _formula_of(text)):
            parts.append(words_of_latex(found))
        elif text.strip() and not text.startswith("#+"):
            self._losses.note("part", f"raw {form}")


def formula(latex: str) -> str:
    """Return a formula without what is not shown of it: its label."""
    return " ".join(_LABEL.sub("", latex).split())


def environment(latex: str) -> str:
    """Return the formula that an environment of LaTeX is; "" where it is none."""
    found = re.fullmatch(
        r"\s*(\\begin\{(equation|align|gather|multline|eqnarray|displaymath|math|alignat|flalign)\*?\}.*\\end\{\2\*?\})\s*",
        latex,
        re.S,
    )
    return formula(found[1]) if found else ""


def _formula_of(text: str) -> str:
    found = re.fullmatch(r"\\\((.*)\\\)|\\\[(.*)\\\]|\$++([^$]*+)\$++", text.strip(), re.S)
    return formula(next(filter(None, found.groups()), "")) if found else environment(text)


def _code(content: Any) -> str:
    (_id, classes, pairs), text = content
    role = dict(pairs).get("role", "") if "interpreted-text" in classes else ""
    if role in ("pep", "rfc"):
        return f"{role.upper()} {text}"
    if role and (found := _TITLE_AND_TARGET.fullmatch(text)):
        return found[1]
    return text.lstrip("~!") if role else text


def _tidied(text: str) -> str:
    lines = (" ".join(tidy(line).split()) for line in text.split(LINE))
    return LINE.join(filter(None, lines))
