"""Detection of claims that negate a statement of a page, or state its opposite."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from docmind.answers.kinds import function_words, is_shared
from docmind.embedding import PREFIX, prefix
from docmind.language import STOP_WORDS, fold


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORD = re.compile(r"(?:[ldnjmtsc]|qu)(?=['’]\w)|\w+(?:['’]\w+)?", re.IGNORECASE)  # `n'est` has two, `isn't` one
_NOT = {
    "en": _set(
        """not no never none neither nor without cannot nothing nobody isn't aren't wasn't weren't don't doesn't didn't
    won't can't couldn't shouldn't wouldn't hasn't haven't hadn't"""
    ),
    "pt": _set("""nao nunca nem nenhum nenhuma sem jamais ninguem nada"""),
    "es": _set("""no nunca ni ningun ninguno ninguna sin jamas nadie tampoco nada"""),
    "de": _set("""nicht kein keine keinen keinem keiner keines nie niemals niemand niemanden nichts weder noch ohne"""),
    "it": _set("""non mai senza nessun nessuno nessuna niente nulla neanche nemmeno neppure ne mica"""),
    "fr": _set("""ne n pas jamais aucun aucune rien personne ni sans nul nulle"""),
}
_WITHOUT = frozenset({"without", "sem", "sin", "ohne", "sans", "senza"})
_ALWAYS = frozenset().union(*_NOT.values()) - _set("no noch ne n pas personne mai non mica")  # other words elsewhere
_LACKING = re.compile(
    r"(?:prohib|proib|forbid|forbad|banned|lack|absen|ausen|unless|except|exce[tp][ou]|salvo|fail|refus|recus|rechaz|"
    r"denie|deny|negar|negou|barred|exclu|vedad|impedid|unable|ineligib|unlaw|invalid|otherwise|tampoc)[a-z]*"
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
_FAR = 5  # words after a negation that it may affect
_NEAR = 5  # words on each side that identify a place
_SHARED = 2  # of them, how many must be equal for two places to state the same
_CLEARLY = 2
_MORE = 1.5  # words: a language that is not shared ties with no other
_PLACES = 40


def tokens(text: str) -> list[str]:
    """Return every word, folded and in lower case."""
    return [word.replace("’", "'") for word in _WORD.findall(fold(text.lower().replace("’", "'")))]


def language_of_words(words: Sequence[str]) -> str:
    """Return the language of words by its function words; "" where they are inconclusive.

    One that is not among the shared ones has to have two words more than any other.
    """
    counts = sorted(
        (
            (sum(word in function_words(name) for word in words) - (0 if is_shared(name) else _MORE), name)
            for name in _NOT
        ),
        reverse=True,
    )
    return counts[0][1] if counts[0][0] > counts[1][0] else ""


def is_flipped(claim: Sequence[str], page: Sequence[str], claim_language: str, page_language: str) -> bool:
    """Return whether one text negates a statement of the other, or has the opposite of one of its words.

    Both are `tokens`. A word is compared with the place in the other text that has the most similar neighbours, so that
    a negation elsewhere on the page does not count.
    """
    said, stands = _Text(claim, claim_language), _Text(page, page_language)
    return _is_denied(said, stands) or _is_denied(stands, said, only_near=True) or _is_opposite(said, stands)


class _Text:
    """The stems of a text in order, with the places that a negation affects."""

    def __init__(self, words: Sequence[str], language: str) -> None:
        cues = _NOT.get(language, _NOT["en"]) | _ALWAYS
        self.stems = [_stem(word) for word in words]
        self.lacking = [bool(_LACKING.fullmatch(word)) for word in words]
        self.places: dict[str, list[int]] = {}
        for at, stem in enumerate(self.stems):
            self.places.setdefault(stem, []).append(at)
        self.scopes: list[tuple[bool, list[int]]] = []  # whether it is `without`; the first content words after it
        self.denied: dict[int, bool] = {}
        for at, word in enumerate(words):
            if word in cues:
                reach = [n for n in range(at + 1, min(len(words), at + 1 + _FAR)) if _tells(words[n], cues)]
                self.scopes.append((word in _WITHOUT, reach[:2]))
                self.denied.update(dict.fromkeys(reach[:2], word in _WITHOUT))

    def around(self, at: int) -> set[str]:
        return set(self.stems[max(0, at - _NEAR) : at] + self.stems[at + 1 : at + 1 + _NEAR])

    def best(self, stems: Iterable[str], around: set[str]) -> tuple[int, int] | None:
        """Return the place of these stems whose neighbours match best, and how many of them do."""
        places = [at for stem in stems for at in self.places.get(stem, ())]
        fits = [(len(around & self.around(at)), -at) for at in places[:_PLACES]]
        return (-max(fits)[1], max(fits)[0]) if fits else None

    def lacks_near(self, at: int) -> bool:
        return any(self.lacking[max(0, at - _NEAR) : at + _NEAR + 1])


def _is_denied(one: _Text, other: _Text, *, only_near: bool = False) -> bool:
    """Return whether `one` negates a statement that `other` makes without negation.

    With `only_near` the statement must have the same words around it: a page negates much that a claim does not
    mention.
    """
    for is_without, scope in one.scopes:
        found = [other.best([one.stems[at]], one.around(at)) for at in scope]
        if not found or found[0] is None:
            if found and not only_near and not other.scopes and not any(other.lacking):
                return True  # negated in other words, and the other text negates nothing
            continue
        (first, shared), rest = found[0], found[1:]
        if (only_near and shared < _SHARED) or first in other.denied or other.lacks_near(first):
            continue
        if not any(met and other.denied.get(met[0]) == is_without for met in rest):
            return True
    return False


def _is_opposite(claim: _Text, page: _Text) -> bool:
    for left, right in _PAIRS:
        for same, opposite in ((left, right), (right, left)):
            for stem in {s for s in claim.places if _is_one(s, same)}:
                at = claim.places[stem][0]
                around = claim.around(at)
                for_it = page.best([s for s in page.places if _is_one(s, same)], around)
                against = page.best([s for s in page.places if _is_one(s, opposite)], around)
                if against and (for_it is None or against[1] >= for_it[1] + _CLEARLY):
                    return True
    return False


def _is_one(stem: str, of: tuple[str, ...]) -> bool:
    return any(stem == one[:PREFIX] or (3 < len(one) <= PREFIX and stem.startswith(one)) for one in of)


def _tells(word: str, cues: frozenset[str]) -> bool:
    return word not in STOP_WORDS and word not in cues and (len(word) > 2 or word.isdigit())


def _stem(word: str) -> str:
    return prefix(word) or word
