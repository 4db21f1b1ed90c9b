"""What the configured language model writes on labelled questions, and what DocMind then shows of it.

The model is the one of the settings (`DOCMIND_LLM__...`); without one there is nothing to measure. A text is *right*
where each word of the labelled answer stands in it: an answer in other words counts as wrong, so rates of right texts
are lower bounds, and rates of hidden ones are of those that use the document's words.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from harness import Times, add_missing, json_rows, opened

from docmind.application import DocMind
from docmind.embedding import words
from docmind.errors import NotFoundError
from docmind.evaluation import Question
from docmind.records.answers import Answer


def evaluate(folder: Path, place: Path, questions: Sequence[Question], count: int, seed: int, *, misses: bool) -> None:
    """Ask `count` questions that are answered and half as many that are not, both drawn with `seed`; print the counts.

    Raises `NotFoundError` where no question has a labelled answer, or there is no model.
    """
    chance = random.Random(seed)  # noqa: S311
    labelled = [question for question in questions if question.answer]
    if not labelled:
        raise NotFoundError("No question has an answer.", hint="Label `answer`, the words of a right one.")
    path = folder / "unanswerable.jsonl"
    outside = [row["question"] for row in json_rows(path)] if path.exists() else []
    with opened(place) as docmind:
        model = docmind.models.list().chosen
        if model is None:
            raise NotFoundError("There is no language model.", hint="Set DOCMIND_LLM__URL or DOCMIND_LLM__GGUF.")
        add_missing(docmind, folder)
        drawn = chance.sample(range(len(labelled)), min(count, len(labelled)))
        asked = [labelled[at] for at in sorted(drawn)]
        times = Times()
        told, claims = _answered(docmind, asked, times, misses=misses)
        print(f"\n{len(asked)} questions that are answered: {model.name} wrote on {told['written']}")
        print(f"  right {_of(told['right'], len(asked))}, of these hidden {_of(told['hidden'], told['right'])}")
        print(f"  not right {_of(told['wrong'], len(asked))}, of these shown first {_of(told['first'], told['wrong'])}")
        print(f"  claims of what is shown first: unsupported {_of(claims['unsupported'], claims.total())}")
        others = chance.sample(outside, min(count // 2, len(outside)))
        shown = [text for text in others if (answer := docmind.conversations.ask(text).answer) and answer.model]
        print(f"{len(others)} questions without an answer: shown first {_of(len(shown), len(others))}")
        print(f"ask: {times}")


def _answered(
    docmind: DocMind, asked: Sequence[Question], times: Times, *, misses: bool
) -> tuple[Counter[str], Counter[str]]:
    told, claims = Counter[str](), Counter[str]()
    for question in asked:
        with times.one():
            answer = docmind.conversations.ask(question.text).answer
        text, is_first = written(answer), bool(answer and answer.model)
        if not text:
            continue
        is_right = set(words(question.answer)) <= set(words(text))
        told["written"] += 1
        told["right" if is_right else "wrong"] += 1
        told["hidden"] += is_right and not is_first
        told["first"] += is_first and not is_right
        if answer is not None and is_first:
            claims.update("supported" if one.sources else "unsupported" for one in answer.sentences if one.is_claim)
        if misses and is_right != is_first:
            print(f"  {'hidden' if is_right else 'shown first'}: {question.text}\n    {' '.join(text.split())}")
    return told, claims


def written(answer: Answer | None) -> str:
    """Return what a model wrote, first or below the quotes; empty where it wrote nothing."""
    both = (answer, answer.other) if answer is not None else ()
    texts = [one.answer for one in both if one is not None and one.model]
    return texts[0] if texts else ""


def _of(count: int, whole: int) -> str:
    return f"{count} of {whole}" + (f" ({count / whole:.1%})" if whole else "")
