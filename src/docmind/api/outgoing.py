"""What records hold of a language model's words, as neutral Markdown: the form in which they go to other programs."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

from docmind.answers import neutral, neutral_draft
from docmind.records.answers import Answer
from docmind.records.conversations import RunProgress, ThreadView, Turn


@singledispatch
def outgoing(value: Any) -> Any:
    """Return a result with the words of models in it as neutral Markdown."""
    return value


@outgoing.register
def _(answer: Answer) -> Answer:
    return neutral(answer)


@outgoing.register
def _(turn: Turn) -> Turn:
    return replace(turn, answer=outgoing(turn.answer))


@outgoing.register
def _(view: ThreadView) -> ThreadView:
    return replace(view, turns=tuple(map(outgoing, view.turns)))


@outgoing.register
def _(now: RunProgress) -> RunProgress:
    return replace(now, text=neutral_draft(now.text), turn=outgoing(now.turn))
