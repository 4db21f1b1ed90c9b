"""Passages in another language than the question's, by the multilingual text model alone.

The evidence of an answer counts words that a passage shares with the question. Across languages there are none, so only
the cosine of the multilingual model decides. Its threshold was fitted on 80 pairs of a question and a sentence in
English, Portuguese, Spanish, German and French and on 40 questions that no page answers: ADR 0106.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import numpy as np

from docmind.answers.kinds import asked_of, holds, is_statement, language_of_question
from docmind.embedding import TextEmbedder, VectorCache, of_many_languages
from docmind.errors import DocMindError

NEAR = 0.37  # cosine from which a passage in another language may answer
NEAR_FIRST = 0.08  # below the best one's: what is shown beside it
SHOWN = 3
ANSWERS = -6.1, 16.8  # logistic regression on that cosine that the passage answers
PASSAGES = 48  # that are embedded: 2-3 ms each on one core
_TITLE = 120  # characters of the title above a passage


def is_other_language(question: str, language: str) -> bool:
    """Return whether a page's language is known and is not the question's."""
    return bool(language) and language != language_of_question(question)


def confidence_across(cosine: float) -> float:
    """Return the probability that a passage in another language answers, by its cosine."""
    intercept, weight = ANSWERS
    return 1 / (1 + exp(-(intercept + weight * cosine)))


def nearest_across(
    question: str, passages: Sequence[tuple[str, str]], embedder: TextEmbedder, read: VectorCache
) -> list[tuple[int, float]]:
    """Return the passages that may answer a question in another language, best first, by index, with their cosines.

    Each comes with the title above it, which is embedded with it: a sentence seldom names what its page is about.
    Passages without a value of the kind that is asked for are left out. Nothing where none is near, and where the text
    model knows one language or cannot be used.
    """
    target = asked_of(question)
    said = [(_clean(title)[:_TITLE], _clean(one)) for title, one in passages[:PASSAGES]]
    fitting = [is_statement(text) and holds(target, text) for _title, text in said]
    texts = [f"{title}. {text}" if title else text for title, text in said]
    if not any(fitting):
        return []
    try:
        asked = of_many_languages(embedder, embedder.embed_query(question))
        if asked is None:
            return []
        vectors = of_many_languages(embedder, read.rows(embedder.fingerprint, texts, embedder.embed_documents))
    except (DocMindError, OSError, RuntimeError):  # the search has said so, or the next one will
        return []
    assert vectors is not None
    worth = np.where(fitting, vectors @ asked, 0.0)
    order = [int(at) for at in np.argsort(-worth)[:SHOWN]]
    least = max(NEAR, float(worth[order[0]]) - NEAR_FIRST)
    return [(at, float(worth[at])) for at in order if worth[at] >= least]


def _clean(text: str) -> str:
    return " ".join(text.split())
