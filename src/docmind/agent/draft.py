"""What a language model wrote, made ready to be checked: its own source marks taken out, its sentences found.

Markdown is kept. Headings, questions, greetings and "the documents do not say" are told from claims; where that is in
doubt a sentence is a claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from docmind.agent.sentences import is_abbreviation, shorten

Kind = Literal["prose", "row", "head", "code"]

_N = r"[1-9]\d{0,3}"
_MARK = re.compile(
    r"[ \t]{0,4}[\[【［]\s{0,3}(?:\^|"
    r"(?:sources?|fontes?|fuentes?|refs?|documentos?|documents?|docs?)\s{0,2}[:#.]?\s{0,2})?"
    rf"{_N}(?:\s{{0,2}}(?:[,;–—-]|and|e|y)\s{{0,2}}(?:sources?\s)?{_N}){{0,40}}(?:†[^\]】］\n]{{0,60}})?\s{{0,3}}[\]】］]"
    r"(?:\([^()\s]{0,300}\))?",
    re.IGNORECASE,
)
_HIDDEN = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\x00-\x08\x0b-\x1f\x7f]")
_JOINER = re.compile(r"(?<![^\W\d_])[\u200c\u200d]+|[\u200c\u200d]+(?![^\W\d_])")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_RULE = re.compile(r"[\s*_=|:+-]+$")
_LEAD = re.compile(r"\s{0,12}(?:>|[-*+•·▪●‣]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])(?:\s{1,8}\[[ xX]\])?\s{1,8}")
_SEPARATOR = re.compile(r"\s{0,3}\|?(?:\s{0,8}:?-{2,}:?\s{0,8}\|?)+\s*$")
_STOP = re.compile(r"(?:[.!?…؟۔]{1,8}[\"”’»)\]*_]{0,6}(?=\s)|[。！？])")
_LIST_OF_SOURCES = re.compile(
    r"[\s#*_]{0,8}(?:sources|references|citations|fontes|referências|fuentes|referencias)[\s:*_]{0,6}$", re.IGNORECASE
)
_NESTED = 8
_SHORTEST = 16  # characters; `Yes.` belongs to what follows

_GREETING = re.compile(
    r"(?:hello|hi|hey|sure|certainly|of course|great question|thank you|thanks|you're welcome|i hope|let me know|"
    r"feel free|please (?:let|note|feel|see|refer)|if you (?:have|need|want|would)|i(?:'m| am) (?:happy|glad)|"
    r"i can help|ol[áa]|claro|obrigad[oa]|espero que|posso ajudar|se (?:precisar|quiser|tiver)|hola|"
    r"por supuesto|gracias|puedo ayudar|si (?:necesita|quiere|tiene))\b",
    re.IGNORECASE,
)
_SILENCE = re.compile(
    r"\b(?:(?:documents?|pages?|passages?|texts?|sources?|excerpts?|context|information|report|contract)\b.{0,40}"
    r"(?:do(?:es)? not|don't|doesn't|did not|didn't|no |nothing|lacks?|cannot|is not|are not)\b.{0,40}"
    r"(?:say|state|mention|contain|provide|specif|include|give|address|answer|discuss|indicate|information|found|enough)|"
    r"(?:i|we) (?:could not|couldn't|cannot|can't|can not|did not|didn't|do not|don't|am unable|was unable)\b.{0,30}"
    r"(?:find|found|see|know|answer|determine|locate|tell|have)|"
    r"(?:i'm|i am) (?:sorry|afraid|unable|not (?:sure|able))|not found in|there is no (?:information|mention|answer)|"
    r"no information (?:is|was|on|about)|"
    r"(?:documentos?|p[áa]ginas?|textos?|trechos?|fontes?|fuentes?|contexto|pasajes?)\b.{0,30}\b(?:n[ãa]o|no|nem|ni)\b.{0,30}"
    r"(?:diz|dizem|menciona|cont[êeé]m|contiene|informa|trata|especific|responde|indica|fornece|proporciona|dicen?)|"
    r"n[ãa]o (?:encontrei|encontramos|h[áa] informa|foi encontrad|sei)|"
    r"no (?:encontr[ée]|encontramos|hay informaci|se encontr|s[ée]\b)|"
    r"lo siento|sinto muito|desculpe)",
    re.IGNORECASE,
)
_BUT = re.compile(
    r"\b(?:but|however|although|though|only|mas|por[ée]m|embora|pero|aunque|sin embargo)\b|;", re.IGNORECASE
)
_ANNOUNCES = re.compile(
    r"\b(?:here (?:is|are|'s)|following|below|as follows|summary|key (?:points|facts|findings)|based on|according to|"
    r"seguintes?|abaixo|resumo|siguientes?|a continuaci[óo]n|resumen|segundo|seg[úu]n|de acordo com|de acuerdo con)\b",
    re.IGNORECASE,
)
_INTERJECTED = re.compile(r"[\w\s'’,!-]{0,40}!$")


@dataclass(frozen=True, slots=True)
class Piece:
    """One sentence, table row or block of code of a draft, as a span of it."""

    start: int
    end: int
    kind: Kind
    is_claim: bool


def clean(text: str) -> str:
    """The draft without marks such as `[1]`, `[2, 3]`, `【4†x】`, without a list of sources at its end, and without
    characters that cannot be seen. Blocks of code keep their brackets."""
    text = text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    text = _JOINER.sub("", _HIDDEN.sub("", text))
    lines = text.split("\n")
    _drop_sources(lines)
    kept, fenced = [], False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
        kept.append(line if fenced else _unmarked(line))
    return "\n".join(kept).strip()


def pieces(text: str) -> list[Piece]:
    """The sentences of a clean draft, in order; they do not overlap."""
    return [piece for piece in _pieces(text) if piece.end > piece.start]


def _unmarked(line: str) -> str:
    for _ in range(_NESTED):  # taking one mark out of another may leave a third
        line, count = _MARK.subn("", line)
        if not count:
            return line
    return _MARK.sub("", line.replace("[", "(").replace("]", ")"))


def _drop_sources(lines: list[str]) -> None:
    """Take a closing section away that does nothing but list what the marks stood for."""
    at = len(lines)
    listed = 0
    while at and (not lines[at - 1].strip() or _MARK.match(lines[at - 1].lstrip(" \t-*•0123456789."))):
        at -= 1
        listed += bool(lines[at].strip())
    if at and listed and _LIST_OF_SOURCES.match(lines[at - 1]):
        del lines[at - 1 :]


def _pieces(text: str) -> Iterator[Piece]:
    block: tuple[int, int] | None = None  # a paragraph or list item that is still growing
    rows: list[tuple[int, int]] = []
    code = -1
    at = 0
    for line in text.split("\n"):
        start, end = at, at + len(line)
        at = end + 1
        fence = _FENCE.match(line)
        if code >= 0:
            if fence:
                yield _code(text, code, end)
                code = -1
            continue
        lead = _leads(line)
        is_row = line.lstrip().startswith("|") or bool(_SEPARATOR.match(line) and "|" in line)
        if block and (fence or is_row or lead or not line.strip() or _HEADING.match(line) or _RULE.match(line)):
            yield from _prose(text, *block)
            block = None
        if rows and not is_row:
            yield from _table(text, rows)
            rows = []
        if fence:
            code = start
        elif is_row:
            rows.append((start, end))
        elif not line.strip() or _RULE.match(line):
            continue
        elif heading := _HEADING.match(line):
            yield _trimmed(text, start + heading.end(), end, "head", is_claim=False)
        else:
            block = (block[0], end) if block and not lead else (start + lead, end)
    if block:
        yield from _prose(text, *block)
    if rows:
        yield from _table(text, rows)
    if code >= 0:
        yield _code(text, code, len(text))


def _leads(line: str) -> int:
    """How many characters a bullet, a number or a quotation mark takes at the start of a line."""
    at = 0
    for _ in range(4):
        match = _LEAD.match(line, at)
        if not match:
            break
        at = match.end()
    return at


def _prose(text: str, start: int, end: int) -> Iterator[Piece]:
    for a, b in _sentences(text, start, end):
        piece = _trimmed(text, a, b, "prose", is_claim=True)
        said = text[piece.start : piece.end]
        if any(char.isalnum() for char in said):
            yield Piece(piece.start, piece.end, "prose", _claims(said))


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _STOP.finditer(text, start, end):
        cut = match.end()
        following = text[cut : cut + 12].lstrip().lstrip('"“«([*_¿¡')
        if cut - start < _SHORTEST or following[:1].islower():
            continue
        if text[match.start()] == "." and is_abbreviation(text[max(start, match.start() - 40) : match.start() + 1]):
            continue
        yield from shorten(text, start, cut)
        start = cut
    yield from shorten(text, start, end)


def _table(text: str, rows: list[tuple[int, int]]) -> Iterator[Piece]:
    ruled = next((n for n, (a, b) in enumerate(rows) if _SEPARATOR.match(text[a:b])), -1)
    for number, (start, end) in enumerate(rows):
        if number == ruled:
            continue
        piece = _trimmed(text, start, end, "row", is_claim=number > ruled, also="|")
        if any(char.isalnum() for char in text[piece.start : piece.end]):
            yield Piece(piece.start, piece.end, "row" if piece.is_claim else "head", piece.is_claim)


def _code(text: str, start: int, end: int) -> Piece:
    return _trimmed(text, start, end, "code", is_claim=sum(c.isalpha() for c in text[start:end]) > 20)


def _trimmed(text: str, start: int, end: int, kind: Kind, *, is_claim: bool, also: str = "") -> Piece:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip(" \t\n" + also))
    return Piece(start + left, max(start + left, start + len(piece.rstrip(" \t\n" + also))), kind, is_claim)


def _claims(said: str) -> bool:
    """Whether a sentence says something that a page could support. In doubt it does."""
    bare = said.strip(" *_#>\"“”'")
    count = len(bare.split())
    figures = any(char.isdigit() for char in bare)
    if bare.endswith(("?", "؟", "？")):
        return False
    if _SILENCE.search(bare) and not figures and not _BUT.search(bare):
        return False
    if _GREETING.match(bare) and not figures and count <= 18:
        return False
    if bare.endswith(":") and not figures and (count <= 4 or _ANNOUNCES.search(bare)):
        return False
    if said.startswith(("**", "__")) and said.endswith(("**", "__")) and count <= 8 and not figures:
        return bare.endswith(".")
    return not (count <= 4 and not figures and _INTERJECTED.match(bare))
