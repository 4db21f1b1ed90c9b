"""A question as words, with the kinds of questions that its phrases stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from docmind.answers import language_of_question
from docmind.language import MONTHS, ORDINAL_WEEKDAYS, WEEKDAYS
from docmind.tables.role_words import (
    BEST,
    BOTH,
    COMING,
    CONTAINERS,
    DATED,
    INWARD,
    LEAVING,
    MODALS,
    OPPOSITES,
    OUTWARD,
    OWNING,
    RELATED,
    ROLES,
    TIMES,
    WON,
    WORST,
)
from docmind.tables.word_forms import forms_of
from docmind.tables.wordlists import (
    ABOVE,
    AFTER,
    AMOUNTS,
    ASKED_COLUMNS,
    BEFORE,
    BELOW,
    BETWEEN,
    CHANGING,
    COUNTED_ROWS,
    CURRENCIES,
    DIFFERENT,
    HALVES,
    HOW,
    INCLUSIVE,
    MONEY,
    MONTH_UNIT,
    NEGATIONS,
    NEGATIVE,
    NEUTRAL,
    NUMBER_WORDS,
    ORDINALS,
    PAYING,
    PEOPLE,
    PER,
    POSITIVE,
    QUANTITIES,
    QUARTERS,
    REASONS,
    RELATIVE,
    TABLE_WORDS,
    TASKS,
    YEAR_UNIT,
    Task,
)
from docmind.tables.words import (
    WORDS,
    Word,
    is_light,
    longest,
    words_of,
)

LONGEST = 240  # characters of a question
_ENDING = re.compile(  # of a file's name: `library.bib` is named `library`
    r"(?<=[\w)])\.(?:bib|ris|csl|json|csv|tsv|xls[xbm]?|ods|docx?|odt|rtf|pptx?|pdf|html?|md|txt|eml|zip)\b",
    re.IGNORECASE,
)
_HOW_MUCH = re.compile(
    r"\b(?:how much|quant[oa]|cuant[oa]|wie ?viel|combien)\b|^wie hoch .*\b(?:ausgaben|kosten|spesen)\b"
)
_CONTRACTED = re.compile(r"(?<=[a-z])n['’]t\b", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """A question: its words, language, and the kinds of questions that its phrases stand for, with their words."""

    words: tuple[Word, ...]
    language: str
    tasks: tuple[tuple[Task, int, int], ...]
    is_how_much: bool

    @cached_property
    def starts(self) -> tuple[frozenset[str], ...]:
        """For each word that a table must hold, beginnings of which it has one; most questions are about few tables.

        Words that limit nothing, that ask, and that may be a date or a number, are left out.
        """
        return tuple(
            _starts_of(word)
            for at, word in enumerate(self.words)
            if at not in self.task_words
            and not is_light(word.text)
            and word.text not in _ELSEWHERE
            and not word.text[0].isdigit()
            and word.text not in MONTHS
            and at not in self.span_words
            and len(word.text) > 1
        )

    @cached_property
    def span_words(self) -> frozenset[int]:
        """The numbers of the words that name a quarter or half of a year, or a weekday."""
        texts = [word.text for word in self.words]
        named = {at for at, text in enumerate(texts) if text in QUARTERS | HALVES or re.fullmatch(r"q[1-4]", text)}
        return frozenset(
            named
            | {at - 1 for at in named if texts[at - 1] in ORDINALS}
            | {at for at, text in enumerate(texts) if text in WEEKDAYS.keys() - ORDINAL_WEEKDAYS}
        )

    @property
    def task_words(self) -> frozenset[int]:
        """The numbers of the words of these phrases."""
        return frozenset(at for _task, start, end in self.tasks for at in range(start, end))

    def has(self, task: Task) -> bool:
        """Return whether a phrase stands for a kind of question."""
        return any(one == task for one, _start, _end in self.tasks)


def _starts_of(word: Word) -> frozenset[str]:
    """Return beginnings of which a table has one where it has the word, another form, or another word for it."""
    text = word.text
    starts = {text[: 3 if text.endswith("es") or len(text) < 6 else 4], word.root}
    if text.startswith(("ge", "un")) and len(text) > 5:
        starts.add(text[2:5])  # `geprüft` by a `Prüfer`, `unpaid` where a column is `Paid`
    starts |= {one[:4] for one in forms_of(text)}
    if text in OPPOSITES:
        starts |= {one[:4] for one in OPPOSITES[text]}
    groups = [related for related in RELATED if text in related]
    groups += [headers for verbs, headers in (*ROLES, *DATED) if text in verbs]
    groups += [side for asked, side in ((LEAVING, OUTWARD), (COMING, INWARD)) if text in asked]
    return frozenset(starts | {one[:4] for group in groups for one in group})


_ELSEWHERE = (
    MONEY | COUNTED_ROWS | PER | DIFFERENT | TABLE_WORDS | MONTH_UNIT | YEAR_UNIT | frozenset(ASKED_COLUMNS)
    | {word for phrases in (ABOVE, BELOW, BEFORE, AFTER, BETWEEN) for one in phrases for word in one.split("_")}
    | frozenset(HOW) | frozenset().union(*NEGATIONS.values()) | CURRENCIES
    | AMOUNTS | CHANGING
    | NEUTRAL | PEOPLE | QUANTITIES | NEGATIVE | POSITIVE | frozenset(NUMBER_WORDS) | frozenset(ORDINALS)
    | BOTH | TIMES | MODALS | CONTAINERS | OWNING | WON | BEST | WORST
    | {"%", "years", "euros", "euro", "eur", "usd", "dollars"}
)  # fmt: skip
"""Words that stand for something else than a word of the table."""
PHRASES: Mapping[tuple[str, ...], Task] = {
    tuple(phrase.split("_")): task for task, phrases in TASKS.items() for phrase in phrases
}
COMPARED: Mapping[tuple[str, ...], str] = {
    tuple(phrase.split("_")): sign + ("=" if phrase in INCLUSIVE else "")
    for sign, phrases in ((">", ABOVE), ("<", BELOW))
    for phrase in phrases
}
TIMED: Mapping[tuple[str, ...], str] = {
    tuple(phrase.split("_")): kind for kind, phrases in (("after", AFTER), ("before", BEFORE)) for phrase in phrases
}


def asked_of(question: str) -> Asked | None:
    """Return a question as words; None where it is too long or asks about a time that only the clock tells."""
    if len(question) > LONGEST:
        return None
    plain = _CONTRACTED.sub(" not", question.replace("can't", "can not").replace("can’t", "can not"))
    words = words_of(_ENDING.sub("", plain))
    if not words or len(words) > WORDS or any(word.text in REASONS for word in words):
        return None
    texts = [word.text for word in words]
    tasks: list[tuple[Task, int, int]] = []
    at = 0
    while at < len(texts):
        compared, timed = longest(COMPARED, texts, at), longest(TIMED, texts, at)
        found = longest(PHRASES, texts, at)
        if texts[at] in ORDINALS and at + 1 < len(texts) and texts[at + 1] in QUARTERS | HALVES:
            at += 2
            continue
        if found and len(found) > 1 and len(after := longest(PHRASES, texts, at + 1)) > 1 and found[1] == after[0]:
            at += 1  # `le plus cher` is `plus cher`
            found = after
        size = max((len(key) for key in (compared, timed) if key), default=0)
        if found and len(found) >= size:
            tasks.append((PHRASES[found], at, at + len(found)))
            at += len(found)
        else:
            at += max(size, 1)
    for task, _start, end in tasks:
        if (
            task in ("last", "first")
            and end < len(texts)
            and (texts[end] in RELATIVE | QUARTERS | HALVES or texts[end].isdigit())
        ):
            return None
    is_paid = texts[0] in ("what", "was", "que") and any(text in PAYING for text in texts)
    is_how_much = is_paid or _HOW_MUCH.search(" ".join(texts)) is not None
    return Asked(tuple(words), language_of_question(question), tuple(tasks), is_how_much)
