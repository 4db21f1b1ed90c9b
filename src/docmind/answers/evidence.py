"""What speaks for each passage of the pages that were found as the answer to a question: a row of numbers a passage.

No number has a veto. What they weigh is fitted on questions whose answers are known (`fitted`), for each `By`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from typing import Literal

import numpy as np

from docmind.answers.kinds import (
    Asked,
    content_words,
    holds,
    is_contact,
    is_echo,
    is_function_word,
    is_of_another_year,
    is_statement,
    language_of_question,
)
from docmind.answers.passages import Passage, has_verb, is_heading
from docmind.answers.values import met_spans
from docmind.documents import PageRecord, Words
from docmind.embedding import prefix, reads_as_english, sentence_ends, words
from docmind.records.search import Hit

WEIGHED = 3  # pages that count for how much of a question is found
SHORTEST = 8  # characters of a passage
LEAD = 0.7  # weight of words that only the header or lead-in of a passage has
HEADED = 0.7  # weight of words that only the heading above a passage has
PREFIX_MATCH = 0.7  # a word matched only by its first letters, against 1 for the word itself
_SHORT, _ENDINGS = 4, ("s", "ed", "es", "d", "ing", "er", "ment", "ments")
_SHORTEST_STEM, _PLURALS = 3, ("s", "es", "ment", "ments")
_SENTENCE_ENDS = (".", "!", "?")
_SAYS = re.compile(r"[:=|]|\b(?!(?:19|20)\d\d\b)\w*\d\w*")
_LOOKED_BELOW = 4  # rows with the first one
_NOISE = 0.02  # added to a deviation of cosines
MOST_ODDS = 6.0  # logarithm: what is surer is no surer than that
_BEGINS = re.compile(r"[.?!¿¡]\s{0,2}$")
# `How long` asks for a number: a page need not contain `long`.
_MEASURE = re.compile(r"\bhow (?:long|much|many|often|far|old|big|large|high|tall|soon)\b", re.IGNORECASE)

By = Literal["many", "english", "words"]
"""What passages are compared by: a text model of many languages, one of English, or words alone."""

Judge = Literal["none", "english", "others"]
"""Which passage reader read some of them: none, that of English questions, that of questions in other languages."""

PASSAGE = (
    "meaning", "meaning, words unmet", "meaning, English", "meaning, row", "meaning, other language",
    "meaning of the page", "words", "words, other language", "words around", "words around, words unmet",
    "words around, English", "page", "place of the page", "window", "row", "quoted", "aside", "says nothing", "verb",
    "whole", "kind", "kind, value asked", "names", "another year", "other language",
)  # fmt: skip
"""The numbers of a passage.

*meaning* is by how many standard deviations its cosine with the question is above the mean of the passages, *meaning of
the page* the most of any passage on its page; *words* is the share, by inverse frequency among the passages, of the
question's words that stand in it or above it, *words around* the same with the name of its document. *words unmet* is
the share of the question's words that no passage has. *page* is the score of its page by the search, 1 for the best,
*place of the page* the negative logarithm of its place. *names* is the share of the question's names and numbers that
it has with what is around it; the others are 1 where they hold.
"""


CERTAINTY = (
    "odds", "odds of five", "cosine", "cosine of the best window", "words", "words around", "words on the first pages",
    "first page", "kind", "kind, value asked", "names", "another year", "row", "says nothing", "verb", "quoted",
    "other language", "English", "is judged", "judged",
)  # fmt: skip
"""What the certainty of an answer rests on: the logarithm of the odds that the first one answers, and that one of the
first five does, among all passages, at most `MOST_ODDS`; the cosines of the first one and of the best window with the
question; and numbers of the first passage that `PASSAGE` explains. *is judged* is 1 where a passage reader read it,
*judged* its logit. None of them depends on how many passages there are to compare with."""


@dataclass(frozen=True, slots=True)
class Page:
    """A found page with the name of its document and the span of its best window."""

    hit: Hit
    record: PageRecord
    label: str
    window: tuple[int, int]
    words: Words | None  # of a page that OCR read, to know how sure it is
    passages: tuple[tuple[str, Passage], ...]  # each with the heading above it

    @property
    def title(self) -> str:
        """The first heading on the page."""
        return next((heading for heading, _unused in self.passages if heading), "")

    @property
    def text(self) -> str:
        return self.record.text


@dataclass(slots=True, eq=False)
class Unit:
    """A passage of a page, by its index, with the share of the question's words that stand in it and above it.

    `meets` `(terms,)` tells how far each of them does, and `around` `(terms,)` the same with the name of the document.
    """

    page: int
    passage: Passage
    heading: str
    text: str
    meets: np.ndarray
    around: np.ndarray
    coverage: float = 0.0

    def own(self, page: Page) -> str:
        """Return the words of the passage without those above it."""
        return page.text[self.passage.start : self.passage.end]

    def context(self, page: Page) -> str:
        """Return the passage with what names its subject."""
        return f"{page.label} {page.title} {self.heading} {self.text}"

    def subject(self, page: Page) -> str:
        """Return the passage behind what names its subject, each once, as a passage reader is given it."""
        parts = (" ".join(part.split()) for part in (page.label, page.title, self.heading, self.text))
        return " · ".join(part for part in dict.fromkeys(parts) if part)


@dataclass(frozen=True, slots=True)
class Question:
    """A question as passages are compared with it: what it asks for, and its words with their weights."""

    asked: str
    target: Asked
    terms: list[str]
    weights: np.ndarray  # (terms,), together 1
    language: str
    is_english: bool

    @property
    def named(self) -> str:
        """The question with capitals that mark names: German writes every noun with one."""
        return self.asked.lower() if self.language == "de" else self.asked

    def share(self, met: np.ndarray) -> float:
        """Return how much of the question is met."""
        return float(met @ self.weights)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Passages compared with a question: their evidence `(n, PASSAGE)`, their cosines and pages `(n,)`.

    `by` tells of what the cosines are; `nearest` is that of the best window, 0 without a text model; `on_pages` is how
    much of the question stands on the best of the first pages. `judged` `(n,)` are the logits of the passage reader
    `judge`, and `is_judged` `(n,)` tells of which passages: others have one of these in their place, and 0 where there
    is none.
    """

    evidence: np.ndarray
    cosines: np.ndarray
    pages: np.ndarray
    by: By
    nearest: float
    on_pages: float
    is_english: bool
    judged: np.ndarray
    is_judged: np.ndarray

    @property
    def judge(self) -> Judge:
        """The passage reader that read some of them: which one goes by the question's language."""
        if not self.is_judged.any():
            return "none"
        return "english" if self.is_english else "others"

    def scores(self, weights: Sequence[float] | np.ndarray, *, with_pages: bool = True) -> np.ndarray:
        """Return the logarithm of the odds of each passage; without what speaks for its page where that is left out."""
        own = np.array(weights)
        if not with_pages:
            own[[at for at, name in enumerate(PASSAGE) if "page" in name]] = 0.0
        return self.evidence @ own

    def with_judged(self, scores: np.ndarray, weights: Sequence[float] | np.ndarray) -> np.ndarray:
        """Return scores `(n,)` with what the passage reader says; `weights` `(2,)` are of scores and of its logits."""
        return np.column_stack([scores, self.judged]) @ np.array(weights)

    def certainty(self, shares: np.ndarray, at: int) -> np.ndarray:
        """Return the numbers of `CERTAINTY` for the passage at this index; `shares` `(n,)` are their probabilities."""
        told: dict[str, float] = dict(zip(PASSAGE, self.evidence[at].tolist(), strict=True))
        told |= {
            "odds": _odds(float(shares[at])),
            "odds of five": _odds(float(np.sort(shares)[-5:].sum())),
            "cosine": float(self.cosines[at]),
            "cosine of the best window": self.nearest,
            "words on the first pages": self.on_pages,
            "first page": float(self.pages[at] == 0),
            "English": float(self.is_english),
            "is judged": float(self.is_judged[at]),
            "judged": float(self.judged[at]) if self.is_judged[at] else 0.0,
        }
        return np.array([told[name] for name in CERTAINTY], np.float64)


def _odds(share: float) -> float:
    """Return the logarithm of the odds of a probability, at most `MOST_ODDS` either way."""
    least = 1 / (1 + exp(MOST_ODDS))
    within = min(max(share, least), 1 - least)
    return log(within / (1 - within))


def shares_of(scores: np.ndarray) -> np.ndarray:
    """Return the probability of each passage to be the one that answers."""
    odds = np.exp(scores - scores.max())
    return odds / odds.sum()


def compare(
    question: Question,
    units: Sequence[Unit],
    pages: Sequence[Page],
    cosines: np.ndarray,
    by: By,
    nearest: float,
    likely: Callable[[np.ndarray], Sequence[int]],
) -> tuple[Comparison, list[Unit]]:
    """Return the passages that are read closely, compared with a question.

    `cosines` `(units,)` are 0 where there is no text model. `likely` chooses from the quick evidence of all passages
    which are read closely, by index: that takes half a millisecond each.
    """
    on_pages = [question.share(meets(f"{page.label} {page.text}", question.terms)) for page in pages[:WEIGHED]]
    quick = quick_evidence(question, units, pages, cosines)
    kept = list(likely(quick))
    chosen = [units[at] for at in kept]
    of_page = np.array([unit.page for unit in chosen])
    numbers = evidence(question, chosen, pages, quick[kept])
    unread = np.zeros(len(chosen)), np.zeros(len(chosen), bool)
    return Comparison(numbers, cosines[kept], of_page, by, nearest, max(on_pages), question.is_english, *unread), chosen


def units_of(index: int, page: Page, terms: list[str]) -> list[Unit]:
    """Return the passages of a page that are long enough, and how far each has the words of a question."""
    labelled = meets(page.label, terms)
    found = []
    for heading, one in page.passages:
        if one.end - one.start < SHORTEST:
            continue
        met = meets(page.text[one.start : one.end], terms)
        if one.lead is not None:
            met = np.maximum(met, LEAD * meets(one.text(page.text), terms))
        met = np.maximum(met, HEADED * meets(heading, terms))
        found.append(Unit(index, one, heading, one.text(page.text), met, np.maximum(met, labelled)))
    return found


def read_question(asked: str, target: Asked, terms: list[str], units: Sequence[Unit]) -> Question:
    """Return the question with the inverse frequencies of its words among these passages, which needs no corpus."""
    held = np.sum([unit.meets > 0 for unit in units], axis=0) if terms else np.zeros(0)
    weights = np.array([log(1 + (len(units) - n + 0.5) / (n + 0.5)) for n in held])
    weights /= float(weights.sum()) or 1.0
    for unit in units:
        unit.coverage = float(unit.meets @ weights)
    return Question(asked, target, terms, weights, language_of_question(asked), reads_as_english(asked))


def standing_out(cosines: np.ndarray) -> np.ndarray:
    """Return by how many standard deviations each cosine is above the mean of all."""
    return (cosines - cosines.mean()) / (cosines.std() + _NOISE)


def quick_evidence(question: Question, units: Sequence[Unit], pages: Sequence[Page], cosines: np.ndarray) -> np.ndarray:
    """Return `(units, PASSAGE)` float64 in which what takes reading a passage is 0.

    `cosines` `(units,)` are those of passages and question, 0 without a model.
    """
    meaning = standing_out(cosines)
    page_of = np.array([unit.page for unit in units])
    scores = np.array([page.hit.score for page in pages])
    of_page = (scores - scores.min()) / (float(scores.max() - scores.min()) or 1.0)
    best_on = np.full(len(pages), meaning.min())
    np.maximum.at(best_on, page_of, meaning)
    around = np.array([question.share(unit.around) for unit in units])
    own = np.array([unit.coverage for unit in units])
    unmet = 1.0 - float(around.max())
    foreign = np.array([is_foreign(question.language, pages[unit.page]) for unit in units], np.float64)
    row = np.array([unit.passage.is_row for unit in units], np.float64)
    english = float(question.is_english)
    told = {
        "meaning": meaning,
        "meaning, words unmet": meaning * unmet,
        "meaning, English": meaning * english,
        "meaning, row": meaning * row,
        "meaning, other language": meaning * foreign,
        "meaning of the page": best_on[page_of],
        "words": own,
        "words, other language": own * foreign,
        "words around": around,
        "words around, words unmet": around * unmet,
        "words around, English": around * english,
        "page": of_page[page_of],
        "place of the page": -np.log1p(page_of),
        "window": np.array([_is_in_window(unit, pages[unit.page]) for unit in units]),
        "row": row,
        "other language": foreign,
    }
    nothing = np.zeros(len(units))
    return np.column_stack([told.get(name, nothing) for name in PASSAGE]).astype(np.float64)


def evidence(question: Question, units: Sequence[Unit], pages: Sequence[Page], quick: np.ndarray) -> np.ndarray:
    """Return `quick` `(units, PASSAGE)` with what takes reading the passages."""
    numbers = quick.copy()
    is_of_value = question.target.kind not in ("other", "definition", "list", "yes/no", "summary", "versions")
    for at, unit in enumerate(units):
        page = pages[unit.page]
        told = _form(question.target, unit, page)
        told["kind, value asked"] = told["kind"] and is_of_value
        told["names"] = names_met(question.named, unit.context(page))
        around = f"{page.label} {page.title} {unit.heading}"
        told["another year"] = is_of_another_year(question.target, unit.text, around)
        for name, value in told.items():
            numbers[at, PASSAGE.index(name)] = value
    return numbers


def is_foreign(language: str, page: Page) -> bool:
    """Return whether a page is known to be in another language than the question."""
    return bool(page.hit.language) and page.hit.language != language


def _form(target: Asked, unit: Unit, page: Page) -> dict[str, float]:
    """Return what a passage is, by the names of `PASSAGE`."""
    own, passage = unit.own(page), unit.passage
    says_nothing = (
        (not passage.is_row and (all(map(is_heading, own.splitlines())) or _heads(unit, page)))
        or _names_columns(unit, page)
        or not is_statement(own)
        or is_echo(target, own)
    )
    told = own if passage.is_row and target.kind in ("person", "organisation", "place") else unit.text
    return {
        "quoted": passage.is_quoted,
        "aside": passage.is_aside and not is_contact(target, own),
        "says nothing": says_nothing,
        "verb": has_verb(own),
        "whole": passage.is_whole,
        "kind": holds(target, told, heading=unit.heading),  # the names of columns are no people
    }


def _is_in_window(unit: Unit, page: Page) -> bool:
    return unit.passage.start < page.window[1] and unit.passage.end > page.window[0]


def _heads(unit: Unit, page: Page) -> bool:
    """Return whether a passage is the title of its document: first lines that say nothing but a name and a year."""
    own = unit.own(page)
    is_first = page.record.page_no == 1 and unit.passage is page.passages[0][1]
    is_name = not _SAYS.search(own) and not own.rstrip().endswith(_SENTENCE_ENDS) and not has_verb(own)
    return (is_first and is_name) or (bool(said := words(own)) and said == words(page.title))


def _names_columns(unit: Unit, page: Page) -> bool:
    """Return whether a row that nothing marks as a header is one: it alone has no digits, and rows follow."""
    own = unit.passage
    if not own.is_row or own.lead is not None or any(map(str.isdigit, unit.own(page))):
        return False
    rows = [one for _heading, one in page.passages if one.is_row and one.lead is None and one.start >= own.start]
    below = [page.text[one.start : one.end] for one in rows[1:_LOOKED_BELOW]]
    before = any(one.is_row and 0 < own.start - one.end < 3 for _heading, one in page.passages)
    return len(below) > 1 and not before and all(any(map(str.isdigit, text)) for text in below)


def asking_part(question: str) -> str:
    """Return the sentences that ask, if any: others ("if it does not apply, say so") are not evidence."""
    bounds = pairwise((0, *sentence_ends(question, typed=True), len(question)))
    asking = [s for start, end in bounds if (s := question[start:end]).rstrip().endswith("?")]
    return " ".join(s.strip() for s in asking) or question


def asked_part(question: str) -> str:
    """Return the sentences that ask, without the measures of `how long` and the like."""
    return _MEASURE.sub("how", asking_part(question))


def asked_words(asked: str) -> list[str]:
    """Return the words of a question that an answer may contain: all where it has function words alone."""
    said = [key for word in content_words(asked) for key in words(word)]
    return list(dict.fromkeys(said or words(asked)))


def names(asked: str) -> set[str]:
    """Return words that name something: a capital inside the question, or a digit."""
    return {word for _unused, token in _placed_names(asked) for word in words(token)}


def names_met(asked: str, text: str) -> float:
    """Return the share of the names, numbers and identifiers of a question that a text has; 1 where it has none.

    Of `FY2022` the number is enough.
    """
    named = _placed_names(asked)
    if not named:
        return 1.0
    held = set(words(text))
    starts = {prefix(word) for word in held}

    def is_met(token: str) -> bool:
        whole, *runs = words(token) or [""]
        numbers = [run for run in runs if run[0].isdigit()]
        return not whole or _is_met(whole, held, starts) or (bool(numbers) and held.issuperset(numbers))

    unmet = [(at, token) for at, token in named if not is_met(token)]
    spans = met_spans(asked, text) if any(any(map(str.isdigit, token)) for _unused, token in unmet) else []
    unmet = [(at, token) for at, token in unmet if not any(start <= at < end for start, end in spans)]
    return 1.0 - len(unmet) / len(named)


def _placed_names(asked: str) -> list[tuple[int, str]]:
    """Return tokens with a capital that begin no sentence, or with a digit, each with its place; `I` is no name."""
    found = [(match.start(), match.group()) for match in re.finditer(r"\w+", asked)]
    return [(at, word) for at, word in found[1:] if any(map(str.isdigit, word)) or _is_capitalised(asked, at, word)]


def _is_capitalised(asked: str, at: int, word: str) -> bool:
    return word[0].isupper() and word != "I" and not _BEGINS.search(asked, max(0, at - 3), at)


def meets(text: str, terms: list[str]) -> np.ndarray:
    """Return how far each term stands in a text: 1 for the word itself, `PREFIX_MATCH` for a form of it, else 0."""
    held = set(words(text))
    starts = {prefix(word) for word in held}
    return np.array([1.0 if t in held else PREFIX_MATCH if _is_met(t, held, starts) else 0.0 for t in terms])


def is_told(question: str, unit: Unit, page: Page, numbers: np.ndarray) -> bool:
    """Return whether a passage may surely be the answer, by its evidence `(PASSAGE,)`.

    It has a value of the kind that is asked for; a row also has, with what is above, every word of the question:
    `Ben Okoye | freestyle | 30.9` has the name of "How heavy is Ben Okoye?", and no column for what is asked of him.
    """
    language = language_of_question(question)
    asked = [word for word in words(question) if not is_function_word(word, language)]
    return bool(numbers[PASSAGE.index("kind")]) and (not unit.passage.is_row or has_all(unit.context(page), asked))


def has_all(text: str, asked: Sequence[str]) -> bool:
    """Return whether a text has each of these words, or a form of it."""
    held = set(words(text))
    starts = {prefix(word) for word in held}
    return all(_is_met(word, held, starts) for word in asked)


def _is_met(term: str, held: set[str], starts: set[str | None]) -> bool:
    """Return whether the word or a form of it is there: same first letters, or an ending (`last`, `lasts`; `dog`)."""
    if term in held:
        return True
    if term[:1].isdigit():
        return False
    start = prefix(term)
    if start is not None:
        return start in starts or any(term.endswith(end) and term[: -len(end)] in held for end in _PLURALS)
    endings = _ENDINGS if len(term) == _SHORT else _PLURALS if len(term) == _SHORTEST_STEM else ()
    return any(term + end in held for end in endings) or (term.endswith("s") and term[:-1] in held)
