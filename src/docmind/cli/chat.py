"""`docmind chat`: a conversation in the terminal, or with a script through a pipe.

Input is one entry of a user at a time, or lines from a pipe; what begins with a slash is a command.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import click

from docmind.cli.ask import Stream, ask_about_model, follow, thread_to_ask_in, web_mode
from docmind.cli.chat_commands import COMMANDS, ChatPosition, CommandResult
from docmind.cli.context import is_asking, json_option, opened, print_json
from docmind.cli.help import command
from docmind.cli.options import asking
from docmind.cli.output import inert, one_line, print_narrow, print_turns, turn_data
from docmind.client import query_of
from docmind.errors import ConfigError, DocMindError
from docmind.records.conversations import Turn
from docmind.records.query import Query
from docmind.wording import _

_PASTE_S = 0.03  # a line that follows another so soon was pasted with it


class Lines:
    """Entries from standard input.

    On a terminal with line editing, a history that is only in memory, and pasted lines as one entry; from a pipe one
    line each, without a prompt.
    """

    def __init__(self, prompt: str) -> None:
        self.is_asking = is_asking()
        self._prompt = prompt if self.is_asking else ""
        self._editing: Any = None
        if self.is_asking:
            _take_any_bytes()
            self._editing = _editing()

    def read(self) -> str | None:
        """Return the next entry that is not empty, trimmed; None at the end.

        Ctrl-C is a `KeyboardInterrupt`.
        """
        while True:
            try:
                entry = self._typed() if self.is_asking else _piped()
            except EOFError:
                return None
            # A space before a slash makes an entry a question: only the end is trimmed.
            if entry.strip():
                return entry.rstrip()

    def recall(self, entries: Iterable[str]) -> None:
        """Replace the history with these entries, oldest first."""
        if self._editing is not None:
            self._editing.clear_history()
            for entry in entries:
                self._editing.add_history(entry)

    def _typed(self) -> str:
        entry = input(self._prompt)
        if self._editing is None or _is_libedit(self._editing):
            while _is_more():
                entry += "\n" + input()
        return entry


def _piped() -> str:
    line = sys.stdin.buffer.readline() if sys.stdin is not None else b""
    if not line:
        raise EOFError
    return line.decode("utf-8", "replace").removeprefix("\ufeff").rstrip("\r\n")


def _editing() -> Any:
    """Return the `readline` module where this system has it."""
    try:
        import readline
    except ImportError:  # Windows; its console has its own line editing
        return None
    if not _is_libedit(readline):
        readline.parse_and_bind("set enable-bracketed-paste on")  # Python turns it off
        readline.parse_and_bind("tab: tab-insert")  # completion of file names is of no use here
    return readline


def _is_libedit(readline: Any) -> bool:
    return "libedit" in (readline.__doc__ or "")


def _is_more() -> bool:
    return os.name == "posix" and bool(select.select([sys.stdin], [], [], _PASTE_S)[0])


def _take_any_bytes() -> None:
    """Read bytes that are not valid text as question marks instead of failing."""
    reconfigure = getattr(sys.stdin, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")


_EARLIER = 1  # turns that are shown again where a conversation is continued
_HISTORY = 200


@command()
@click.option("--thread", help="Continue this conversation (id, its beginning, or title), or begin one with this id.")
@asking("turn", without=("web",))
@json_option
def chat(thread: str | None, given: dict[str, Any], as_json: bool) -> None:
    """Ask your documents in a conversation. /help lists what else you can type."""
    with opened() as desk:
        query = query_of(desk, given)
        chosen = None if thread is None else thread_to_ask_in(desk, thread, collections=query.filters.collections)
        position = ChatPosition(desk, chosen, filters=query.filters)
        code = Chat(position, query, as_json).run()
    if code:
        sys.exit(code)


class Chat:
    """Reads entries and runs each, until they end. Not thread-safe."""

    def __init__(self, position: ChatPosition, query: Query, as_json: bool) -> None:
        """Ask in `position`; `query` has no words: it says how each question is asked."""
        self._position, self._query, self._as_json = position, query, as_json
        self._lines = Lines("> " if sys.stdout.isatty() and not as_json else "")
        self._code = 0
        self._is_first = True

    def run(self) -> int:
        """Run the conversation; return 0, or the exit code of a pipe's first failed entry."""
        self._position.desk.models.warm()  # looks for models while the first question is typed
        self._position.desk.start_models()
        self._greet()
        is_warned = False
        while not self._position.is_over:
            try:
                entry = self._lines.read()
            except KeyboardInterrupt:
                if is_warned or not self._lines.is_asking:
                    raise
                is_warned = True
                click.echo("\n" + _("Press Ctrl-C again, or Ctrl-D, to end the conversation."), err=True)
                continue
            is_warned = False
            if entry is None:
                if self._lines.is_asking:
                    click.echo(err=True)
                break
            try:
                self._take(entry)
            except DocMindError as error:
                self._refuse(error)
        if self._lines.is_asking and self._position.thread is not None and not self._as_json:
            told = _("Continue later: docmind chat --thread {id}")
            click.echo(told.format(id=self._position.thread.thread_id), err=True)
        return 0 if self._lines.is_asking else self._code

    def _take(self, entry: str) -> None:
        if not entry.startswith("/"):
            self._ask(entry.strip())
            return
        name, _space, rest = entry[1:].partition(" ")
        found = COMMANDS.get(name.lower())
        if found is None:
            raise ConfigError(
                _("There is no command /{name}.").format(name=name),
                hint=_("/help lists the commands. Put a space before the slash to ask a question."),
            )
        result = found.do(self._position, rest.strip())
        if result.question:
            self._ask(result.question, web=True)
        elif result.run_id:
            self._follow(result.run_id)
        elif self._as_json:
            print_json({"command": f"/{name.lower()}", **result.data})
        else:
            self._print(result)

    def _print(self, result: CommandResult) -> None:
        if result.write is not None:
            result.write()
        if result.is_moved:
            self._recall()

    def _ask(self, question: str, *, web: bool = False) -> None:
        mode = web_mode(self._position.desk, self._query.mode) if web else self._query.mode
        conversations = self._position.desk.conversations
        if self._is_first:  # what was found since the start, or now; later it is known
            ask_about_model(self._position.desk, is_quiet=self._as_json)
            self._is_first = False
        if self._position.thread is None:
            self._position.thread = conversations.create(collections=self._query.filters.collections)
        thread_id = self._position.thread.thread_id
        query = replace(self._query, question=question, mode=mode, web=web)
        run_id = conversations.start(query, thread_id=thread_id)
        self._follow(run_id)

    def _follow(self, run_id: str) -> None:
        stream = Stream(is_silent=self._as_json)
        try:
            now = follow(self._position.desk, run_id, stream.show)
        except BaseException:
            stream.break_off()
            raise
        if now.turn is None:
            stream.break_off()
            raise DocMindError(now.message, hint=f"{now.hint} {_('/retry asks it again.')}".strip())
        self._position.turn = now.turn
        self._print_turn(now.turn, now.thread_id, stream)
        if now.state == "stopped" and not self._lines.is_asking:  # Ctrl-C ends the whole pipe
            raise KeyboardInterrupt

    def _print_turn(self, turn: Turn, thread_id: str, stream: Stream) -> None:
        if self._as_json:
            stream.break_off()
            print_json(turn_data(turn) | {"thread_id": thread_id})
            return
        stream.end(turn)
        if turn.answer is not None and turn.answer.is_missing and turn.state == "answered":
            print_narrow(self._position.desk.documents.all(), turn.filters)
        if self._lines.is_asking:
            for fact in turn.memories:
                click.echo(_("Save this to memory? /remember {fact}").format(fact=one_line(fact)), err=True)
            click.echo()

    def _refuse(self, error: DocMindError) -> None:
        self._code = self._code or error.exit_code
        if self._as_json:
            print_json({"error": type(error).__name__, "message": str(error), "hint": error.hint})
        else:
            click.echo(f"docmind: {inert(str(error))}\n{inert(error.hint)}", err=True)

    def _greet(self) -> None:
        if not self._lines.is_asking or self._as_json:
            return
        thread = self._position.thread
        if thread is None or thread.checkpoint_id is None:
            click.echo(_("Ask your documents. Type /examples for ideas, /help for commands, Ctrl-D to end.") + "\n")
            return
        told = _("{title}  (/help for commands, Ctrl-D to end)")
        click.echo(told.format(title=inert(thread.title) or thread.thread_id) + "\n")
        self._recall()
        turns = self._position.turns(_EARLIER)
        print_turns(turns)
        if turns and turns[-1].state == "unanswered":
            click.echo(_("/retry answers it.") + "\n")

    def _recall(self) -> None:
        if self._lines.is_asking:
            self._lines.recall(turn.question for turn in self._position.turns(_HISTORY))
