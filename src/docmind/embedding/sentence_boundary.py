"""Ends of sentences in prose: pages, written answers, questions, messages.

Rules over the words on both sides of a stop, for legal and scientific text: a wrong end cuts a quote in mid-sentence,
a missed one only makes it longer, so in doubt there is none. The abbreviations are those of English, Portuguese and
Spanish; a number with a full stop is an ordinal in the languages that write ordinals so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from docmind.documents import language_of
from docmind.language import STOP_WORDS, fold, stop_words

_STOP = re.compile(r"([.!?…؟۔]{1,8})[\"”’»)\]*_]{0,6}(?=\s)|[。！？]")
_OPENING = '"“«‘([*_¿¡'
_NO_START = (".", ",", ";", ":", "!", "?", "…", ")", "]", "”", "»")
_LOOK = 60  # characters before a stop that are looked at, and after it


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Abbreviations: within a sentence whatever follows; before numbers only; words too; the last of a sentence too.
_WITHIN = _set(
    """approx aprox capt cf cfr ch chap cia dep dept dr dra dras dres drs ee esp exc
    exma exmo fig figs fl fls gov gral hon ie eg ilmo lt messrs mr mrs ms obs pe pp prof profa profs rel rep
    rev sen sgt sr sra sras sres srs srta ss sta sto ud uds viz vol vols vs"""
)
_BEFORE_NUMBERS = _set(
    """abr ago ap apdo apr aug cl cláus dec dez dic ene eq eqs feb fev jan jul jun n no nos nov nr núm num nº oct
    pag par para pg pág págs ref refs reg res sec sect sep sept sig tab tbl tel"""
)
_WORDS_TOO = _set("art arts av cap caps col ed eds gen min op st")
_LAST = _set("al bros cit co corp etc inc jr llc ltd ltda uu")
_ALL_STOP_WORDS = stop_words()
_UNITS = _set("g h l m min s sec seg")
_ACRONYM = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")
_HOURS = ("a.m", "p.m")
_ZONE = re.compile(r"[A-Z]{2,4}\b")  # `4:30 p.m. ET`
_ALWAYS_WITHIN = ("e.g", "i.e", "p.ex", "v.g")
_LAST_TOKEN = re.compile(r"([^\s(\[\"“«‘*_]+)\.$")
_WORD = re.compile(r"[^\W\d_]+(?=\s)")
_NUMBER = re.compile(r"[A-Z]{0,4}\d|[IVXLC]+\b")
_SHORT = 5  # letters of a word that may be shortened
_SHORTENED = re.compile(r"(?:[A-Z][a-z]{1,4}\.\s+){0,4}§|(?:[A-Z][a-z]{1,4}\.\s+){1,4}(?:\d|[a-z])")
_ORDINAL = re.compile(r"(?<![\d.,:/$€£§%-])\d{1,3}\.$")
_ORDINAL_LANGUAGES = _set("bs cs da de et eu fi fo hr hu is lb lv nb nn no pl sk sl sr tr")
"""Languages whose ordinals in digits end with a full stop, as of the number formats of CLDR ("{0}." for ordinals)."""
_HEADING = re.compile(
    r"(?:^|[:;]\s*)(?:(?:art(?:icle|igo|[íi]culo)?|section|sec(?:ção|ción|tion)?|seção|chapter|cap[íi]tulo|item|"
    r"cl[áa]usula|clause)\.?\s+)?\d{1,3}[.ºª]*$|^par[áa]grafo [úu]nico\.$",
    re.IGNORECASE,
)


def sentence_ends(text: str, start: int = 0, end: int | None = None, *, typed: bool = False) -> Iterator[int]:
    """Yield the places in `text[start:end]` where a sentence ends and another one follows.

    With `typed`, a sentence may begin with a small letter, as in messages.
    """
    end = len(text) if end is None else end
    for match in _STOP.finditer(text, start, end):
        cut = match.end()
        if _ends(text, start, match, end, typed=typed):
            yield cut
            start = cut


def _ends(text: str, start: int, match: re.Match[str], end: int, *, typed: bool) -> bool:
    rest = text[match.end() : min(end, match.end() + _LOOK)].lstrip()
    following = rest.lstrip(_OPENING)
    if not rest and end - match.end() <= _LOOK:
        return False
    if (following[:1].islower() and not typed) or following.startswith(_NO_START):
        return False
    if match[1] != ".":
        return True
    before = text[max(start, match.start() - _LOOK) : match.start() + 1].lstrip()
    if _is_abbreviation(before, rest, following):
        return False
    is_ordinal = _ORDINAL.search(before) is not None and not _starts(following, _ALL_STOP_WORDS)
    return not (is_ordinal and language_of(text) in _ORDINAL_LANGUAGES)


def _is_abbreviation(before: str, rest: str, following: str) -> bool:
    """Return whether the full stop that ends `before` belongs to its last word.

    `rest` may begin with quotes and brackets, which `following` lacks.
    """
    before = before.lstrip(_OPENING)
    token = _LAST_TOKEN.search(before)
    if token is None:
        return False
    written, word = token[1], token[1].lower()
    first = following[:1]
    if _HEADING.search(before):
        return True
    if _ACRONYM.fullmatch(word):
        is_new = _starts(following) or (word in _HOURS and first.isupper() and not _ZONE.match(following))
        return word in _ALWAYS_WITHIN or rest.startswith("(") or not is_new
    counted = before[: token.start()].rstrip()[-1:].isdigit()
    if counted and word in _UNITS and written.islower():
        return not first.isupper()
    if written.istitle() and len(word) <= _SHORT and _SHORTENED.match(following):  # `Rev. Stat. Ann. § 41`
        return True
    if word in _WITHIN or (counted and first.isdigit() and written.istitle()):  # `204 Ariz. 386`
        return True
    if word in _BEFORE_NUMBERS and (written.islower() or len(word) > 1):  # `N.` is a first name
        return _NUMBER.match(following) is not None
    if word in _WORDS_TOO:
        return not _starts(following)
    if word in _LAST:
        return not first.isupper() or rest.startswith("(")
    return len(word) == 1 and word.isalpha() and not (written.isupper() and _starts(following))


def _starts(following: str, function_words: frozenset[str] = STOP_WORDS) -> bool:
    """Return whether a text begins as sentences do: with a function word that has a capital."""
    word = _WORD.match(following)
    return word is not None and word[0].istitle() and fold(word[0].lower()) in function_words
