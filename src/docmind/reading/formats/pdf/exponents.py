"""What raised and lowered digits on a page mean: the mark of a note, a power, an index, a degree or a fraction.

Marks of notes are written as in documents of Word and in web pages, `45,000[2]`, and powers and indices by raised and
lowered characters, `10¹¹`. Where nothing tells a power from the mark of a note, it is a mark: the number before it then
stays what it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from docmind.reading.formats.characters import lowered, raised

_MINUS = "\\-\u2212\u2013\u2010\u2012"  # within a set of a pattern
_SIGNED = re.compile(rf"[{_MINUS}+]\d{{1,3}}(?:[.,]\d{{1,3}})?")
_DECIMAL = re.compile(r"\d{1,2}\.\d{1,3}")
_ION = re.compile(rf"\d{{0,2}}[{_MINUS}+]")
_MARK = re.compile(r"\d{1,3}|[a-z]")
_MARKS = re.compile(rf"(?:\d{{1,3}}|[a-z])[*†‡§¶]{{0,2}}(?:\s?[,;{_MINUS}]\s?(?:\d{{1,3}}|[a-z*†‡§¶]))*[,;]?")
_INDEX = re.compile(r"\d{1,3}")
_NUMBER = re.compile(r"\d(?:[\d.,'’\u00a0\u202f]{0,40}\d)?$")
_LETTERS = re.compile(r"(?P<apart>['’]|(?<![^\W\d_]))(?P<token>[^\W\d_]++)$")
_TIMES_TEN = re.compile(r"[×xX·⋅∙•*.✕]\s?10$")
_OPERATOR = "=×·⋅∙*^√≈≤≥±"
# Units of more than one letter that are squared or cubed (SI Brochure, 9th edition, tables 2, 4, 7 and 8; and feet,
# inches, miles, yards). A single letter is a unit anyway, or a variable.
_UNIT = re.compile(
    r"(?:[pnuµμmcdhkMGTN]|da)(?:m|s|g|l|L|W|J|V|Hz|Pa|N|K|A|mol)|mol|min|sec|hr|ft|in|mi|yd|ha|cd|Pa|Hz|sq"
)
_FUNCTION = re.compile(r"sin|cos|tan|cot|csc|sinh|cosh|tanh|log|ln|lg|exp")
_PART = r"(?:[^\W\d_]{1,2}\d*|\d[\d.,]*)"
_TERM = re.compile(rf"\(\s*{_PART}(?:\s*[{_MINUS}+×·⋅*/=]\s*{_PART})+\s*\)$")  # such as (a + 2b)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")

Kind = Literal["note", "power", "apart"]


class Meaning(NamedTuple):
    """What a raised text is, and how it is written: `apart` is a text that stays, behind a space."""

    kind: Kind
    shown: str


def meaning(
    before: str, mark: str, after: str, is_noted: Callable[[str], bool], *, is_behind_index: bool = False
) -> Meaning | None:
    """Return what a raised text is behind `before` on its line; None where it stays as it is.

    `is_noted` tells whether the page has a note with this mark below, `is_behind_index` that what is before it is
    lowered.
    """
    before = before.rstrip()
    last = before[-1:]
    if not last:
        return None
    if mark.isalpha():
        return Meaning("note", f"[{mark}]") if last.isdigit() and len(mark) == 1 and is_noted(mark) else None
    is_base = last.isalnum() or last in ")]|"
    if is_base and (_SIGNED.fullmatch(mark) or _DECIMAL.fullmatch(mark)):
        return _power(mark)
    if _ION.fullmatch(mark) and not mark.isdigit():
        return _power(mark) if last.isalpha() or is_behind_index or last in ")]" else None
    if _MARK.fullmatch(mark):
        if is_behind_index:
            return _power(mark)
        if last.isdigit():
            return _behind_number(before, mark, after, is_noted)
        if last.isalpha() and _is_measure(before, mark):
            return _power(mark)
        if last == "|" or (last == ")" and not is_noted(mark) and _TERM.search(before)):
            return _power(mark)
        return Meaning("note", f"[{mark}]")
    if mark[-1:] == ")" and _MARK.fullmatch(mark[:-1]):
        return Meaning("note", f"[{mark[:-1]}]")
    if _MARKS.fullmatch(mark):
        return Meaning("note", f"[{mark}]")
    return Meaning("apart", mark) if last.isdigit() and mark[:1].isdigit() else None


def index(before: str, mark: str) -> str | None:
    """Return a lowered number as an index behind `before`; None where it is none."""
    last = before[-1:]
    return lowered(mark) if _INDEX.fullmatch(mark) and (last.isalnum() or last in ")]") else None


def _power(mark: str) -> Meaning:
    return Meaning("power", raised(re.sub(f"[{_MINUS}]", "−", mark)))


def _behind_number(before: str, mark: str, after: str, is_noted: Callable[[str], bool]) -> Meaning:
    found = _NUMBER.search(before)
    number = found.group() if found is not None else before[-1]
    ahead = before[: len(before) - len(number)].rstrip()
    if _TIMES_TEN.search(before):
        return _power(mark)
    if not is_noted(mark):
        is_small = number.isdigit() and len(number) <= 4 and not _YEAR.fullmatch(number)
        in_formula = ahead[-1:] in tuple(_OPERATOR) or after.lstrip()[:1] in tuple(_OPERATOR)
        if number == "10" or (is_small and in_formula):
            return _power(mark)
        if mark == "0":
            return Meaning("power", "°")  # no note has this number
    return Meaning("note", f"[{mark}]")


def _is_measure(before: str, mark: str) -> bool:
    """Return whether what is before a raised number is a unit, a variable or a function."""
    found = _LETTERS.search(before)
    if found is None or found["apart"]:
        return False
    token = found["token"]
    if len(token) == 1 or _FUNCTION.fullmatch(token):
        return True
    return mark in ("2", "3", "4") and bool(_UNIT.fullmatch(token))
