"""Whether two documents are versions of one thing: the likeness of their texts, and what in their heads speaks against.

The members of a series (bills, payslips, reports, minutes) have a template in common, and what tells them apart stands
at the top: a number, a period, a day, a party, a subject. Two versions have these in common. What only tells which
version it is does not count: the day on which it was issued or from which it holds, a number of the version.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from docmind.blocks import PageBlock
from docmind.documents.dates import VERSION, is_alone, role_of, role_of_label
from docmind.language import MONTH, days

ALIKE, ALIKE_OF_OTHER_DAY = 0.3, 0.65
"""Jaccard index of the trigrams of words, from which on two files of one name or title may be versions.

The second is for documents of two days with nothing that names a version: of the reports, letters and minutes of
`scripts/eval versions` that have no other mark of a series the most alike have .61.
"""
_SHORT, _ALIKE_IF_SHORT = 200, 0.75  # words of a short text, and the same of its words without numbers
_HEAD, _LEAST_HEAD = 20, 3  # lines of a head, and those after which a numbered clause ends it
_LABEL = 5  # words of a label
_SHARE = 0.2  # of the fields of a head: where fewer differ it is a list, of which an entry was changed
_OF_LABEL = 12  # words of a line that is no sentence
_KEPT = 0.5  # of the words of a line: the same line in both
_DAYS, _SAME_DAYS = 3, 1 / 3  # days of a text from which on they tell a period, and the share that versions have

_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"(?<![\w.,/-])(?:[.,/-]*+\w++)++|[%€$£]")
_NUMBER = re.compile(  # "Invoice no. 17", "Numéro 41", "Nr.: 4/2025", with what is numbered before it
    r"(?:\b(?:no|nº|n°|nr|num|núm|number|número|numéro|nummer|ref|reference|referenz|referencia|référence|referência)|№)"
    r"[.:º°]*\s*(?P<code>[^\W\d_]{0,5}[-/.]?\d[\w/.-]*)",
    re.IGNORECASE,
)
_CODE = re.compile(  # NP-2026-3107, 004711
    r"(?<![\w/.-])(?=[\w/.-]*\d)(?=[\w/.-]*[^\W\d_]|[\w.-]*[/-])[\w/.-]{3,}|(?<!\d)\d{5}[\w/.-]*"
)
_QUANTITY = re.compile(r"[-+]?[\d.,\s]*\d\s*(?:%|[^\W\d_]{1,4}\b|[€$£°²³]).*|[-+]?\d[\d.,]*", re.IGNORECASE)
_FRACTION = re.compile(r"\d+[.,][\d.,]+")
_CLAUSE = re.compile(r"\(?(?:§ ?|art\. ?)?1[.)]?\s+[^\W\d_]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Front:
    """What stands at the top of a document: its lines, its fields, and all days of its first page.

    `dated` is the day that it gives as its own, "" where it gives none. `is_version` tells that it names a version, or
    from when on it holds.
    """

    title: str
    lines: tuple[str, ...]
    fields: Mapping[str, str]
    days: frozenset[str]
    dated: str
    is_version: bool


def front_of(text: str, structure: Sequence[PageBlock], title: str, language: str = "") -> Front:
    """Return the top of a first page, without the rows below the head of a table: they are its data.

    `title` is that of the document, "" where it has none.
    """
    lines: list[str] = []
    for line in filter(None, (" ".join(line.split()) for line in _without_data(text, structure).splitlines())):
        if len(lines) == _HEAD or (len(lines) >= _LEAST_HEAD and _CLAUSE.match(line)):
            break
        lines.append(line.lstrip("•-– "))
    fields: dict[str, str] = {}
    twice: set[str] = set()
    for line in lines:
        label, value = _field(line)
        if label in fields:
            twice.add(label)
        elif label:
            fields[label] = value
    named = frozenset(one.day for one in days(text, language))
    once = {name: value for name, value in fields.items() if name not in twice}
    roles = [
        ("dated" if is_alone(line, one.start, one.end) else role_of(line, one.start), one.day)
        for line in lines
        for one in days(line, language)
    ]
    dated = next((day for role, day in roles if role == "dated"), "")
    is_version = any(role not in ("", "dated") for role, _day in roles) or any(map(_names_version, lines))
    return Front(title, tuple(lines), once, named, dated, is_version)


def are_of_other_days(one: Front, other: Front) -> bool:
    """Return whether two documents are of different days, and nothing tells that this is all the difference.

    A number that both have, as a corrected bill has that of the first one, or the name of a version tells so.
    """
    if not (one.dated and other.dated) or one.dated == other.dated or one.is_version or other.is_version:
        return False
    return set(_numbers(one)).isdisjoint(_numbers(other))


def _without_data(text: str, structure: Sequence[PageBlock]) -> str:
    kept, at, is_data = [], 0, False
    for block in structure:
        is_data = block.kind == "header_row" or (is_data and block.kind == "row")
        if is_data:
            kept.append(text[at : block.start])
            at = max(at, block.end)
    return "\n".join([*kept, text[at:]])


def tells_apart(one: Front, other: Front, *, are_marked: bool = False) -> bool:
    """Return whether the heads of two documents prove that neither is a version of the other.

    Where the names of their files say that they are versions (`are_marked`), another person or subject proves nothing.
    """
    return (
        _differs_in_fields(one, other, are_marked=are_marked)
        or _differs_in_numbers(one, other)
        or _differs_in_lines(one, other, are_marked=are_marked)
        or _is_of_other_days(one, other)
    )


def _field(line: str) -> tuple[str, str]:
    """Return the label and the value of a line that has both, "" and "" for another."""
    cells = [cell.strip() for cell in line.split("|")]
    label, value = (cells[0], cells[1]) if len(cells) == 2 else ("", "")
    if len(cells) == 1:
        label, _, value = (part.strip() for part in line.partition(":"))
    is_label = 0 < len(label.split()) <= _LABEL and value and not _DIGIT.search(label)
    return (label.casefold(), value) if is_label else ("", "")


def _differs_in_fields(one: Front, other: Front, *, are_marked: bool) -> bool:
    """Return whether enough fields that tell what the document is about have other values."""
    compared, differing = 0, 0
    for label in one.fields.keys() & other.fields.keys():
        values = (one.fields[label], other.fields[label])
        if role_of_label(label) or any(_is_amount(value) for value in values):
            continue  # which version it is, or how much
        compared += 1
        differing += values[0] != values[1] and _is_other(*values, are_marked=are_marked)
    return differing > 0 and differing >= _SHARE * compared


def _is_amount(value: str) -> bool:
    """Return whether a value is how much or how many: no day, no month, and no code such as `004711`."""
    is_code = _CODE.fullmatch(value) is not None and not _FRACTION.fullmatch(value)
    return _QUANTITY.fullmatch(value) is not None and not is_code and not _times(value)


def _is_other(value: str, other: str, *, are_marked: bool) -> bool:
    """Return whether two values are another day, month or number, or have no word in common and are not marked."""
    times = [
        {one.day for one in days(text)} | {found[0].casefold() for found in MONTH.finditer(text)}
        for text in (value, other)
    ]
    if times[0] and times[1]:
        return times[0] != times[1]
    codes = [set(_CODE.findall(text)) for text in (value, other)]
    if codes[0] and codes[1]:
        return codes[0].isdisjoint(codes[1])
    words = [{word for word in _WORD.findall(text.casefold()) if not _DIGIT.search(word)} for text in (value, other)]
    return not are_marked and bool(words[0]) and bool(words[1]) and words[0].isdisjoint(words[1])


def _differs_in_numbers(one: Front, other: Front) -> bool:
    """Return whether what is numbered at the top has other numbers, all of them: a bill, an issue, a report."""
    codes = [_numbers(front) for front in (one, other)]
    return len(codes[0]) == len(codes[1]) > 0 and all(a != b for a, b in zip(*codes, strict=True))


def _numbers(front: Front) -> list[str]:
    return [found["code"].rstrip(".-/") for line in front.lines for found in _NUMBER.finditer(line)]


def _differs_in_lines(one: Front, other: Front, *, are_marked: bool) -> bool:
    """Return whether a line that both have at the top names another day, month, number or name."""
    pairs = (
        (mine, its) for mine, its in _pairs(one.lines, other.lines) if not (_is_left_out(mine) or _is_left_out(its))
    )
    return any(_names_other_time(mine, its) or (not are_marked and _names_other(mine, its)) for mine, its in pairs)


def _is_left_out(line: str) -> bool:
    """Return whether a line is a field or a row, or tells of the version: its name, or the day of the document."""
    if "|" in line or _field(line)[0] or _names_version(line):
        return True
    return any(is_alone(line, start, end) or role_of(line, start) for start, end in _times(line))


def _pairs(mine: Sequence[str], its: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Yield the lines of one head with those of the other that are in the same place between equal lines."""
    matcher = SequenceMatcher(None, mine, its, autojunk=False)
    for kind, i, i_end, j, j_end in matcher.get_opcodes():
        if kind == "replace":
            yield from zip(mine[i:i_end], its[j:j_end], strict=False)


def _names_version(line: str) -> bool:
    """Return whether a line that is no sentence has a word of versions: "Second edition", "Approved by the board"."""
    is_sentence = line.endswith((".", ",", ";")) or len(line.split()) > _OF_LABEL
    return not is_sentence and not VERSION.isdisjoint(_WORD.findall(line.casefold()))


def _times(line: str) -> list[tuple[int, int]]:
    """Return the places of the days and months that a line names, in its order."""
    found = [(one.start, one.end) for one in days(line)]
    found += [one.span() for one in MONTH.finditer(line) if not any(a <= one.start() < b for a, b in found)]
    return sorted(found)


def _names_other_time(line: str, other: str) -> bool:
    """Return whether two lines are one but for the days and months that they name."""
    times, plain = [], []
    for text in (line, other):
        places = _times(text)
        times.append([text[start:end].casefold() for start, end in places])
        for start, end in reversed(places):
            text = text[:start] + " " + text[end:]
        plain.append(_WORD.findall(text.casefold()))
    is_same_line = SequenceMatcher(None, *plain, autojunk=False).ratio() >= _KEPT
    return bool(times[0]) and bool(times[1]) and times[0] != times[1] and is_same_line


def _names_other(line: str, other: str) -> bool:
    """Return whether two lines are one but for a name, or, where they are no sentences, for a word or number."""
    mine, its = _TOKEN.findall(line), _TOKEN.findall(other)
    matcher = SequenceMatcher(None, mine, its, autojunk=False)
    if matcher.ratio() < _KEPT:
        return False
    is_label = max(len(mine), len(its)) <= _OF_LABEL and not any(
        text.endswith((".", ",", ";")) for text in (line, other)
    )
    for kind, i, i_end, j, j_end in matcher.get_opcodes():
        if kind != "replace":
            continue
        spans = mine[i:i_end], its[j:j_end]
        if all(_is_name(span) for span in spans) and max(map(len, spans)) > 1 and i:
            return True
        if is_label and not (_has_unit(mine, i_end) or _has_unit(its, j_end)):
            return True
    return False


def _is_name(words: Sequence[str]) -> bool:
    return all(word[0].isupper() for word in words)


def _has_unit(words: Sequence[str], end: int) -> bool:
    """Return whether the word before a place is a number with a unit behind it."""
    return bool(_DIGIT.search(words[end - 1])) and end < len(words)


def _is_of_other_days(one: Front, other: Front) -> bool:
    """Return whether two texts of many days are about other ones."""
    least = min(len(one.days), len(other.days))
    return least >= _DAYS and len(one.days & other.days) < _SAME_DAYS * least


def likeness(one: Sequence[str], other: Sequence[str], *, is_strict: bool = False) -> float:
    """Return the Jaccard index of trigrams; of a short text that of its words, whatever its numbers, if that is high.

    A few changed prices leave a short list hardly a trigram. With `is_strict` trigrams alone count.
    """
    trigrams = _jaccard(Counter(set(_trigrams(one))), Counter(set(_trigrams(other))))
    if is_strict or max(len(one), len(other)) > _SHORT:
        return trigrams
    plain = _jaccard(*(Counter(word for word in text if not _DIGIT.search(word)) for text in (one, other)))
    return max(trigrams, plain if plain >= _ALIKE_IF_SHORT else 0.0)


def words_of(text: str) -> list[str]:
    """Return the words of a text that `likeness` compares."""
    return _WORD.findall(text.casefold())


def _trigrams(words: Sequence[str]) -> Iterable[tuple[str, ...]]:
    return zip(words, words[1:], words[2:], strict=False)


def _jaccard(one: Counter[Any], other: Counter[Any]) -> float:
    together = (one | other).total()
    return (one & other).total() / together if together else 0.0
