"""The order in which passages are quoted: each once, with what a mail says itself first, and by their documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from docmind.answers.evidence import PASSAGE, Comparison, Page, Unit
from docmind.answers.kinds import Asked, is_of_values


def order_of(compared: Sequence[Unit], scores: np.ndarray, most: int) -> list[int]:
    """Return the best passages, each once: no words again, and no item of a list that is quoted whole."""
    said = set[str]()
    taken = list[int]()
    for at in np.argsort(-scores, kind="stable").tolist():
        words = words_of(compared[at])
        if words in said or any(overlap(compared[at], compared[one]) for one in taken):
            continue
        said.add(words)
        taken.append(at)
        if len(taken) == most:
            break
    return taken


def own_first(
    target: Asked, compared: Sequence[Unit], order: list[int], comparison: Comparison, scores: np.ndarray
) -> list[int]:
    """Return the best passages so that what a mail quotes is not before a value in its own words.

    `No, on the 24th.` has few words of the question, and corrects what is quoted below it.
    """
    first = compared[order[0]]
    if not first.passage.is_quoted or not is_of_values(target):
        return order
    own = [
        at for at, unit in enumerate(compared)
        if unit.page == first.page and unit.passage.is_own and comparison.evidence[at, PASSAGE.index("kind")]
    ]  # fmt: skip
    if not own:
        return order
    best = max(own, key=scores.__getitem__)
    return [best, *(at for at in order if at != best)][: len(order)]


def by_document(order: Sequence[int], compared: Sequence[Unit], pages: Sequence[Page]) -> list[int]:
    """Return passages so that those of one document follow each other, the best one first."""
    documents = [pages[compared[at].page].hit.doc_id for at in order]
    return sorted(order, key=lambda at: documents.index(pages[compared[at].page].hit.doc_id))  # stable


def words_of(unit: Unit) -> str:
    """Return the words of a passage as they are compared with another's."""
    return " ".join(unit.text.split()).casefold()


def overlap(one: Unit, other: Unit) -> bool:
    """Return whether two passages of a page share words, but for a lead that both have."""
    if one.page != other.page:
        return False
    a, b = one.passage, other.passage
    pairs = [((a.start, a.end), span) for span in b.spans()] + [((b.start, b.end), span) for span in a.spans()]
    return any(x[0] < y[1] and y[0] < x[1] for x, y in pairs)
