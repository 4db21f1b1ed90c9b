"""The commands of `docmind chat`: `/back`, `/fork`, `/sources` and others, each as data and as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docmind.cli.context import plain
from docmind.cli.output import inert, one_line, page_of, print_sources, short, tree
from docmind.cli.threads import FORMATS, exported_to, print_threads
from docmind.errors import ConfigError, NotFoundError
from docmind.records.answers import Source
from docmind.records.conversations import Thread, Turn
from docmind.records.search import Filters
from docmind.wording import N_, _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind


_PATIENCE_S = 30.0  # for example questions


@dataclass
class ChatPosition:
    """The position of a terminal conversation.

    `turn` is the last one that was shown, `filters` are those of the start.
    """

    desk: DocMind
    thread: Thread | None = None
    turn: Turn | None = None
    is_over: bool = False
    filters: Filters = Filters()

    def scope(self) -> Filters:
        """Return the filters under which the next question is asked."""
        return self.desk.conversations.scope(self.thread.thread_id, self.filters) if self.thread else self.filters

    def begun(self) -> Thread:
        """Return the conversation, as it is now.

        Raises `NotFoundError` where nothing was asked yet.
        """
        if self.thread is None:
            raise NotFoundError(_("This conversation is still empty."), hint=_("Ask a question first."))
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
class CommandResult:
    """The result of a command as data and text, or a run to follow, or a question to ask."""

    data: dict[str, Any] = field(default_factory=dict)
    write: Callable[[], None] | None = None
    is_moved: bool = False
    run_id: str = ""
    question: str = ""


@dataclass(frozen=True)
class Command:
    usage: str
    help: str
    do: Callable[[ChatPosition, str], CommandResult]


def _back(position: ChatPosition, rest: str) -> CommandResult:
    thread, count = position.begun(), _count(rest, least=1)
    to = _before(position, count)
    position.thread = position.desk.conversations.resume(thread.thread_id, to)
    went = ngettext("Went back {n} question.", "Went back {n} questions.", count)
    return _moved(position, went.format(n=count))


def _fork(position: ChatPosition, rest: str) -> CommandResult:
    thread, count = position.begun(), _count(rest, least=0)
    to = _before(position, count) if count else thread.checkpoint_id
    if to is None:
        raise NotFoundError(_("This conversation is still empty."), hint=_("Ask a question first."))
    position.thread = position.desk.conversations.fork(thread.thread_id, to)
    return _moved(position, _("New branch."))


def _threads(position: ChatPosition, rest: str) -> CommandResult:
    if not rest:
        found = position.desk.conversations.threads()
        current = position.thread.thread_id if position.thread else None
        write = partial(print_threads, found, nothing=_("There are no conversations yet."), current=current)
        return CommandResult({"threads": [plain(thread) for thread in found]}, write)
    thread = position.desk.conversations.find_thread(rest)
    if thread.deleted_at_ms is not None:
        raise NotFoundError(
            _("This conversation was deleted."),
            hint=_("Bring it back: docmind threads restore {id}").format(id=thread.thread_id),
        )
    position.thread, position.turn = thread, None
    return _moved(position, f"{inert(thread.title) or thread.thread_id}.")


def _new(position: ChatPosition, rest: str) -> CommandResult:
    _nothing_more(rest, "/new")
    position.thread = position.turn = None
    return CommandResult({"thread_id": None}, partial(click.echo, _("Your next question begins a new conversation.")))


def _export(position: ChatPosition, rest: str) -> CommandResult:
    thread = position.begun()
    first, _space, file = rest.partition(" ")
    form, file = (first, file.strip()) if first.lower() in FORMATS else ("markdown", rest)
    path = exported_to(position.desk, thread, form.lower(), Path(file).expanduser() if file else None)
    return CommandResult({"file": str(path)}, partial(click.echo, _("Saved to {file}").format(file=inert(str(path)))))


def _sources(position: ChatPosition, rest: str) -> CommandResult:
    _nothing_more(rest, "/sources")
    sources = position.sources()

    def write() -> None:
        if not sources:
            click.echo(_("There is no answer with sources yet."))
        print_sources(sources, quotes=True)

    return CommandResult({"sources": [plain(source) for source in sources]}, write)


def _open(position: ChatPosition, rest: str) -> CommandResult:
    number = _count(rest, least=1)
    source = next((source for source in position.sources() if source.n == number), None)
    if source is None:
        raise NotFoundError(
            _("The last answer has no source {number}.").format(number=number), hint=_("/sources lists its sources.")
        )
    try:
        text, lost = position.desk.documents.page(source.doc_id, source.page_no).text, ""
    except NotFoundError:  # deleted since; the quote is kept with the answer
        lost = _("This document has been deleted. The quote is kept from when it was cited.")
        if source.gone == "binned":
            lost = _("This document is in the bin. Restore it to see the page.")
        elif not source.quote:
            lost = _("This document has been erased, and its quotes with it.")
        text, lost = source.quote, "\n" + lost
    head = f"{page_of(source.placed, source.page_no)}{lost}"
    data = {"document": source.document, "doc_id": source.doc_id, "page_no": source.page_no, "text": text}
    return CommandResult(data, partial(click.echo, f"{head}\n\n{inert(text, keep_lines=True)}\n"))


def _retry(position: ChatPosition, rest: str) -> CommandResult:
    _nothing_more(rest, "/retry")
    thread = position.begun()
    if thread.checkpoint_id is None:
        raise NotFoundError(_("This conversation is still empty."), hint=_("Ask a question first."))
    return CommandResult(run_id=position.desk.conversations.retry(thread.thread_id, thread.checkpoint_id))


def _tree(position: ChatPosition, rest: str) -> CommandResult:
    _nothing_more(rest, "/tree")
    thread = position.begun()
    runs = position.desk.conversations.view(thread.thread_id, last=1).runs
    lines = "\n".join(tree(runs, thread.checkpoint_id))
    return CommandResult({"runs": [plain(run) for run in runs]}, partial(click.echo, lines))


def _remember(position: ChatPosition, rest: str) -> CommandResult:
    if not rest:
        raise ConfigError(_("The text to remember is missing."), hint=_("Type /remember TEXT."))
    memory = position.desk.memories.add(rest)
    return CommandResult(
        {"memory": plain(memory)}, partial(click.echo, _("Saved to memory: {text}").format(text=one_line(memory.text)))
    )


def _instructions(position: ChatPosition, rest: str) -> CommandResult:
    conversations = position.desk.conversations
    first, _space, others = rest.partition(" ")
    is_for_all = first == "--all"
    text = others.strip() if is_for_all else rest
    if text and not is_for_all and position.thread is None:
        position.thread = conversations.create()
    thread_id = position.thread.thread_id if position.thread else None
    if text:
        kept = "" if text.casefold() == "none" else text
        conversations.instruct(kept, None if is_for_all else thread_id)
    everywhere, here_only = conversations.instructions(), conversations.instructions(thread_id) if thread_id else ""

    def write() -> None:
        for where, kept in ((_("In all conversations"), everywhere), (_("In this conversation"), here_only)):
            click.echo(f"{where}: {inert(kept, keep_lines=True) or _('none')}")

    return CommandResult({"all": everywhere, "thread": here_only}, write)


def _web(position: ChatPosition, rest: str) -> CommandResult:
    if not rest:
        raise ConfigError(_("The question is missing."), hint=_("Type /web QUESTION to search the web too."))
    return CommandResult(question=rest)


def _examples(position: ChatPosition, rest: str) -> CommandResult:
    _nothing_more(rest, "/examples")
    found = position.desk.examples.wait(_PATIENCE_S, position.scope()) or ()

    def write() -> None:
        for example in found:
            click.echo(f"  {one_line(example)}")
        if not found:
            click.echo(_("Your library is empty. Add documents: docmind add FILE…"))

    return CommandResult({"examples": list(found)}, write)


def _help(_position: ChatPosition, _rest: str) -> CommandResult:
    width = max(len(command.usage) for command in COMMANDS.values())
    lines = [f"{command.usage:{width}}  {_(command.help)}" for command in COMMANDS.values()]
    commands = [{"usage": command.usage, "help": command.help} for command in COMMANDS.values()]
    return CommandResult({"commands": commands}, partial(click.echo, "\n".join(lines)))


def _quit(position: ChatPosition, _rest: str) -> CommandResult:
    position.is_over = True
    return CommandResult({})


COMMANDS = {
    "back": Command("/back [N]", N_("go back N questions (default 1)"), _back),
    "fork": Command("/fork [N]", N_("new branch before the last N questions (default 1; 0: here)"), _fork),
    "tree": Command("/tree", N_("show all branches of this conversation"), _tree),
    "retry": Command("/retry", N_("answer the last question again"), _retry),
    "sources": Command("/sources", N_("show the sources of the last answer, with quotes"), _sources),
    "open": Command("/open N", N_("show the page of source N"), _open),
    "threads": Command("/threads [ID]", N_("list conversations, or open one"), _threads),
    "new": Command("/new", N_("begin a new conversation"), _new),
    "export": Command("/export [md|pdf] [FILE]", N_("save this conversation to a file"), _export),
    "remember": Command("/remember TEXT", N_("save a memory for all conversations"), _remember),
    "instructions": Command(
        "/instructions [--all] [TEXT]",
        N_("how to answer here, or in all conversations; `none` to clear"),
        _instructions,
    ),
    "web": Command("/web QUESTION", N_("ask, and search the web too"), _web),
    "examples": Command("/examples", N_("show questions that your documents answer"), _examples),
    "help": Command("/help", N_("show this list"), _help),
    "quit": Command("/quit", N_("end (or press Ctrl-D)"), _quit),
}


def _moved(position: ChatPosition, what: str) -> CommandResult:
    assert position.thread is not None
    position.turn = None
    last = next(reversed(position.turns(1)), None)
    data = {"thread_id": position.thread.thread_id, "checkpoint_id": position.thread.checkpoint_id}
    if last is None:
        told = _("{what} You are at the beginning.").format(what=what)
    else:
        named = {"question": one_line(last.question, 100), "checkpoint": short(position.thread.checkpoint_id)}
        told = _("{what} You are after “{question}” ({checkpoint}).").format(what=what, **named)
    return CommandResult(data, partial(click.echo, told), is_moved=True)


def _before(position: ChatPosition, count: int) -> str:
    """Return the checkpoint before the last `count` turns.

    Raises `NotFoundError` where there are fewer.
    """
    turns = position.turns(count)
    if len(turns) < count:
        told = ngettext("You can only go back {n} question.", "You can only go back {n} questions.", len(turns))
        raise NotFoundError(told.format(n=len(turns)), hint=_("/tree shows them all."))
    before = turns[0].before_id
    if before is None:
        raise NotFoundError(_("This is the first question."), hint=_("/new begins a new conversation."))
    return before


def _count(rest: str, *, least: int) -> int:
    """Parse a whole number of at least `least`; 1 for an empty text. Raises `ConfigError`."""
    number = int(rest) if rest.isascii() and rest.isdigit() and len(rest) < 10 else 1 if not rest else -1
    if number < least:
        raise ConfigError(
            _("{value!r} isn't a number that fits here.").format(value=rest),
            hint=_("Type a whole number, {least} or more.").format(least=least),
        )
    return number


def _nothing_more(rest: str, name: str) -> None:
    if rest:
        raise ConfigError(
            _("{command} doesn't take anything after it.").format(command=name),
            hint=_("Type {command} alone.").format(command=name),
        )
