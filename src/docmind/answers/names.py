"""The names in a sentence (words with a capital, acronyms, codes), and whether a page has them too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher

from rapidfuzz.distance import Levenshtein

from docmind.language import MONTHS_IN_PROSE, NUMBERS_IN_PROSE, ORDINALS_IN_PROSE, STOP_WORDS, fold


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_COMPARED, _LONGEST_NAME, _FRAME = 90, 4, 4  # words
_BEFORE = 8  # characters before a word that tell whether a sentence begins with it
_TOKEN = re.compile(r"[^\W_]+(?:[.&'’-][^\W_]+)*")
_COUNTED = re.compile(r"\d+(?:[.,]\d+)*(?:st|nd|rd|th|s|x|[ºªoak%]|m|bn|mn|K|M|B|GB|MB|pm|am)?")
_STARTS = re.compile(r"(?:^|[.:;!?¿¡|\n—–•]|[(\[\"“«‘'*])[\s*_\"“«(\[]*$")
_COMMON = _set(
    """i a an the this that these those it its he she they we you his her their our my in on at by for from to of
    with and or but as if so yet nor is are was were be been has have had do does did will would shall should may
    might can could must not no yes all any some each every both either neither other another such who whom whose
    which what when where why how then thus hence also only even after before during since until while because
    although though however mr mrs ms dr sr sra page section article chapter table figure note item form report
    act law part paragraph o os as um uma e ou de da do das dos em no na nos nas por para com sem se que el la los
    las un una unos unas y u del al lo su sus con sin si art artigo articulo pagina secao seccion tabela tabla
    figura lei ley"""
)
_ALIASES = {
    "us": ("united", "usa"),
    "usa": ("united", "us"),
    "uk": ("united",),
    "eu": ("european", "europeia", "europea"),
}

Edits = Callable[[str], int]
"""The number of wrong letters that a name with this key may have."""


@dataclass(frozen=True, slots=True)
class Name:
    """One word of a name: `key` is its compared form. `is_sure` is False where a capital may only start a sentence."""

    start: int
    end: int
    key: str
    is_code: bool
    is_sure: bool


def named(text: str) -> list[Name]:
    """Return the names of a sentence, in order, without months and numbers."""
    found: list[Name] = []
    tokens = [match for match in _TOKEN.finditer(text) if not match.group().islower()]
    letters = [char for char in text if char.isalpha()]
    is_shouted = sum(char.isupper() for char in letters) > 0.6 * len(letters)
    for match in tokens:
        word = re.sub(r"['’]s?$", "", match.group())
        start = match.start()
        if not any(char.isalpha() for char in word) or _COUNTED.fullmatch(word):
            continue
        is_first = bool(_STARTS.search(text[max(0, start - _BEFORE) : start]))
        if any(char.isdigit() for char in word):
            if any(char.isupper() for char in word):
                found.append(Name(start, match.end(), compact(word), is_code=True, is_sure=True))
            continue
        for part in re.finditer(r"[^\W_]+(?:[.&][^\W_]+)*", word):
            key = compact(part.group())
            if not part.group()[0].isupper() or key in _COMMON or key in STOP_WORDS or len(key) < 2:
                continue
            if key in MONTHS_IN_PROSE or key in ORDINALS_IN_PROSE or key in NUMBERS_IN_PROSE:
                continue
            is_acronym = len(key) > 1 and part.group().isupper() and not is_shouted
            inner = any(char.isupper() for char in part.group()[1:]) and not part.group().isupper()
            is_sure = (is_acronym or inner or not (is_first and part.start() == 0)) and not is_shouted
            found.append(Name(start + part.start(), start + part.end(), key, is_code=False, is_sure=is_sure))
    return found


def compact(word: str) -> str:
    """Return folded, lower-case letters and digits only: `10-K` is `10k`, `U.S.` is `us`."""
    return "".join(char for char in fold(word.lower()) if char.isalnum())


def words_of(text: str) -> set[str]:
    """Return all forms that can match a name in a text: words, their parts, and initials of capitalised runs."""
    found: set[str] = set()
    run = ""
    last = 0
    for match in _TOKEN.finditer(text):
        word = re.sub(r"['’]s?$", "", match.group())
        found.add(compact(word))
        found.update(compact(part) for part in re.split(r"[.&'’-]", word))
        gap = text[last : match.start()]
        if word[0].isupper():
            run = run + word[0] if last and not gap.strip(" ,&\n") else word[0]
            if len(run) >= 2:
                found.update(run[at:].lower() for at in range(max(0, len(run) - 5), len(run) - 1))
        elif word.lower() not in STOP_WORDS:
            run = ""
        last = match.end()
    found.discard("")
    return found


def meets(key: str, words: Set[str], *, edits: Edits) -> bool:
    """Return whether a name is among the words, with at most `edits(key)` wrong letters."""
    if key in words or any(alias in words for alias in _ALIASES.get(key, ())):
        return True
    if (key.endswith("s") and key[:-1] in words) or key + "s" in words:
        return True
    allowed = edits(key)
    return allowed > 0 and any(_near(key, word, allowed) for word in words)


def is_replaced(claim: str, page: str, *, edits: Edits) -> bool:
    """Return whether a text has another name where a page has one, with the same words around it."""
    left, right = _TOKEN.findall(claim)[:_COMPARED], _TOKEN.findall(page)[: 2 * _COMPARED]
    a, b = [compact(word) for word in left], [compact(word) for word in right]
    for (i1, i2, j1, j2), before, after in replacements(a, b, _LONGEST_NAME):
        is_framed = before >= min(2, i1) and after >= min(2, len(a) - i2) and before + after >= _FRAME
        if not is_framed and (before + after < 2 or (not before and i1) or (not after and i2 < len(a))):
            continue
        new = [word for word, key in zip(left[i1:i2], a[i1:i2], strict=True) if key not in b[j1:j2]]
        old = [word for word, key in zip(right[j1:j2], b[j1:j2], strict=True) if key not in a[i1:i2]]
        if any(_near(key, other, edits(key)) for key in a[i1:i2] for other in b[j1:j2] if edits(key)):
            continue  # the same name with OCR errors
        strictly = not is_framed or i1 == 0
        if _is_naming(new, strictly=strictly) and _is_naming(old, strictly=strictly):
            return True
    return False


def replacements(a: list[str], b: list[str], most: int) -> Iterator[tuple[tuple[int, int, int, int], int, int]]:
    """Yield where `a[i1:i2]` stands for `b[j1:j2]`, at most `most` words each.

    Each comes with the number of words before and behind it that are the same.
    """
    steps = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    for at, (step, i1, i2, j1, j2) in enumerate(steps):
        if step == "replace" and i2 - i1 <= most and j2 - j1 <= most:
            before = steps[at - 1][2] - steps[at - 1][1] if at else 0
            after = steps[at + 1][2] - steps[at + 1][1] if at + 1 < len(steps) else 0
            yield (i1, i2, j1, j2), before, after


def _is_naming(written: Sequence[str], *, strictly: bool) -> bool:
    return any(
        word[0].isupper() and not (strictly and (compact(word) in _COMMON or compact(word) in MONTHS_IN_PROSE))
        for word in written
    )


def no_edits(_key: str) -> int:
    """Allow no wrong letters, for text that was not read by OCR."""
    return 0


def ocr_edits(key: str) -> int:
    """Allow wrong letters in text that was read by OCR: one in four, two in eight."""
    return 0 if len(key) < 4 or key.isdigit() else 1 if len(key) < 8 else 2


def _near(a: str, b: str, most: int) -> bool:
    return Levenshtein.distance(a, b, score_cutoff=most) <= most
