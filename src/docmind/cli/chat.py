"""`docmind chat`: a conversation in the terminal, or with a script through a pipe.

Input is one entry of a user at a time, or lines from a pipe; `COMMANDS` are `/back`, `/fork`, `/sources` and others.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docmind.cli.ask import Stream, ask_about_model, follow, thread_to_ask_in, web_mode
from docmind.cli.context import filtered, filters_of, is_asking, json_option, opened, plain, print_json
from docmind.cli.output import inert, one_line, short, tell_narrow, tell_sources, tell_turns, tree, turn_data
from docmind.cli.threads import FORMATS, exported_to, tell_threads
from docmind.errors import ConfigError, DocMindError, NotFoundError
from docmind.records.answers import Source
from docmind.records.conversations import Mode, Thread, Turn
from docmind.records.search import Filters

if TYPE_CHECKING:
    from docmind.application import DocMind


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


@dataclass
class Here:
    """The position of a terminal conversation. `turn` is the last one that was shown."""

    desk: DocMind
    thread: Thread | None = None
    turn: Turn | None = None
    is_over: bool = False

    def begun(self) -> Thread:
        """Return the conversation, as it is now.

        Raises `NotFoundError` where nothing was asked yet.
        """
        if self.thread is None:
            raise NotFoundError("Nothing was asked in this conversation yet.", hint="Ask a question first.")
        self.thread = self.desk.conversations.thread(self.thread.thread_id)
        return self.thread

    def turns(self, last: int) -> tuple[Turn, ...]:
        """Return the last turns up to its current point, oldest first; none before the first."""
        if self.thread is None:
            return ()
        turns = self.desk.conversations.view(self.thread.thread_id, last=last).turns
        self.turn = turns[-1] if turns else None
        return turns

    def sources(self) -> tuple[Source, ...]:
        """Return the sources of the last answer."""
        turn = self.turn or next(reversed(self.turns(1)), None)
        return turn.answer.sources if turn is not None and turn.answer is not None else ()


@dataclass(frozen=True)
class Said:
    """The result of a command as data and text, or a run to follow, or a question to ask."""

    data: dict[str, Any] = field(default_factory=dict)
    tell: Callable[[], None] | None = None
    is_moved: bool = False
    run_id: str = ""
    question: str = ""


@dataclass(frozen=True)
class Command:
    usage: str
    help: str
    do: Callable[[Here, str], Said]


def _back(here: Here, rest: str) -> Said:
    thread, count = here.begun(), _count(rest, least=1)
    to = _before(here, count)
    here.thread = here.desk.conversations.resume(thread.thread_id, to)
    return _moved(here, f"Back by {count}.")


def _fork(here: Here, rest: str) -> Said:
    thread, count = here.begun(), _count(rest, least=0)
    to = _before(here, count) if count else thread.checkpoint_id
    if to is None:
        raise NotFoundError("There is nothing to branch from yet.", hint="Ask a question first.")
    here.thread = here.desk.conversations.fork(thread.thread_id, to)
    return _moved(here, "A new branch.")


def _threads(here: Here, rest: str) -> Said:
    if not rest:
        found = here.desk.conversations.threads()
        current = here.thread.thread_id if here.thread else None
        tell = partial(tell_threads, found, nothing="There are no conversations yet.", current=current)
        return Said({"threads": [plain(thread) for thread in found]}, tell)
    thread = here.desk.conversations.find_thread(rest)
    if thread.deleted_at_ms is not None:
        raise NotFoundError(
            "This conversation was deleted.", hint=f"Bring it back: docmind threads restore {thread.thread_id}"
        )
    here.thread, here.turn = thread, None
    return _moved(here, f"{inert(thread.title) or thread.thread_id}.")


def _new(here: Here, rest: str) -> Said:
    _nothing_more(rest, "/new")
    here.thread = here.turn = None
    return Said({"thread_id": None}, partial(click.echo, "A new conversation begins with the next question."))


def _export(here: Here, rest: str) -> Said:
    thread = here.begun()
    first, _, file = rest.partition(" ")
    form, file = (first, file.strip()) if first.lower() in FORMATS else ("markdown", rest)
    path = exported_to(here.desk, thread, form.lower(), Path(file).expanduser() if file else None)
    return Said({"file": str(path)}, partial(click.echo, f"Wrote {inert(str(path))}"))


def _sources(here: Here, rest: str) -> Said:
    _nothing_more(rest, "/sources")
    sources = here.sources()

    def tell() -> None:
        if not sources:
            click.echo("There is no answer with sources yet.")
        tell_sources(sources, quotes=True)

    return Said({"sources": [plain(source) for source in sources]}, tell)


def _open(here: Here, rest: str) -> Said:
    number = _count(rest, least=1)
    source = next((source for source in here.sources() if source.n == number), None)
    if source is None:
        raise NotFoundError(f"The last answer has no source {number}.", hint="/sources shows them.")
    try:
        text, lost = here.desk.page(source.doc_id, source.page_no).text, ""
    except NotFoundError:  # deleted since; the quote is kept with the answer
        text, lost = source.quote, " (deleted since; this was quoted)"
    head = f"{inert(source.document)}, page {source.page_no}{lost}"
    data = {"document": source.document, "doc_id": source.doc_id, "page_no": source.page_no, "text": text}
    return Said(data, partial(click.echo, f"{head}\n\n{inert(text, keep_lines=True)}\n"))


def _retry(here: Here, rest: str) -> Said:
    _nothing_more(rest, "/retry")
    return Said(run_id=here.desk.conversations.retry(here.begun().thread_id))


def _tree(here: Here, rest: str) -> Said:
    _nothing_more(rest, "/tree")
    thread = here.begun()
    runs = here.desk.conversations.view(thread.thread_id, last=1).runs
    lines = "\n".join(tree(runs, thread.checkpoint_id))
    return Said({"runs": [plain(run) for run in runs]}, partial(click.echo, lines))


def _remember(here: Here, rest: str) -> Said:
    if not rest:
        raise ConfigError("What shall be remembered?", hint="/remember TEXT")
    memory = here.desk.memories.add(rest)
    return Said({"memory": plain(memory)}, partial(click.echo, f"Remembered: {one_line(memory.text)}"))


def _instructions(here: Here, rest: str) -> Said:
    conversations = here.desk.conversations
    first, _, others = rest.partition(" ")
    is_for_all = first == "--all"
    text = others.strip() if is_for_all else rest
    if text and not is_for_all and here.thread is None:
        here.thread = conversations.create()
    thread_id = here.thread.thread_id if here.thread else None
    if text:
        kept = "" if text.casefold() == "none" else text
        conversations.instruct(kept, None if is_for_all else thread_id)
    everywhere, here_only = conversations.instructions(), conversations.instructions(thread_id) if thread_id else ""

    def tell() -> None:
        for where, kept in (("In every conversation", everywhere), ("In this conversation", here_only)):
            click.echo(f"{where}: {inert(kept, keep_lines=True) or 'none'}")

    return Said({"all": everywhere, "thread": here_only}, tell)


def _web(here: Here, rest: str) -> Said:
    if not rest:
        raise ConfigError("What shall be asked?", hint="/web QUESTION lets this one question search the web too.")
    return Said(question=rest)


def _examples(here: Here, rest: str) -> Said:
    _nothing_more(rest, "/examples")
    found = here.desk.examples(timeout_s=_PATIENCE_S) or ()

    def tell() -> None:
        for example in found:
            click.echo(f"  {one_line(example)}")
        if not found:
            click.echo("There are no documents to ask yet. Add some: docmind add FILE…")

    return Said({"examples": list(found)}, tell)


def _help(_here: Here, _rest: str) -> Said:
    width = max(len(command.usage) for command in COMMANDS.values())
    lines = [f"{command.usage:{width}}  {command.help}" for command in COMMANDS.values()]
    commands = [{"usage": command.usage, "help": command.help} for command in COMMANDS.values()]
    return Said({"commands": commands}, partial(click.echo, "\n".join(lines)))


def _quit(here: Here, _rest: str) -> Said:
    here.is_over = True
    return Said({})


COMMANDS = {
    "back": Command("/back [N]", "go back N questions (1) and go on from there", _back),
    "fork": Command("/fork [N]", "branch before the last N questions (1; 0: here)", _fork),
    "tree": Command("/tree", "all branches of this conversation", _tree),
    "retry": Command("/retry", "answer the last question again", _retry),
    "sources": Command("/sources", "the sources of the last answer, with what is quoted", _sources),
    "open": Command("/open N", "the text of the page that source N is on", _open),
    "threads": Command("/threads [ID]", "all conversations, or go to one", _threads),
    "new": Command("/new", "begin a new conversation", _new),
    "export": Command("/export [md|pdf] [FILE]", "write this conversation to a file", _export),
    "remember": Command("/remember TEXT", "remember this in every conversation", _remember),
    "instructions": Command(
        "/instructions [--all] [TEXT]", "how to answer here, or everywhere (none: no longer)", _instructions
    ),
    "web": Command("/web QUESTION", "ask, and let this one question search the web", _web),
    "examples": Command("/examples", "questions that your documents answer", _examples),
    "help": Command("/help", "this list", _help),
    "quit": Command("/quit", "end; so does Ctrl-D", _quit),
}


def _moved(here: Here, what: str) -> Said:
    assert here.thread is not None
    here.turn = None
    last = next(reversed(here.turns(1)), None)
    after = f"“{one_line(last.question, 100)}”" if last is not None else "nothing: this is its beginning"
    data = {"thread_id": here.thread.thread_id, "checkpoint_id": here.thread.checkpoint_id}
    told = f"{what} What comes next follows {after} ({short(here.thread.checkpoint_id)})."
    return Said(data, partial(click.echo, told), is_moved=True)


def _before(here: Here, count: int) -> str:
    """Return the checkpoint before the last `count` turns.

    Raises `NotFoundError` where there are fewer.
    """
    turns = here.turns(count)
    if len(turns) < count:
        raise NotFoundError(f"There are only {len(turns)} questions to go back.", hint="/tree shows them all.")
    before = turns[0].before_id
    if before is None:
        raise NotFoundError("Nothing stands before the first question.", hint="/new begins a new conversation.")
    return before


def _count(rest: str, *, least: int) -> int:
    """Parse a whole number of at least `least`; 1 for an empty text. Raises `ConfigError`."""
    number = int(rest) if rest.isascii() and rest.isdigit() and len(rest) < 10 else 1 if not rest else -1
    if number < least:
        raise ConfigError(f"{rest!r} cannot be used here.", hint=f"Type a whole number, {least} or more.")
    return number


def _nothing_more(rest: str, name: str) -> None:
    if rest:
        raise ConfigError(f"{name} takes nothing more.", hint=f"Type {name} alone.")


_EARLIER = 1  # turns that are shown again where a conversation is continued
_HISTORY = 200
_PATIENCE_S = 30.0  # for example questions


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
    """Reads entries and runs each, until they end. Not thread-safe."""

    def __init__(self, here: Here, filters: Filters, mode: Mode | None, as_json: bool) -> None:
        self._here, self._filters, self._as_json = here, filters, as_json
        self._mode: Mode | None = mode
        self._lines = Lines("> " if sys.stdout.isatty() and not as_json else "")
        self._code = 0
        self._is_first = True

    def run(self) -> int:
        """Run the conversation; return 0, or the exit code of a pipe's first failed entry."""
        self._here.desk.models.warm()  # looks for models while the first question is typed
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
        if self._is_first:  # what was found since the start, or now; later it is known
            ask_about_model(self._here.desk, is_quiet=self._as_json)
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
        if now.state == "stopped" and not self._lines.is_asking:  # Ctrl-C ends the whole pipe
            raise KeyboardInterrupt

    def _tell_turn(self, turn: Turn, thread_id: str, stream: Stream) -> None:
        if self._as_json:
            print_json(turn_data(turn) | {"thread_id": thread_id})
            return
        stream.end(turn)
        if turn.answer is not None and turn.answer.outcome == "not found" and turn.state == "answered":
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
            click.echo("Ask your documents. /examples suggests questions, /help shows all commands, Ctrl-D ends.\n")
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
