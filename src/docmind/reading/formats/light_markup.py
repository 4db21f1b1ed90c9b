"""Headings of texts in light markup: reStructuredText, Org and LaTeX. Their other marks stay as they are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

_LONGEST = 250  # characters of a heading
_ORG = re.compile(r"(\*{1,9})\s+(?:(?:TODO|DONE)\s+)?(\S.*)")
_ORG_TAGS = re.compile(r"(?<!\s)\s++:[\w@#%:]+:$")
_ORG_TITLE = re.compile(r"#\+title:\s*(\S.*)", re.IGNORECASE)
_LATEX = re.compile(r"\s*\\(title|part|chapter|section|subsection|subsubsection|paragraph)\*?\s*(?:\[[^\]]*\])?\{")
_LATEX_LEVELS = {"title": 1, "part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5}
_RULE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*$")


class Part(NamedTuple):
    """A part of a text: a heading with its level, or with level 0 the lines up to the next heading."""

    text: str
    level: int = 0


def parts_of(text: str, markup: str) -> Iterator[Part]:
    """Yield the headings of a text and the lines between them; `markup` is one of `FORMATS`."""
    find = FORMATS[markup]
    said: list[str] = []
    lines = text.split("\n")
    for at, (taken, heading) in find(lines):
        said += lines[at:taken] if heading is None else ()
        if heading is not None:
            if any(said):
                yield Part("\n".join(said))
            said = []
            yield heading
    if any(said):
        yield Part("\n".join(said))


_Found = Iterator[tuple[int, tuple[int, Part | None]]]
"""The line at which a part begins, the line after it, and the heading that it is; None for a line of text."""


def _org(lines: list[str]) -> _Found:
    is_block = False
    for at, line in enumerate(lines):
        if line[:8].lower() in ("#+begin_", "#+end_so", "#+end_ex"):
            is_block = line[2:7].lower() == "begin"
        found, title = (None, None) if is_block else (_ORG.match(line.rstrip()), _ORG_TITLE.match(line.rstrip()))
        heading = None
        if found:
            heading = Part(_ORG_TAGS.sub("", found[2])[:_LONGEST], len(found[1]))
        elif title:
            heading = Part(title[1][:_LONGEST], 1)
        yield at, (at + 1, heading)


def _latex(lines: list[str]) -> _Found:
    for at, line in enumerate(lines):
        found = _LATEX.match(line)
        said = _in_braces(line[found.end() :]) if found else ""
        yield at, (at + 1, Part(said, _LATEX_LEVELS[found[1]]) if found and said else None)


def _in_braces(text: str) -> str:
    """Return a text up to the brace that closes it; "" where none does or it is no heading."""
    depth = 1
    for at, char in enumerate(islice(text, _LONGEST)):
        depth += (char == "{") - (char == "}")
        if not depth:
            return " ".join(text[:at].split())
    return ""


def _rst(lines: list[str]) -> _Found:
    """Find lines that are underlined, with or without a line above them; which line is which level is by its first."""
    levels: dict[str, int] = {}
    at = 0
    while at < len(lines):
        above = _RULE.match(lines[at])
        title = lines[at + 1 if above else at : at + 2 if above else at + 1]
        rule = _RULE.match(lines[at + 2 if above else at + 1]) if at + (2 if above else 1) < len(lines) else None
        said = title[0].strip() if title else ""
        is_heading = (
            rule is not None
            and 0 < len(said) <= _LONGEST
            and len(rule[0].strip()) >= len(title[0].rstrip())
            and not _RULE.match(title[0])
            and (above is None or above[1] == rule[1])
            and (above is not None or not title[0][0].isspace())
        )
        if rule is not None and is_heading:
            level = levels.setdefault(f"{rule[1]}{above is not None}", len(levels) + 1)
            taken = at + (3 if above else 2)
            yield at, (taken, Part(said, min(level, 9)))
            at = taken
        else:
            yield at, (at + 1, None)
            at += 1


FORMATS: dict[str, Callable[[list[str]], _Found]] = {"rst": _rst, "org": _org, "latex": _latex}
"""What finds the headings, by the kind of the file."""
