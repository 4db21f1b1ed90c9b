"""The text of a mail, line by line: marks of quoting taken off, and lines joined that a program broke."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from docmind.blocks import Block, Table
from docmind.reading.formats.characters import tidy
from docmind.reading.formats.mail.letter import Body
from docmind.reading.formats.mail.quoted import ATTRIBUTION, OPENS, Said

_MARKS = re.compile(r"(?:> ?)+")
_DEEPEST = 20
_SIGN = re.compile(r"-- ?$")
_ALIGNED = re.compile(r"\S(?: {3,}|\t+)\S")
# Programs break lines of mails at 72 to 80 characters.
_NARROWEST, _WIDEST, _WRAP = 50, 82, 68
_OWN_LINE = re.compile(
    r"\s|[-*•·–—+>#|]|\(?(?:\d+(?:\.\d+)*|[A-Za-z]|[ivxIVX]+)[.)]\s|\d+(?:\.\d+)+\s"
    r"|\*?[A-ZÀ-Þ][\w’'-]*(?: [\w’'-]+)?:\*?\s"
)
_ARMOUR = re.compile(r"-----BEGIN PGP SIGNED MESSAGE-----\r?\n(?:[A-Z][\w-]*: [^\n]*\n){0,20}\r?\n", re.I)
_SEAL = re.compile(r"-----BEGIN PGP SIGNATURE-----.*?(?:-----END PGP SIGNATURE-----|\Z)", re.S)
SEALED = re.compile(r"-----BEGIN PGP MESSAGE-----.*?(?:-----END PGP MESSAGE-----|\Z)", re.S)
"""Encrypted text within a text, which is not shown."""

Line = tuple[int, str]
"""How deep a line is quoted, and what it says."""


def said_in(body: Body) -> Iterator[Said]:
    """Yield the paragraphs of a text, each with the depth to which it is quoted."""
    text = body.text
    if "-----BEGIN PGP" in text:
        text = SEALED.sub("", _SEAL.sub("", _ARMOUR.sub("", text)))
    lines = [_line(line) for line in re.split(r"\r\n|[\n\r\f\x0b\x85\u2028\u2029]", text)]
    if body.is_flowed:
        lines = list(_unflowed(lines, is_delsp=body.is_delsp))
    paragraph: list[Line] = []
    is_apart = True
    for depth, line in [*lines, (0, "")]:
        if paragraph and (not line.strip() or depth != paragraph[-1][0]):
            yield from _paragraph(paragraph, is_apart=is_apart)
            is_apart = not line.strip()
            paragraph.clear()
        elif not line.strip():
            is_apart = True
        if line.strip():
            paragraph.append((depth, line))


def _line(line: str) -> Line:
    marks = _MARKS.match(line)
    return (min(marks[0].count(">"), _DEEPEST), line[marks.end() :]) if marks else (0, line)


def _unflowed(lines: Sequence[Line], *, is_delsp: bool) -> Iterator[Line]:
    """Join the lines of `format=flowed`: one that ends with a space goes on (RFC 3676)."""
    open_at, said = 0, ""
    for depth, raw in lines:
        line = raw[1:] if raw.startswith(" ") else raw
        if said and (depth != open_at or _SIGN.match(line)):
            yield open_at, said.rstrip()
            said = ""
        open_at = depth
        if line.endswith(" ") and not _SIGN.match(line):
            said += line[:-1] if is_delsp else line
            continue
        yield depth, said + line
        said = ""
    if said:
        yield open_at, said.rstrip()


def _paragraph(lines: Sequence[Line], *, is_apart: bool) -> Iterator[Said]:
    depth = lines[0][0]
    said = [tidy(line.expandtabs(8)).rstrip() for _depth, line in lines]
    if sum(bool(_ALIGNED.search(line)) for line in said) >= max(2, len(said) // 2):
        yield Said(Block(kind="paragraph", text="\n".join(said), level=int(is_apart), is_verbatim=True), depth)
        return
    together: list[str] = []
    for at, line in enumerate(said):
        together.append(line.strip())
        following = said[at + 1] if at + 1 < len(said) else ""
        if not _runs_on(line, following) and not _is_attribution(together, said[at + 1 : at + 3]):
            yield Said(Block(kind="paragraph", text=" ".join(together), level=int(is_apart)), depth)
            is_apart = False
            together.clear()


def _runs_on(line: str, following: str) -> bool:
    """Return whether a line ends because the first word of the next one had no room on it."""
    if not following or _OWN_LINE.match(following):
        return False
    return _NARROWEST <= len(line) <= _WIDEST and len(line) + 1 + len(following.split(None, 1)[0]) > _WRAP


def _is_attribution(before: Sequence[str], following: Sequence[str]) -> bool:
    """Return whether lines go on to the end of `On 2 June 2025, Jo Lind wrote:`."""
    said = " ".join(before)
    if len(before) > 2 or not OPENS.match(said) or ATTRIBUTION.fullmatch(said):
        return False
    return any(ATTRIBUTION.fullmatch(" ".join([said, *following[:count]])) for count in (1, 2))


def lines_of(text: str) -> Iterator[Block | Table]:
    """Yield each line as a paragraph."""
    yield from (Block(kind="paragraph", text=tidy(line)) for line in text.splitlines() if line.strip())
