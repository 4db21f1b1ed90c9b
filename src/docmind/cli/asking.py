"""`docmind ask`: one question, alone or in a conversation."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from docmind.cli.following import stoppable
from docmind.cli.naming import checkpoint_named, thread_to_ask_in
from docmind.cli.opening import filtered, filters_of, json_option, opened, print_json
from docmind.cli.stream import Stream
from docmind.cli.telling import tell_narrow
from docmind.cli.turns import short, turn_data
from docmind.config import Settings
from docmind.conversation import Mode, Turn, closest
from docmind.errors import CancelledError, ConfigError
from docmind.schema import Degraded, Filters

if TYPE_CHECKING:
    from docmind.application import DocMind


@click.command()
@click.argument("question")
@click.option("-k", "k", type=click.IntRange(1, 1000), default=None, help="How many pages to look at.")
@click.option(
    "--thread",
    help="Go on with this conversation (id, its beginning, or title), or begin one with it; `new`: any.",
)
@click.option("--at", help="Ask at this checkpoint of the conversation, beside what came after it.")
@click.option("--mode", type=click.Choice(["standard", "agent"]), help="How the question is worked on.")
@click.option("--web", is_flag=True, help="Let this question search the web too, in agent mode.")
@click.option("--quotes", is_flag=True, help="Only quotes, whatever language model there is.")
@filtered
@json_option
def ask(
    question: str,
    k: int | None,
    thread: str | None,
    at: str | None,
    mode: Mode | None,
    web: bool,
    quotes: bool,
    docs: tuple[str, ...],
    languages: tuple[str, ...],
    tags: tuple[str, ...],
    as_json: bool,
) -> None:
    """Answer QUESTION from the documents, each sentence with its page; with --thread in a conversation."""
    if not question.strip():  # before a conversation is begun for it
        raise ConfigError("The question is empty.", hint="Type a question in words.")
    if at is not None and thread is None:
        raise ConfigError("--at names a checkpoint of a conversation.", hint="Say which with --thread.")
    if quotes and (thread is not None or mode is not None or web):
        raise ConfigError("--quotes answers without a model and keeps nothing.", hint="Leave the other options out.")
    mode = web_mode(mode) if web else mode
    with opened() as desk:
        filters = filters_of(desk, docs, languages, tags)
        stream = Stream(is_live=False if as_json else None)
        if not quotes:
            desk.models.list()  # a fresh process knows of none yet
        is_plain = thread is None and (mode or Settings.load().agent.mode) == "standard"
        if quotes or (is_plain and desk.models.current() is None):
            turn = _quoted(desk, question, k, filters, () if quotes else desk.models.degraded())
        else:
            with stoppable(desk, stream.show) as look:
                thread_id, checkpoint_id = _place(desk, thread, at)
                try:
                    turn = desk.conversations.ask(
                        question,
                        thread_id=thread_id,
                        checkpoint_id=checkpoint_id,
                        filters=filters,
                        mode=mode,
                        web=web,
                        k=k,
                        on_progress=look,
                    )
                except BaseException:
                    stream.break_off()
                    raise
        is_found = turn.answer is not None and turn.answer.found
        documents = () if is_found else desk.documents()  # to say what there is instead
    if as_json:
        print_json(turn_data(turn))
    else:
        stream.end(turn)
        if not is_found:
            tell_narrow(documents, filters)
        if turn.answer is not None and turn.answer.thread_id:
            click.echo(f"Conversation {turn.answer.thread_id}, checkpoint {short(turn.checkpoint_id)}", err=True)
    if turn.state == "stopped":
        sys.exit(CancelledError.exit_code)


def web_mode(mode: Mode | None) -> Mode:
    """The mode of a question that may search the web. Raises `ConfigError` where that can do nothing."""
    if Settings.load().web.provider == "off":
        raise ConfigError("Web search is off.", hint="Set DOCMIND_WEB__PROVIDER; docs/settings.md tells how.")
    if mode == "standard":
        raise ConfigError("Only agent mode searches the web.", hint="Use --mode agent, or leave --mode out.")
    return "agent"


def _place(desk: DocMind, thread: str | None, at: str | None) -> tuple[str | None, str | None]:
    """The conversation and the checkpoint to ask at."""
    if thread is None:
        return None, None
    thread_id = thread_to_ask_in(desk, thread, is_begun=at is not None).thread_id
    return thread_id, checkpoint_named(desk, thread_id, at) if at is not None else None


def _quoted(desk: DocMind, question: str, k: int | None, filters: Filters, degraded: tuple[Degraded, ...]) -> Turn:
    """Quotes alone: what a conversation without a model answers, without loading what conversations are made with."""
    asked_at_ms = int(time.time() * 1000)
    answer = desk.ask(question, k=k, filters=filters)
    answer = replace(answer, degraded=(*answer.degraded, *degraded))
    nearest = () if answer.found else closest(desk.search(question, filters=filters).hits)
    return Turn("", None, question, asked_at_ms, "answered", answer=answer, filters=filters, nearest=nearest)
