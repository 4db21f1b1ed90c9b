"""What a passphrase is worth against somebody who has a copy of the library and tries one after the other."""

from __future__ import annotations

import math
import re
from typing import Literal

from docmind.wording import _

SHORTEST_PASSPHRASE = 8  # characters
Strength = Literal["short", "weak", "fair", "strong"]

_FAIR, _STRONG = 40.0, 58.0  # bits: five words of a list of 7,776 have 65, four have 52
_WORD = 11.0  # bits of a word: people choose among some 2,000 that they use most
_WORD_LETTERS = 6.5
_PARTS = re.compile(r"[^\W\d_]+|\d+|[\W_]")
_ROWS = ("abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")
_KNOWN = frozenset({"password", "passwort", "passphrase", "senha", "contraseña", "docmind", "letmein", "welcome"})


def strength_of(passphrase: str) -> Strength:
    """Return in a word how hard a passphrase is to guess.

    An estimate from its parts: a run of letters counts as words of 11 bits or as its letters, whichever is less; what
    was there before, and runs along the alphabet or the keyboard, count next to nothing. A guess takes 64 MiB and about
    a tenth of a second of a processor (Argon2id): 2^40 of them take one processor 3,500 years, and a thousand
    processors some years; 2^58 are out of reach.
    """
    if len(passphrase) < SHORTEST_PASSPHRASE:
        return "short"
    bits, seen = 0.0, set[str]()
    for part in _PARTS.findall(passphrase.casefold()):
        bits += 1.0 if part in seen or part in _KNOWN else _bits_of(part)
        seen.add(part)
    return "strong" if bits >= _STRONG else "fair" if bits >= _FAIR else "weak"


def _bits_of(part: str) -> float:
    distinct = len(set(part))
    if not part.isalnum():
        return 1.0 if part.isspace() else 4.0
    if len(part) > 2 and (distinct <= 2 or any(part in row or part[::-1] in row for row in _ROWS)):
        return 4.0
    if part.isdigit():
        return distinct * math.log2(10)
    words = max(1.0, len(part) / _WORD_LETTERS)  # words may be joined without a space
    return min(distinct * math.log2(26), _WORD * words)


def strength_in_words(passphrase: str) -> str:
    """Return a sentence about how hard a passphrase is to guess."""
    return {
        "short": _("Use at least {n} characters.").format(n=SHORTEST_PASSPHRASE),
        "weak": _("Weak: who has a copy of the library can guess it. Five words chosen at random are strong."),
        "fair": _("Fair: guessing it takes many computers years."),
        "strong": _("Strong: guessing it is out of reach."),
    }[strength_of(passphrase)]
