"""What an export says about a turn, in words, whatever it is written as."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from docmind.blocks import Block, Break, Mark, Paragraph, Run
from docmind.conversation import ThreadView, Turn
from docmind.prose import blocks_of
from docmind.schema import Answer

UNSUPPORTED, UNSUPPORTED_AGAIN = "not found in your documents", "not found"
DELETED = "This document was deleted since; its picture is gone, the quote stays."


def when(at_ms: int) -> str:
    """Local date and time."""
    moment = datetime.fromtimestamp(at_ms / 1000).astimezone()
    return f"{moment.day} {moment:%B %Y, %H:%M}"


def opening(view: ThreadView) -> list[str]:
    """What stands under the title."""
    count = len(view.turns)
    told = [f"A conversation in DocMind, {count} {'question' if count == 1 else 'questions'}, "
            f"{when(view.thread.created_at_ms)} to {when(view.thread.updated_at_ms)}."]  # fmt: skip
    if view.earlier:
        told.append(f"The first {view.earlier} questions are not in this file.")
    if any(turn.answer and turn.answer.model for turn in view.turns):
        told.append(
            f"Numbers in brackets name the sources below an answer. What no page supports is marked “{UNSUPPORTED}”."
        )
    return told


def byline(turn: Turn) -> str:
    """Who answered, when, and how."""
    answer = turn.answer
    parts = [when(turn.asked_at_ms)]
    if answer is not None and answer.model:
        parts.append(f"written by {answer.model}")
    elif answer is not None and answer.found:
        parts.append("quoted from the pages")
    if turn.mode == "agent":
        parts.append("agent mode")
    if turn.asked_as and turn.asked_as != turn.question:
        parts.append(f"searched for “{turn.asked_as}”")
    return " · ".join(parts)


def remarks(turn: Turn) -> list[str]:
    """What a reader must know about the answer besides its words."""
    told = []
    if turn.state == "stopped":
        told.append("The answer was stopped before it was finished.")
    elif turn.state == "unanswered":
        told.append(turn.message or "This question was not answered.")
    if turn.answer is not None:
        told += [f"Without {skipped.stage}: {skipped.reason}" for skipped in turn.answer.degraded]
    return told


def body(answer: Answer) -> tuple[Block, ...]:
    """The answer's blocks; quotes keep their `[n]` markers as words."""
    if answer.model:
        return blocks_of(answer.answer, answer.sentences)
    if not answer.found:
        return (Paragraph((Run("Not found in your documents."),)),)
    return tuple(Paragraph(_quoted(part)) for part in answer.answer.split("\n\n") if part.strip())


def _quoted(text: str) -> tuple[Run | Break | Mark, ...]:
    lines = [Run(line) for line in text.split("\n")]
    return tuple(part for line in lines for part in (line, Break()))[:-1]


def badge_of(answer: Answer, cited: Callable[[int], str], unsupported: Callable[[str], str]) -> Callable[[int], str]:
    """What stands behind the sentence of an index: its sources, or that there are none (in full the first time)."""
    numbers = {source.n for source in answer.sources}
    told: list[int] = []

    def badge(index: int) -> str:
        sentence = answer.sentences[index]
        known = [number for number in sentence.sources if number in numbers]
        if sentence.supported and known:
            return "".join(cited(number) for number in known)
        if not sentence.is_claim:
            return ""
        told.append(index)
        return unsupported(UNSUPPORTED if len(told) == 1 else UNSUPPORTED_AGAIN)

    return badge
