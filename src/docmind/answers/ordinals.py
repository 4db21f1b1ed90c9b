"""The ordinals that a question names, "who lives on the third floor", and whether a passage has them.

`third`, `3rd`, `3.º` and `terceiro` are one ordinal, in English, Portuguese, Spanish, German and French. A word such as
`second` or `quarto`, which may mean something else, counts only where it stands as an ordinal does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from docmind.answers.numbers import ORDINALS
from docmind.answers.values import lowered_alike

_MORE = """first:1 second:2 primeiro:1 primeira:1 segundo:2 segunda:2 quarto:4 quarta:4 primero:1 primera:1 primer:1
cuarto:4 cuarta:4 undecimo:11 duodecimo:12 erste:1 ersten:1 erster:1 erstes:1 zweite:2 zweiten:2 zweiter:2 zweites:2
dritte:3 dritten:3 dritter:3 drittes:3 vierte:4 vierten:4 vierter:4 viertes:4 funfte:5 funften:5 sechste:6 sechsten:6
siebte:7 siebten:7 achte:8 achten:8 premier:1 premiere:1 deuxieme:2 troisieme:3 quatrieme:4 cinquieme:5 sixieme:6
septieme:7 huitieme:8 neuvieme:9 dixieme:10"""
_PARTS = frozenset("thirds fifths tenths terco tercos tercio tercios quintos quintas decimos".split())  # noqa: SIM905
_NUMBER_OF: Mapping[str, int] = {
    **{word: number for word, number in ORDINALS.items() if word not in _PARTS},
    **{word: int(number) for word, number in (pair.split(":") for pair in _MORE.split())},
}
_STEM = 5  # letters by which two forms of a noun are known to be one
_WORDS = "|".join(sorted(_NUMBER_OF, key=len, reverse=True))
_BEFORE = (
    r"(?:the|an?|my|our|his|her|their|its|on|in|which|what|every|o|os|no|do|ao|pelo|as?|na|da|pela|um|uma|el|la|del|al|un|una|en|"
    r"de|que|der|die|das|dem|den|im|am|le|les|au|du|[a-z]+'s)"
)
_IDLE = (
    r"(?:to|of|time|name|aid|hand|class|vez|nombre|nome|mal|feira|mao|mano|person|half|not|and|or|que|para|tem|esta|fica|custa|"
    r"possui|foi|era|vai|pode|de|do|da|del)\b"
)
_ASKED = re.compile(
    rf"\b{_BEFORE}\s({_WORDS})\s(?!{_IDLE})([a-z]{{3,}})"
    rf"|(?<![\w.,])(\d{{1,2}})(?:\.?\s?[ºª°]|\.o|\.a|st|nd|rd|th|eme|er)\.?\s(?!{_IDLE})([a-z]+)"
)
_SIGNED = re.compile(
    r"(?<![\w.,])(\d{1,2})(?:\s?\.?\s?[ºª°]|\.[oa](?=\s)|(?:st|nd|rd|th|er?|eme)\b|\.(?=\s[a-zß-öø-ÿ]))", re.IGNORECASE
)
_SPOKEN = re.compile(rf"\b(?:{_WORDS})\b(?!-)")
_ROMAN = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")


class Ordinal(NamedTuple):
    """The place that a question picks, and what it picks by it: 3 and `floor`."""

    number: int
    noun: str


def number_of(word: str) -> int:
    """Return the number of an ordinal in words, folded; 0 for any other word."""
    return _NUMBER_OF.get(word, 0)


def ordinals_asked(question: str) -> tuple[Ordinal, ...]:
    """Return the ordinals by which a question picks one of several; none of `for the first time`."""
    found = _ASKED.findall(_alike(question))
    return tuple(
        Ordinal(_NUMBER_OF[word], noun) if word else Ordinal(int(digits), of) for word, noun, digits, of in found
    )


def ordinals_in(text: str) -> frozenset[int]:
    """Return the ordinals that a text has in words or with a sign."""
    spoken = {_NUMBER_OF[match.group()] for match in _SPOKEN.finditer(lowered_alike(text))}
    return frozenset(spoken | {int(match[1]) for match in _SIGNED.finditer(text)})


def has_ordinals(asked: Sequence[Ordinal], text: str) -> bool:
    """Return whether a text has all of these ordinals, also as a number behind the noun: `Phase 2`, `Part II`."""
    if not asked:
        return True
    held, lowered = ordinals_in(text), lowered_alike(text)
    return all(one.number in held or _is_numbered(one, lowered) for one in asked)


def _is_numbered(one: Ordinal, lowered: str) -> bool:
    roman = _ROMAN[one.number] if 0 < one.number < len(_ROMAN) else one.number
    return bool(re.search(rf"\b{one.noun[:_STEM]}[a-z]{{0,4}}\s(?:no?\.?\s?)?(?:{one.number}|{roman})\b", lowered))


def _alike(question: str) -> str:
    """Return lower case without accents in which the signs of ordinals are kept."""
    return "".join(char if char in "ºª°" else lowered_alike(char) for char in question)
