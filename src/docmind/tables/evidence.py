"""What speaks for each column, title and condition: the words of a question, their forms, letters and meanings.

Words by rules (`Reading`), dictionaries of forms, letters that words share, and cosines of the text model are put side
by side. None of them decides alone; `ranking` weighs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from docmind.embedding import Meanings
from docmind.language import SCALES, is_form, numeral
from docmind.tables.asking import Asked
from docmind.tables.composing import label_of
from docmind.tables.periods import date_spans
from docmind.tables.reading import Reading
from docmind.tables.shapes import Shape, letters_shared, plain
from docmind.tables.words import Word, akin, is_function, is_light, is_name, same

PHRASE = 3  # words of a phrase that is compared by its meaning
AROUND = 3  # words before and behind a number by which it is told what it limits
_ANY_NUMBER = "10"  # stands in its place
_GROUP = 3  # digits of a group of a number
_NEAR, _SPAN = 0.45, 0.35  # cosines of E5, centred: below the first nothing is alike, and their sum is sure
_SHARED = 0.6  # of the letters of two words that are taken for one
_LEAST = 5  # letters of such a word
_STANDS = frozenset({"light", "kind", "asked", "rows", "unit", "negation", "title", "rank"})
"""What a word is taken for where it needs no column and no cell."""

Measure = Literal["question", "rest", "phrase", "words", "cells"]


def likeness(cosines: np.ndarray) -> np.ndarray:
    """Return how sure cosines are, 0..1."""
    return np.clip((cosines - _NEAR) / _SPAN, 0.0, 1.0)


class Limit(NamedTuple):
    """A number or a date of a question, which may limit rows: its first word, its end, and what it is.

    `number` is None for a date that is no year; `day` is a date as far as it is said, `2024`, `2024-03`, `2024-03-02`
    or `03-02`, and empty for a number.
    """

    start: int
    end: int
    number: float | None
    day: str = ""


def limits_in(words: Sequence[Word], language: str) -> list[Limit]:
    """Return the numbers and dates of a question: in digits or spelled, and with what multiplies them behind."""
    found = [
        Limit(start, end, float(value) if kind == "year" else None, value)
        for start, end, kind, value in date_spans(words, [""] * len(words))
        if kind != "month"
    ]
    taken = {at for one in found for at in range(one.start, one.end)}
    texts = [word.text for word in words]
    at = 0
    while at < len(words):
        value, end = (None, at) if at in taken else _number_at(words, texts, at, language)
        if value is not None:
            found.append(Limit(at, end, value))
        at = max(end, at + 1)
    return sorted(found)


def _number_at(words: Sequence[Word], texts: Sequence[str], at: int, language: str) -> tuple[float | None, int]:
    """Return the number at a word, and its end; None where there is none."""
    if not texts[at][0].isdigit():
        value, size = numeral(texts[at:], language)
        return (value, at + size) if value > 1 else (None, at)
    try:
        value, end = float(words[at].root), at + 1
    except ValueError:
        return None, at
    while end < len(words) and _goes_on(texts[at], texts[end]):
        value, end = 1_000 * value + float(texts[end]), end + 1  # `2 200`
    while end < len(words) and texts[end] in SCALES:
        value, end = value * SCALES[texts[end]], end + 1
    return value, end


def _goes_on(first: str, text: str) -> bool:
    """Return whether a word is a further group of a number: of `120 000`, and not of `rooms 101 102`."""
    is_group = len(text) == _GROUP and text.isdecimal()
    return is_group and first.isdecimal() and (len(first) < _GROUP or (len(first) == _GROUP and text == "000"))


class QuestionMeaning:
    """A question with its vector `(d,)` and those of its phrases `(phrases, d)`.

    `spans` are the words of each phrase, from start to end. `content` tells which words are no function words, `names`
    which of them are numbers, names or single letters. `limits` are its numbers and dates, and `around`
    `(limits, d)` the vectors of the words around each.
    """

    def __init__(self, asked: Asked, meanings: Meanings) -> None:
        self.asked, self.meanings, words = asked, meanings, asked.words
        self.text = " ".join(word.raw for word in words)
        self.content = np.array([not is_light(word.text) and not is_function(word.text) for word in words])
        self.names = np.array(
            [
                word.text[0].isdigit()
                or (is_name(word, at) and asked.language != "de")
                or (len(word.text) == 1 and not is_light(word.text))
                for at, word in enumerate(words)
            ]
        )
        self.spans = [
            (start, start + size)
            for size in range(1, PHRASE + 1)
            for start in range(len(words) - size + 1)
            if self.content[start] and self.content[start + size - 1]
        ]
        self.limits = limits_in(words, asked.language)
        phrases = [" ".join(word.raw for word in words[start:end]) for start, end in self.spans]
        around = [self._around(one) for one in self.limits]
        found = meanings.of([self.text, *phrases, *around])
        self.vector, self.phrases, self.around = found[0], found[1 : len(phrases) + 1], found[len(phrases) + 1 :]

    def _around(self, one: Limit) -> str:
        """Return the words around a number or a date, with one number in place of any."""
        words = self.asked.words
        before = [word.raw for word in words[max(0, one.start - AROUND) : one.start]]
        return " ".join([*before, _ANY_NUMBER, *(word.raw for word in words[one.end : one.end + AROUND])])


class Standing(NamedTuple):
    """How a column stands to the others of its type by one measure, `(columns,)` each.

    `distance` in standard deviations from their mean, -4..4; `rank` the number of those before it, at most 4; `margin`
    to the best other, 0.2 where there is none.
    """

    distance: np.ndarray
    rank: np.ndarray
    margin: np.ndarray


class Evidence:
    """What speaks for each column of a shape, `(columns,)`, and for each word and column, `(words, columns)`.

    `shared` is how far words are those of a header, `covers` that or their meaning; `titled` how far a word is one of
    the title, `stands` how far it needs no column. Cosines with the header: `phrase` of the best phrase, `free` of the
    best one that names no cell and no task, `question` of all words, and `rest` of those that name no cell. `sure` is
    how far a word or a phrase is the header, 0..1.
    """

    def __init__(self, question: QuestionMeaning, shape: Shape, reading: Reading) -> None:
        self.question, self.shape, self.reading = question, shape, reading
        self.words = question.asked.words
        self.columns = shape.columns
        by_phrase = (
            question.phrases @ shape.headers.T if question.spans else np.zeros((0, len(self.columns)), np.float32)
        )
        self.shared = self._shared()
        self.covers = self._covers(by_phrase)
        self.titled = np.array([self._titled(at) for at in range(len(self.words))])
        self.stands = self._stands()
        free = [n for n, (start, end) in enumerate(question.spans) if not any(map(self._is_taken, range(start, end)))]
        self.question_like = shape.headers @ question.vector
        self.phrase_like = by_phrase.max(axis=0) if len(by_phrase) else np.zeros(len(self.columns))
        self.free_like = by_phrase[free].max(axis=0) if free else 0.9 * self.question_like
        rest = " ".join(w.raw for w, by in zip(self.words, reading.by, strict=True) if by not in _CELLS)
        self.rest_like = shape.headers @ question.meanings.of([rest])[0] if rest else self.question_like
        self.cells_like = shape.centres @ question.vector
        if free:
            self.cells_like = np.maximum(self.cells_like, (question.phrases[free] @ shape.centres.T).max(axis=0))
        self.word_like = self.shared.max(axis=0, initial=0.0)
        self.sure = np.maximum(self.word_like, likeness(self.phrase_like))
        self.score = self.sure + 0.3 * self.question_like

    @cached_property
    def label(self) -> int | None:
        """The column that names a row in the answer."""
        return label_of(self.reading, list(self.reading.mentioned))

    @cached_property
    def asked(self) -> frozenset[int]:
        """The columns that `who`, `when` and `where` ask for."""
        r = self.reading
        found = [r.asked_column(text) for text, by in zip(r.texts, r.by, strict=True) if by == "asked"]
        return frozenset(column for column in found if column is not None)

    @cached_property
    def which(self) -> int | None:
        """The column that `which` asks for."""
        return self.reading.which()

    @cached_property
    def money(self) -> int | None:
        return self.reading.money()

    @cached_property
    def keys(self) -> frozenset[int]:
        """The columns of numbers that name their rows."""
        return frozenset(at for at in range(len(self.columns)) if self.reading.is_key(at))

    @cached_property
    def measured(self) -> int | None:
        """The column of numbers that the rules take."""
        r = self.reading
        return r.measured([column for column in r.mentioned if column in r.measures()])

    @cached_property
    def numbers(self) -> list[int]:
        """The columns of numbers and durations."""
        return [at for at, one in enumerate(self.columns) if one.type in ("number", "duration")]

    @cached_property
    def standing(self) -> Mapping[Measure, Standing]:
        """How each column stands to the others of its type."""
        measures: dict[Measure, np.ndarray] = {
            "question": self.question_like,
            "rest": self.rest_like,
            "phrase": self.free_like,
            "words": self.word_like,
            "cells": self.cells_like,
        }
        return {name: self._standing(values) for name, values in measures.items()}

    def ranked(self, columns: list[int], most: int) -> list[int]:
        """Return the columns that the question speaks of most."""
        return sorted(columns, key=lambda at: -self.score[at])[:most]

    def _standing(self, values: np.ndarray) -> Standing:
        distance, rank, margin = np.zeros(len(values)), np.zeros(len(values)), np.full(len(values), 0.2)
        kinds = ["number" if one.type == "duration" else one.type for one in self.columns]
        for at, kind in enumerate(kinds):
            others = np.array([values[n] for n, one in enumerate(kinds) if one == kind and n != at])
            if len(others) and kind != "empty":
                distance[at] = (values[at] - others.mean()) / (others.std() + 0.04)
                rank[at] = (others > values[at]).sum()
                margin[at] = values[at] - others.max()
        return Standing(np.clip(distance, -4, 4), np.minimum(rank, 4), margin)

    def _is_taken(self, at: int) -> bool:
        return self.reading.by[at] in (*_CELLS, "task")

    def _shared(self) -> np.ndarray:
        r, language = self.reading, self.question.asked.language
        found = np.zeros((len(self.words), len(self.columns)))
        for at, word in enumerate(self.words):
            if self.question.content[at] or r.by[at] == "column":
                for column, header in enumerate(self.shape.header_words):
                    found[at, column] = max((_alike(word, one, language) for one in header), default=0.0)
        for column, places in r.mentioned.items():
            for at in places:
                found[at, column] = max(found[at, column], 0.9)
        return found

    def _covers(self, by_phrase: np.ndarray) -> np.ndarray:
        found, sure = self.shared.copy(), likeness(by_phrase)
        for n, (start, end) in enumerate(self.question.spans):
            part = sure[n] * (0.9 if end - start > 1 else 1.0)
            found[start:end] = np.maximum(found[start:end], part)
        return found

    def _titled(self, at: int) -> float:
        word, best = self.words[at], 0.0
        if word.text in self.shape.common:
            return 1.0
        for one in {one for title in self.shape.titles[:4] for one in title}:
            if word.root == one.root or plain(word.text) == plain(one.text):
                return 1.0
            if self.question.content[at] and _alike(word, one, self.question.asked.language) >= _SHARED:
                best = 0.9
        return best

    def _stands(self) -> np.ndarray:
        found = np.zeros(len(self.words))
        for at, by in enumerate(self.reading.by):
            if by in _STANDS or (not self.question.content[at] and by not in _CELLS):
                found[at] = 1.0
            elif by in ("role", "quantity"):
                found[at] = _SHARED
        return np.where(self.question.content, np.maximum(found, self.titled), found)


_CELLS = frozenset({"value", "date", "number"})
"""What a word is taken for that names cells."""


def _alike(word: Word, other: Word, language: str) -> float:
    """Return how sure two words are one: by their root, their umlauts, their forms, their meaning, or their letters."""
    if word.root == other.root:
        return 1.0
    if plain(word.text) == plain(other.text):
        return 0.95
    if is_form(word.text, other.text, language) or same(word.text, other.text):
        return 0.9
    if akin(word.text, other.text):
        return 0.7
    is_long = min(len(word.text), len(other.text)) >= _LEAST
    is_part = is_long and (word.text in other.text or other.text in word.text)
    return _SHARED if is_part or (is_long and letters_shared(word.text, other.text) >= _SHARED) else 0.0
