"""Questions of several kinds: how often each gets the kind of answer that is best for it.

`kinds/` beside this script has two sets of documents with questions. Each set has a library of its own, and each
question a conversation of its own; of a follow-up the last turn counts. `expected.py` has the rules for right answers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from expected import Expected, Given, form, is_right, is_sure
from harness import add_missing, json_rows, opened

from bench.report import ROOT, write
from docmind.application import DocMind
from docmind.records.answers import Answer

FOLDER = Path(__file__).with_name("kinds")
FORMS: tuple[str, ...] = get_args(Given)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that was asked, with the form of its best answer and the form of the one shown."""

    number: str
    kind: str
    given: str
    shown: str
    right: bool
    sure: bool


def evaluate(*, show_misses: bool) -> None:
    """Ask every question, and print the tables here and into docs/evaluation.md.

    `show_misses` names the questions whose answer is not right.
    """
    asked = [one for folder in sorted(FOLDER.iterdir()) if folder.is_dir() for one in _asked(folder)]
    told = in_full(asked)
    print(told)
    write(ROOT / "docs" / "evaluation.md", "kinds", told)
    for one in asked if show_misses else ():
        if not one.right:
            print(f"{'SURE' if one.sure else '':4} {one.number} {one.kind}: {one.shown} for {one.given}")


def in_full(asked: Sequence[Asked]) -> str:
    """Return the figures as two tables: the form of the best answer by the form shown, and by kind."""
    shown = [*FORMS, *sorted({one.shown for one in asked} - set(FORMS))]
    lines = [f"| best answer | shown: {' | '.join(shown)} |", "|---" * (len(shown) + 1) + "|"]
    for given in FORMS:
        forms = [one.shown for one in asked if one.given == given]
        lines.append(f"| {given} | {' | '.join(str(forms.count(one)) for one in shown)} |")
    lines += ["", "| kind | questions | right | sure and wrong |", "|---|---|---|---|"]
    for kind in dict.fromkeys(one.kind for one in asked):
        lines.append(f"| {kind} | {_counts(one for one in asked if one.kind == kind)} |")
    return "\n".join([*lines, f"| all | {_counts(asked)} |"])


def _asked(folder: Path) -> Iterator[Asked]:
    """Yield the questions of a set, asked in a library that has its documents."""
    with tempfile.TemporaryDirectory() as place, opened(Path(place)) as docmind:
        add_missing(docmind, folder)
        for row in json_rows(folder / "questions.jsonl"):
            answer = _answer(docmind, row["turns"])
            right = is_right(answer, Expected(row["kind"], row["given"], row["expect"], row["never"]))
            yield Asked(row["id"], row["kind"], row["given"], form(answer), right, is_sure(answer))


def _answer(docmind: DocMind, turns: Sequence[str]) -> Answer:
    """Return the answer to the last turn of a conversation."""
    thread = docmind.conversations.create().thread_id
    answers = [docmind.conversations.ask(turn, thread_id=thread).answer for turn in turns]
    assert answers[-1] is not None
    return answers[-1]


def _counts(asked: Iterable[Asked]) -> str:
    """Return how many questions there are, how many are answered rightly, and wrongly but surely, as cells."""
    rows = list(asked)
    right, wrong = sum(one.right for one in rows), sum(one.sure and not one.right for one in rows)
    return f"{len(rows)} | {right} ({right / len(rows):.0%}) | {wrong} ({wrong / len(rows):.0%})"
