"""How well a list answers a question, and which of its items do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from docmind.answers.item_lists import ENUMERATED, Item, ItemList
from docmind.answers.list_questions import ListQuestion, table, word_list
from docmind.answers.list_words import FORM, met_in, words_in, words_of_list
from docmind.language import is_form, lowered_alike

_LISTS = frozenset(["list", "lists", "lista", "listas", "liste", "listen", "listes", "items", "checklist"])
_PROSE = 0.6  # less than what a list scores
_TABLE = 0.05  # less than a list below the same heading
_UNNAMED = 0.5  # less, where only a name and another word fit a table
_VERB = 0.3  # less, where nothing has the verb of a question


class Fit(NamedTuple):
    """How well a list answers a question, and the items that pass its filter.

    `is_named` is False where only the document's name has the words that are asked for.
    """

    score: float
    items: list[Item]
    is_named: bool


class _Asked:
    """How the words of a question are met by a list: its score, and the words that are left to filter the items."""

    def __init__(self, question: ListQuestion, words: Sequence[str], held: ItemList, near: Sequence[str]) -> None:
        self.words, self.score = words, 0.0
        self.is_named = self.is_near_it = self.is_whole_cell = False
        self.state: bool | None = None
        self.used, self.filters = 0, list[str]()
        self._question, self._held = question, held
        has_boxes = any(item.is_done is not None for item in held.items)
        far, light = words_in(held.far), word_list("items", "light")
        for word in words:
            if (met := met_in(word, near)) > 0:
                self.score, self.is_named = self.score + met, self.is_named or met > FORM or word not in light
            elif has_boxes and word in word_list("states", "done"):
                self.state = True
            elif has_boxes and word in word_list("states", "open"):
                self.state = False
            elif has_boxes and met_in(word, ("tasks",)):
                self.score, self.is_named = self.score + 0.5, True
            elif (met := met_in(word, far)) > 0:
                self.score, self.is_near_it = self.score + met / 4, True
            elif held.has_organisations and word in word_list("labels", "organisations"):
                self.score, self.is_named = self.score + 1, True
            elif held.kind == "row" and held.has_people and word in word_list("states", "rows_of_people"):
                continue
            elif word not in word_list("items", "idle"):
                self.filters.append(word)

    def kept(self) -> list[Item] | None:
        """Return the items that pass the filters; None where a word is not accounted for."""
        question, held = self._question, self._held
        context, opening = words_of_list(question.context), words_in((held.opening,))
        is_of_name = held.kind == "row" and any(
            _has_cell(question.names[0], item, self.words) for item in held.items if question.names
        )
        kept = [item for item in held.items if self.state is None or item.is_done is self.state]
        verbs = list[str]()
        for word in self.filters:
            whole = [item for item in kept if _has_cell(word, item, self.words)]
            passing = whole or [item for item in kept if any(is_form(word, one) for one in item.words)]
            in_opening = met_in(word, opening) if not passing or word not in question.names else 0
            if in_opening >= FORM:
                self.score, self.is_near_it = self.score + in_opening / 4, True
            elif passing:
                kept, self.used, self.is_whole_cell = passing, self.used + 1, bool(whole)
                self.score += 0.5 * (word in question.names)
            elif word in context and word in held.around:
                self.score += 0.1
            elif is_of_name and self.is_named and word == self.words[0]:
                self.score -= _UNNAMED  # `books`, of a table that has a column for who borrowed them
            elif word in word_list("items", "light"):
                continue
            elif word not in question.verbs:
                return None
            else:
                verbs.append(word)
        if verbs and not self._may_lack_verb():
            return None
        self.score -= _VERB * len(verbs)
        return kept

    def _may_lack_verb(self) -> bool:
        """Return whether all else of a question fits so well that the list need not have its verb."""
        if self._held.kind == "row":
            return self.is_named and self.is_whole_cell and bool(self._question.names)
        if self._question.is_who:
            return self.is_named and self._held.has_full_names
        return self.is_named and self.is_near_it


def fit(question: ListQuestion, asked: Sequence[str], held: ItemList) -> Fit | None:
    """Return how well a list answers a question; None where a word of it is not accounted for.

    Each word is one of what announces the list, of the document's name, of a checkbox, or of the items, in this order.
    What is denied must be denied by what announces the list, or is what cells of a row do not have.
    """
    near = _announcing(held)
    idle = word_list("items", "light") | word_list("items", "idle")
    denied = [word for word in words_of_list(question.denied) if word not in idle]
    is_denying = held.kind != "row" and not word_list("states", "negations").isdisjoint(near)
    if is_denying and not question.denied and "forbidden" not in asked:
        return None
    if question.denied and not is_denying and (not denied or held.kind != "row"):
        return None
    lacked = [] if is_denying else denied
    how = _Asked(question, [word for word in asked if word not in lacked], held, near)
    kept = how.kept()
    if kept is not None and lacked:
        having = [item for item in held.items if all(_has(word, item, held, lacked) for word in lacked)]
        kept = [item for item in kept if item not in having] if having else None
        how.used, how.is_whole_cell = how.used + 1, True
    if (
        kept
        and held.kind == "row"
        and (question.is_who or (question.is_explicit and _names_one_column(how.words, held)))
    ):
        kept = [item for item in kept if not _lacks(item, held, how.words)]
    return _accepted(question, held, how, kept) if kept else None


def _accepted(question: ListQuestion, held: ItemList, how: _Asked, kept: list[Item]) -> Fit | None:
    """Return the fit of a list whose items were filtered; None where it is less than what the question needs."""
    are_people = question.is_who and held.kind == "row" and held.has_people
    is_of_people = how.is_whole_cell and (are_people or question.is_explicit)
    is_whole = held.kind == "row" or not _LISTS.isdisjoint(how.words)
    if not (how.is_named or (how.is_near_it and (is_whole or how.state is not None)) or is_of_people):
        return None
    is_many = question.is_explicit or question.is_plural
    is_one = len(held.items) == 1 or (len(kept) == 1 and question.is_who and held.kind == "row")
    if is_one and not is_many and (not how.used or question.is_who):
        return None  # one thing that is asked for is quoted
    if held.kind == "short" and question.is_who and not (is_many or held.has_people):
        return None  # lines of a narrow column may be sentences
    is_told = len(held.items) >= ENUMERATED and how.is_named and not how.used
    if held.is_of_sentence and (not is_many or how.used):
        return None
    if held.kind == "inline" and (
        (question.is_who and not held.has_people)  # `Tiles ordered by Mara, delivery 11 June, 38 boxes`
        or not (is_many or question.is_who or is_told)
    ):
        return None
    if held.kind == "prose":
        is_fitting = is_many and how.is_named and not how.used and not question.is_single
        return Fit(how.score - _PROSE, kept, is_named=True) if is_fitting else None
    if not how.is_named and held.kind != "row" and how.state is None and how.used:
        return None
    if question.is_single and (how.used or not how.is_named or held.kind == "row" or len(kept) < 2):
        return None
    score = how.score + (how.state is not None) + 0.1 * how.used - _TABLE * (held.kind == "row")
    return Fit(score, kept, how.is_named or is_of_people or how.state is not None)


def _announcing(held: ItemList) -> list[str]:
    """Return the words of what announces a list; what says that something is not allowed is one word of them."""
    states = table()["states"]
    said = [re.sub(states["forbids"], " forbidden ", lowered_alike(text)) for text in held.near]
    said = [re.sub(states["warns"], " forbidden not ", text) for text in said]
    return words_in(re.sub(states["spanish_no"], " not ", text) for text in said)


def _lacks(item: Item, held: ItemList, asked: Sequence[str]) -> bool:
    """Return whether a row has nothing in a column that is asked for."""
    return any(
        not cell and any(met_in(word, words_in((name,))) for word in asked)
        for name, cell in zip(held.header, item.cells, strict=False)
    )


def _names_one_column(asked: Sequence[str], held: ItemList) -> bool:
    """Return whether a question asks for one column of a table, and for nothing else."""
    columns = [name for name in held.header if any(met_in(word, words_in((name,))) for word in asked)]
    return len(columns) == 1 and all(met_in(word, words_in(columns)) for word in asked)


def _has(word: str, item: Item, held: ItemList, asked: Sequence[str]) -> bool:
    """Return whether a row has a cell with a word, or anything but a `no` in the column of that name."""
    no = word_list("states", "no")
    return _has_cell(word, item, asked) or any(
        met_in(word, words_in((name,))) and cell and no.isdisjoint(cell)
        for name, cell in zip(held.header, item.cells, strict=False)
    )


def _has_cell(word: str, item: Item, asked: Sequence[str]) -> bool:
    """Return whether a cell of a row has the word and nothing that the question lacks."""
    return any(
        any(is_form(word, one) for one in cell)
        and all(one in word_list("items", "function") or any(is_form(other, one) for other in asked) for one in cell)
        for cell in item.cells
    )
