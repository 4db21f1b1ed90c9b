"""A question and its answer as the command line gives them: as plain data, and as text with numbered sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import datetime
from typing import Any

import click

from docmind.cli.plain import plain
from docmind.cli.telling import inert, tell_degraded
from docmind.conversation import Run, Turn
from docmind.schema import Answer, Source

UNSUPPORTED = "[not found in your documents]"
_LATER = frozenset({"answer", "question", "checkpoint_id"})  # the answer's own fields say these
_SHORT = 8  # the random end of a checkpoint's id
_EXCERPT = 300


def turn_data(turn: Turn) -> dict[str, Any]:
    """Everything the answer has, and beside it what became of the turn: `state`, `asked_as`, `message`, ….

    A turn without an answer has an empty one, so that the names are always the same.
    """
    answer = turn.answer or Answer(turn.question, "", False)
    told = plain(answer) | {"question": turn.question, "checkpoint_id": turn.checkpoint_id or None}
    beside = plain(turn)
    return told | {field.name: beside[field.name] for field in fields(turn) if field.name not in _LATER}


def short(checkpoint_id: str | None) -> str:
    """The end of a checkpoint's id, by which it is shown and can be called."""
    return inert(checkpoint_id or "")[-_SHORT:]


def marked(answer: Answer) -> str:
    """The answer's text, with a plain mark behind each sentence that claims what no page says."""
    text, at, parts = answer.answer, 0, []
    for sentence in sorted(answer.sentences, key=lambda sentence: sentence.end):
        if sentence.is_claim and not sentence.supported and at <= sentence.end <= len(text):
            parts += [text[at : sentence.end], f" {UNSUPPORTED}"]
            at = sentence.end
    return inert("".join([*parts, text[at:]]), keep_lines=True)


def tell_turn(turn: Turn, *, text: bool = True) -> None:
    """The answer and its sources on stdout; what else there is to know on stderr. Without `text` only what follows."""
    if turn.answer is not None and text:
        click.echo(marked(turn.answer))
    if turn.state == "stopped":
        click.echo("Stopped: the answer ends here.", err=True)
    if turn.answer is not None:
        tell_sources(turn.answer.sources)
    if turn.nearest:
        pages = ", ".join(f"{inert(hit.document)} page {hit.page_no}" for hit in turn.nearest)
        click.echo(f"  Nearest: {pages}")
    for result in turn.web:
        click.echo(f"  From the web, not from your documents: {inert(result.title)} <{inert(result.url)}>")
        click.echo(f"      {one_line(result.excerpt)}")
    if turn.asked_as and turn.asked_as != turn.question:
        click.echo(f"Asked as: {one_line(turn.asked_as)}", err=True)
    if turn.message:
        quotes = "\nThe answer is made of quotes." if turn.answer is not None and not turn.answer.model else ""
        click.echo(f"{inert(turn.message)}\n{inert(turn.hint)}".rstrip() + quotes, err=True)
    if turn.answer is not None:
        tell_degraded(part for part in turn.answer.degraded if part.reason != turn.message)


def tell_sources(sources: Iterable[Source], *, quotes: bool = False) -> None:
    """One line a source; with `quotes` the quoted words below it."""
    for source in sources:
        click.echo(f"  [{source.n}] {inert(source.document)}, page {source.page_no}")
        if quotes:
            click.echo(f"      “{one_line(source.quote)}”")


def tell_turns(turns: Iterable[Turn]) -> None:
    """A conversation to read: each question with its time and the end of its checkpoint's id, then its answer."""
    for turn in turns:
        click.echo(f"> {one_line(turn.question)}   ({when(turn.asked_at_ms)}, {short(turn.checkpoint_id)})")
        if turn.answer is None:
            click.echo("This question was not answered.", err=True)
        tell_turn(turn)
        click.echo()


def tree(runs: Iterable[Run], head: str | None) -> Iterator[str]:
    """The tree of runs, one line each: `*` on the way to where the conversation stands, `o` beside it.

    A run that is followed by several has them indented below it, one branch after the other; a plain succession is
    not indented, however long.
    """
    runs = tuple(runs)
    known = {run.checkpoint_id for run in runs}
    if head not in known:  # a branch that nothing was asked on yet: it stands after its last run
        head = next((run.checkpoint_id for run in reversed(runs) if run.is_current), None)
    followers: dict[str | None, list[Run]] = {}
    for run in runs:
        followers.setdefault(run.parent_id if run.parent_id in known else None, []).append(run)
    waiting = [(run, 0) for run in reversed(followers.get(None, []))]
    while waiting:
        run, depth = waiting.pop()
        here = "  <- here" if run.checkpoint_id == head else ""
        state = "" if run.state == "answered" else f" ({run.state})"
        mark = "*" if run.is_current else "o"
        yield (
            f"{'  ' * depth}{mark} {short(run.checkpoint_id)}  {when(run.asked_at_ms)}  "
            f"{one_line(run.question, 80)}{state}{here}"
        )
        after = followers.get(run.checkpoint_id, [])
        waiting += [(next_run, depth + (len(after) > 1)) for next_run in reversed(after)]


def one_line(text: str, longest: int = _EXCERPT) -> str:
    """Text of others on one line, cut where it is long."""
    line = " ".join(inert(text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def when(at_ms: int) -> str:
    """Local time, to the minute."""
    return datetime.fromtimestamp(at_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
