"""Whether a claim denies what a page says, or says the opposite of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from docmind.embed.bm25 import STOP_WORDS, fold, prefix


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORD = re.compile(r"\w+(?:['’]\w+)?")
_NOT = {
    "en": _set(
        """not no never none neither nor without cannot nothing nobody isn't aren't wasn't weren't don't doesn't didn't
    won't can't couldn't shouldn't wouldn't hasn't haven't hadn't"""
    ),
    "pt": _set("""nao nunca nem nenhum nenhuma sem jamais ninguem nada"""),
    "es": _set("""no nunca ni ningun ninguno ninguna sin jamas nadie tampoco nada"""),
}
_LACKING = re.compile(
    r"(?:prohib|proib|forbid|forbad|bann|lack|absen|ausen|unless|except|exce[tp]|salvo|fail|refus|recus|rechaz|deni|deny|nega|"
    r"only|barred|exclu|ved[ao]|imped|un[a-z]{4}|in[a-z]{5}|im[mp][a-z]{3}|non|nao|desprov|carec|otherwise|neg)[a-z]*"
)
_OPPOSITES = [
    ("increas rose grew higher growth rising gain aument crec cresc subi elev",
     "decreas fell declin lower drop reduc diminu disminu caiu caida queda"),
    ("before antes", "after depois despues"),
    ("more mais mas", "less fewer menos"),
    ("above exceed over acima", "below under abaixo debajo"),
    ("maximum most maxim", "minimum least minim"),
    ("profit lucro gananc", "loss prejuizo perdida"),
    ("include inclu", "exclude exclu"),
    ("allow permit permi autoriz", "prohib forbid proib"),
    ("affirm", "revers vacat"),
    ("begin start inic comec comenz", "end termin"),
    ("public", "privat privad"),
    ("first primeir primer", "last ultim"),
    ("outperform surpass", "underperform"),
]  # fmt: skip
_PAIRS = [(tuple(a.split()), tuple(b.split())) for a, b in _OPPOSITES]
_TELLING = {
    "en": _set("""the of and is was were to in for with that by on are this which from as it its"""),
    "pt": _set("""o os da do das dos em nao que para com uma um pelo pela sao foi ao aos na no e ou as sua seu"""),
    "es": _set("""el los las del en que para con una un por se al fue son y la lo su sus es o como"""),
}
_FAR = 4  # words between a denial and what it denies


def tokens(text: str) -> list[str]:
    """Every word, folded and in lower case."""
    return [word.replace("’", "'") for word in _WORD.findall(fold(text.lower().replace("’", "'")))]


def language_of_words(words: Sequence[str]) -> str:
    """`en`, `pt` or `es` by function words; "" where they do not tell."""
    counts = sorted(
        ((sum(word in telling for word in words), name) for name, telling in _TELLING.items()), reverse=True
    )
    return counts[0][1] if counts[0][0] > counts[1][0] else ""


def is_flipped(claim: Sequence[str], page: Sequence[str], claim_language: str, page_language: str) -> bool:
    """Whether one of two texts denies what the other says, or one has the opposite of a word of the other.

    Both are `tokens`; what is denied is looked for in the other text, so that a denial elsewhere on the page is none.
    """
    said, stands = _denied(claim, claim_language), _denied(page, page_language)
    page_words, claim_words = {_stem(w) for w in page}, {_stem(w) for w in claim}
    for scope in said:
        if any(scope & other for other in stands) or any(_LACKING.match(word) for word in page):
            continue
        if scope & page_words or not stands:
            return True
    for scope in stands:
        if any(scope & other for other in said) or any(_LACKING.match(word) for word in claim):
            continue
        if scope and scope <= claim_words:
            return True
    return _is_opposite(claim, page)


def _denied(words: Sequence[str], language: str) -> list[frozenset[str]]:
    """For each denial the stems of the first two telling words after it."""
    cues = _NOT.get(language, _NOT["en"] | _NOT["pt"])
    found = []
    for at, word in enumerate(words):
        if word not in cues or (at == 0 and word in ("no", "nao")):
            continue
        scope = [
            _stem(w) for w in words[at + 1 : at + 1 + _FAR] if w not in STOP_WORDS and w not in cues and len(w) > 2
        ]
        found.append(frozenset(scope[:2]))
    return found


def _is_opposite(claim: Sequence[str], page: Sequence[str]) -> bool:
    for left, right in _PAIRS:
        for one, other in ((left, right), (right, left)):
            if _has(claim, one) and not _has(claim, other) and _has(page, other) and not _has(page, one):
                return True
    return False


def _has(words: Sequence[str], stems: tuple[str, ...]) -> bool:
    return any(word == stem or (len(stem) > 3 and word.startswith(stem)) for word in words for stem in stems)


def _stem(word: str) -> str:
    return prefix(word) or word
