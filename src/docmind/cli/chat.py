"""`docmind chat`: a conversation in the terminal, or one that a script leads through a pipe."""

from __future__ import annotations

import sys

import click

from docmind.cli.asking import web_mode
from docmind.cli.following import follow
from docmind.cli.lines import Lines
from docmind.cli.naming import thread_to_ask_in
from docmind.cli.opening import filtered, filters_of, json_option, opened, print_json
from docmind.cli.slash import COMMANDS, Here, Said
from docmind.cli.stream import Stream
from docmind.cli.telling import inert, tell_narrow
from docmind.cli.turns import one_line, tell_turns, turn_data
from docmind.conversation import Mode, Turn
from docmind.errors import ConfigError, DocMindError
from docmind.schema import Filters

_EARLIER = 1  # turns that are shown again where a conversation is gone on with
_HISTORY = 200


@click.command()
@click.option("--thread", help="Go on with this conversation (id, its beginning, or title), or begin one with this id.")
@click.option("--mode", type=click.Choice(["standard", "agent"]), help="How questions are worked on.")
@filtered
@json_option
def chat(
    thread: str | None,
    mode: Mode | None,
    docs: tuple[str, ...],
    languages: tuple[str, ...],
    tags: tuple[str, ...],
    as_json: bool,
) -> None:
    """Talk with your documents; /help shows what can be done beside asking."""
    with opened() as desk:
        filters = filters_of(desk, docs, languages, tags)
        here = Here(desk, thread_to_ask_in(desk, thread) if thread is not None else None)
        code = Chat(here, filters, mode, as_json).run()
    if code:
        sys.exit(code)


class Chat:
    """Reads entries until they end, and does what each says. Of one thread only."""

    def __init__(self, here: Here, filters: Filters, mode: Mode | None, as_json: bool) -> None:
        self._here, self._filters, self._as_json = here, filters, as_json
        self._mode: Mode | None = mode
        self._lines = Lines("> " if sys.stdout.isatty() and not as_json else "")
        self._code = 0
        self._is_first = True

    def run(self) -> int:
        """The exit code: 0, or that of the first entry of a pipe that failed."""
        self._here.desk.models.warm()  # looks around while the first question is typed
        self._greet()
        is_warned = False
        while not self._here.is_over:
            try:
                entry = self._lines.read()
            except KeyboardInterrupt:
                if is_warned or not self._lines.is_asking:
                    raise
                is_warned = True
                click.echo("\nCtrl-C once more, or Ctrl-D, ends the conversation.", err=True)
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
        if self._lines.is_asking and self._here.thread is not None and not self._as_json:
            click.echo(f"Go on later: docmind chat --thread {self._here.thread.thread_id}", err=True)
        return 0 if self._lines.is_asking else self._code

    def _take(self, entry: str) -> None:
        if not entry.startswith("/"):
            self._ask(entry.strip())
            return
        name, _, rest = entry[1:].partition(" ")
        command = COMMANDS.get(name.lower())
        if command is None:
            raise ConfigError(
                f"There is no command /{name}.", hint="/help shows them; a space before the slash makes it a question."
            )
        said = command.do(self._here, rest.strip())
        if said.question:
            self._ask(said.question, web=True)
        elif said.run_id:
            self._follow(said.run_id)
        elif self._as_json:
            print_json({"command": f"/{name.lower()}", **said.data})
        else:
            self._tell(said)

    def _tell(self, said: Said) -> None:
        if said.tell is not None:
            said.tell()
        if said.is_moved:
            self._recall()

    def _ask(self, question: str, *, web: bool = False) -> None:
        mode = web_mode(self._mode) if web else self._mode
        conversations = self._here.desk.conversations
        if self._is_first:  # what was found since the beginning, or now; later it is known
            self._here.desk.models.list()
            self._is_first = False
        if self._here.thread is None:
            self._here.thread = conversations.create()
        thread_id = self._here.thread.thread_id
        run_id = conversations.start(question, thread_id=thread_id, filters=self._filters, mode=mode, web=web)
        self._follow(run_id)

    def _follow(self, run_id: str) -> None:
        stream = Stream(is_live=False if self._as_json else None)
        try:
            now = follow(self._here.desk, run_id, stream.show)
        except BaseException:
            stream.break_off()
            raise
        if now.turn is None:
            stream.break_off()
            raise DocMindError(now.message, hint=f"{now.hint} /retry asks it again.".strip())
        self._here.turn = now.turn
        self._tell_turn(now.turn, now.thread_id, stream)
        if now.state == "stopped" and not self._lines.is_asking:  # Ctrl-C is meant for the whole pipe
            raise KeyboardInterrupt

    def _tell_turn(self, turn: Turn, thread_id: str, stream: Stream) -> None:
        if self._as_json:
            print_json(turn_data(turn) | {"thread_id": thread_id})
            return
        stream.end(turn)
        if turn.answer is not None and not turn.answer.found and turn.state == "answered":
            tell_narrow(self._here.desk.documents(), self._filters)
        if self._lines.is_asking:
            for fact in turn.memories:
                click.echo(f"To be remembered? /remember {one_line(fact)}", err=True)
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
        thread = self._here.thread
        if thread is None or thread.checkpoint_id is None:
            click.echo("Ask your documents. /help shows what else there is, Ctrl-D ends.\n")
            return
        click.echo(f"{inert(thread.title) or thread.thread_id}  (/help shows what can be done, Ctrl-D ends)\n")
        self._recall()
        turns = self._here.turns(_EARLIER)
        tell_turns(turns)
        if turns and turns[-1].state == "unanswered":
            click.echo("/retry answers it.\n")

    def _recall(self) -> None:
        if self._lines.is_asking:
            self._lines.recall(turn.question for turn in self._here.turns(_HISTORY))
