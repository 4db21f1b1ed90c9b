"""`docmind ask`: one question, alone or in a conversation.

The quotes are printed at once. What a language model writes is streamed as it comes, then replaced by the checked text;
Ctrl-C stops the model, not the program, and the quotes stay.
Conversations and checkpoints are named by their ids, parts of ids, or titles.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from docmind.cli.context import (
    check_text_model,
    is_asking,
    json_option,
    print_json,
    print_starting,
    reached,
)
from docmind.cli.help import command
from docmind.cli.options import asking
from docmind.cli.output import (
    inert,
    marked,
    one_line,
    page_of,
    print_answer,
    print_narrow,
    print_notes,
    print_turn,
    short,
    turn_data,
)
from docmind.client import query_of
from docmind.errors import CancelledError, ConfigError, NotFoundError
from docmind.records.conversations import Mode, RunProgress, Thread, Turn, closest
from docmind.records.query import Query
from docmind.records.search import Degraded, Filters
from docmind.rich_text import readable
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.client import Client


_TAB = "    "


class _Elapsed:
    """The line on stderr that says how long a model has been writing, once a second. Ends with `end`."""

    def __init__(self) -> None:
        self._is_over, self._started = threading.Event(), time.monotonic()
        self._thread = threading.Thread(target=self._tell, name="elapsed", daemon=True)
        self._thread.start()

    def _tell(self) -> None:
        while not self._is_over.wait(1.0):
            seconds = int(time.monotonic() - self._started)
            self._write("\r" + _("The model is writing… {seconds} s").format(seconds=seconds))

    def end(self) -> None:
        """Erase the line."""
        self._is_over.set()
        self._thread.join()
        self._write("\r" + " " * (shutil.get_terminal_size()[0] - 1) + "\r")

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


class Stream:
    """Shows one answer: its quotes at once, then what a model writes. Not thread-safe.

    All output is inert: control characters are replaced one by one, so a sequence that is split over two pieces is as
    harmless as a whole one. On a terminal that supports it, the text is erased once it is checked and printed again
    with its markers; where it is taller than the screen, the checked text follows it.
    """

    def __init__(self, *, is_live: bool | None = None, is_silent: bool = False) -> None:
        """Set up; with `is_silent`, nothing is printed on stdout before the end: that is JSON."""
        self._is_live = not is_silent and (sys.stdout.isatty() if is_live is None else is_live)
        self._is_silent = is_silent
        self._quotes: Turn | None = None
        self._elapsed: _Elapsed | None = None
        self._can_wipe = self._is_live and os.name == "posix" and os.environ.get("TERM", "dumb") != "dumb"
        self._text = ""  # as received
        self._shown = ""  # as printed on the screen
        self._stage = ""

    def show(self, now: RunProgress) -> None:
        """Print what is new since the last call."""
        if now.turn is not None and not now.is_over and self._quotes is None:
            self._show_quotes(now.turn)
        if not self._is_live:
            return
        is_summarised = now.stage == "summarising"  # its text is of the parts: not the summary yet
        if is_summarised or now.text == self._text:
            stage = _doing(now)
            if (is_summarised or not now.text) and stage != self._stage and self._can_wipe:
                self._stage = stage
                line = one_line(stage, shutil.get_terminal_size()[0] - 2).rstrip("…")  # only one row is erased
                self._write(f"\r\x1b[K{line}…" if stage else "\r\x1b[K")
            return
        shown = _on_screen(readable(now.text))
        if not self._shown or not shown.startswith(self._shown):  # it begins, or begins again with other words
            self._clear()
        piece = shown[len(self._shown) :]
        self._text = now.text
        self._shown += piece
        self._write(piece)

    def _show_quotes(self, turn: Turn) -> None:
        """Print the quotes, which a model is to complete."""
        self._quotes = turn
        if self._is_live:
            self._clear()
        if not self._is_silent:
            print_answer(turn)
            sys.stdout.flush()
        if not self._is_live and sys.stderr.isatty():
            self._elapsed = _Elapsed()

    def end(self, turn: Turn) -> None:
        """Print the answer as it was checked, and its sources; of quotes that stand already, only the notes."""
        written = self._shown
        self._end_elapsed()
        is_clear = self._clear()
        if self._quotes is not None and (turn.answer is None or not turn.answer.model):
            print_notes(turn)
            return
        if self._quotes is not None:
            click.echo("\n" + _("The model's answer:"))
        if is_clear:
            print_turn(turn)
            return
        checked = _on_screen(marked(turn.answer)) if turn.answer is not None else ""
        is_new = checked.strip() != written.strip()
        if is_new and checked:
            self._write("\n" + _("With sources:") + "\n")
        print_turn(turn, text=is_new)

    def break_off(self) -> None:
        """Keep what was printed, and move to a new line."""
        self._end_elapsed()
        if self._shown:
            self._write("\n")
        else:
            self._clear()

    def _end_elapsed(self) -> None:
        if self._elapsed is not None:
            self._elapsed.end()
            self._elapsed = None

    def _clear(self) -> bool:
        """Erase what was printed and return True; else move to a new line and return False."""
        width, height = shutil.get_terminal_size()
        rows = rows_of(self._shown, width) if self._shown else 1
        is_clear = not self._shown or (self._can_wipe and rows < height)
        if not is_clear:
            self._write("\n")
        elif self._can_wipe:
            self._write("\r" + (f"\x1b[{rows - 1}A" if rows > 1 else "") + "\x1b[J")
        self._shown = self._text = self._stage = ""
        return is_clear

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def _doing(now: RunProgress) -> str:
    """Return what a run does while there is no answer to print: its stage, or the pages that the model reads."""
    if now.stage == "summarising" and now.parts_total:
        return _("summarizing, {done} of {total} parts").format(done=now.parts_done, total=now.parts_total)
    if now.stage == "writing" and now.pages:
        pages = "; ".join(page_of(hit.placed, hit.page_no) for hit in now.pages)
        return _("{model} is reading {pages}").format(model=now.model.partition("/")[2] or now.model, pages=pages)
    is_waiting = now.stage == "waiting" and now.turn is not None  # for a model; its quotes stand above
    return _(now.stage) if now.stage and not is_waiting else ""


def rows_of(text: str, width: int) -> int:
    """Return how many rows of a terminal `width` cells wide a text takes."""
    from rich.cells import cell_len

    rows = 1
    column = 0
    for char in text:
        if char == "\n":
            rows, column = rows + 1, 0
            continue
        cells = cell_len(char)
        if column + cells > width:
            rows, column = rows + 1, 0
        column += cells
    return rows


def _on_screen(text: str) -> str:
    return inert(text, keep_lines=True).replace("\t", _TAB)


NEW = "new"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHORTEST = 4
_WHOLE = 36  # characters of a whole id; the conversation checks whether it has it


def thread_to_ask_in(
    desk: DocMind | Client, name: str, *, is_begun: bool = False, collections: Sequence[str] = ()
) -> Thread:
    """Return the conversation of this name; create it, bound to these collections, where there is none.

    A new conversation has the name as its id and is reported on stderr.

    With `is_begun`, none is created. Raises `NotFoundError` for a deleted one, where several have this name, and for
    what cannot be an id.
    """
    if name == NEW and not is_begun:
        return desk.conversations.create(collections=collections)
    try:
        thread = desk.conversations.find_thread(name)
    except NotFoundError:
        if is_begun or _is_called(desk, name):  # several have this name
            raise
        if not _ID.fullmatch(name):
            raise NotFoundError(
                _("There is no conversation {name!r}, and it can't be the id of a new one.").format(
                    name=inert(name)[:64]
                ),
                hint=_("An id has 1 to 64 of the characters A-Z a-z 0-9 _ -; `--thread new` makes one."),
            ) from None
        click.echo(_("New conversation: {name}").format(name=name), err=True)
        return desk.conversations.create(thread_id=name, collections=collections)
    if thread.deleted_at_ms is not None:
        raise NotFoundError(
            _("This conversation was deleted."),
            hint=_("Bring it back: docmind threads restore {id}").format(id=thread.thread_id),
        )
    return thread


def checkpoint_named(desk: DocMind | Client, thread_id: str, name: str) -> str:
    """Return the checkpoint of this id, or of the only id that begins or ends so.

    Raises `NotFoundError`.
    """
    view = desk.conversations.view(thread_id, last=1)
    known = {run.checkpoint_id for run in view.runs}
    if view.thread.checkpoint_id:
        known.add(view.thread.checkpoint_id)
    if name in known or len(name) >= _WHOLE:
        return name
    fitting = [id_ for id_ in known if len(name) >= _SHORTEST and (id_.startswith(name) or id_.endswith(name))]
    if len(fitting) == 1:
        return fitting[0]
    shown = inert(name)[:64]
    if fitting:
        some = ", ".join(sorted(map(short, fitting))[:5])
        told = _("{n} checkpoints begin or end with {name}: {some}.").format(n=len(fitting), name=shown, some=some)
        raise NotFoundError(told, hint=_("Give more characters of it."))
    raise NotFoundError(
        _("This conversation has no checkpoint {name!r}.").format(name=shown),
        hint=_("Run `docmind threads show {id} --tree` to see its checkpoints.").format(id=thread_id),
    )


def _is_called(desk: DocMind | Client, name: str) -> bool:
    """Tell whether any conversation has this title, or an id that begins so."""
    known = (*desk.conversations.threads(), *desk.conversations.threads(deleted=True))
    return any(name == thread.title or (len(name) >= 4 and thread.thread_id.startswith(name)) for thread in known)


_LOOK_S = 0.02


def follow(desk: DocMind | Client, run_id: str, show: Callable[[RunProgress], None]) -> RunProgress:
    """Show the run until it is over, and return its end.

    A second Ctrl-C is a `KeyboardInterrupt`.
    """
    with stoppable(desk, show) as look:
        while True:
            now = desk.conversations.run(run_id)
            look(now)
            if now.is_over:
                return now
            time.sleep(_LOOK_S)


@contextmanager
def stoppable(desk: DocMind | Client, show: Callable[[RunProgress], None]) -> Iterator[Callable[[RunProgress], None]]:
    """Yield a `show` that records its run; the first Ctrl-C stops that run, even while silent.

    No work is interrupted in the middle: only a Ctrl-C before there is a run, and a second one, raise
    `KeyboardInterrupt`.
    """
    running: list[str] = []
    is_stopped = threading.Event()

    def look(now: RunProgress) -> None:
        running[:] = [now.run_id]
        show(now)

    def stop(_number: int, _frame: FrameType | None) -> None:
        if not running or is_stopped.is_set():
            raise KeyboardInterrupt
        is_stopped.set()
        # Not here: the interrupted code may hold the lock that this takes.
        threading.Thread(target=desk.conversations.stop, args=(running[0],), name="stop", daemon=True).start()

    before = signal.signal(signal.SIGINT, stop)
    try:
        with _no_echo():
            yield look
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _no_echo() -> Iterator[None]:
    """Turn echo off, so that keys pressed meanwhile do not show in the answer.

    They wait for the next question.
    """
    if sys.stdin is None or not sys.stdin.isatty() or not hasattr(os, "tcgetpgrp"):
        yield
        return
    import termios

    terminal = sys.stdin.fileno()
    if not _is_ours(terminal):
        yield
        return
    before = termios.tcgetattr(terminal)
    quiet = termios.tcgetattr(terminal)
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        if _is_ours(terminal):
            termios.tcsetattr(terminal, termios.TCSANOW, before)


def _is_ours(terminal: int) -> bool:
    """Tell whether this process is in the foreground.

    The system halts a background process that changes its terminal.
    """
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:  # not the controlling terminal of this process
        return False


@command()
@click.argument("question")
@click.option(
    "--thread",
    help="Continue this conversation (id, its beginning, or title), or begin one with this id; `new`: a new id.",
)
@click.option("--at", help="Ask at this checkpoint of the conversation. What came after it is kept.")
@asking("turn")
@click.option("--quotes", is_flag=True, help="Answer with quotes only, without a language model.")
@json_option
def ask(question: str, thread: str | None, at: str | None, given: dict[str, Any], quotes: bool, as_json: bool) -> None:
    """Answer a question from your documents, each sentence with its page. Use --thread for a conversation."""
    if at is not None and thread is None:
        raise ConfigError(_("--at needs a conversation."), hint=_("Name it with --thread."))
    Query(question).check_for("turn")  # before the library is opened
    with reached() as desk:
        query = query_of(desk, given | {"question": question})
        query.check_for("turn")
        if quotes and (thread is not None or query.mode is not None or query.web):
            raise ConfigError(_("--quotes doesn't work with --thread, --mode and --web."), hint=_("Leave them out."))
        query = replace(query, mode=web_mode(desk, query.mode)) if query.web else query
        print_starting(desk, query.lists)
        stream = Stream(is_silent=as_json)
        if not quotes:
            ask_about_model(desk, is_quiet=as_json)  # a fresh process has not looked for models yet
        is_plain = thread is None and (query.mode or desk.settings.info("agent.mode").value) == "standard"
        if quotes or (is_plain and desk.models.list().chosen is None):
            turn = _quoted(desk, query, () if quotes else desk.models.degraded())
        else:
            with stoppable(desk, stream.show) as look:
                thread_id, checkpoint_id = _place(desk, thread, at, query.filters)
                try:
                    turn = desk.conversations.ask(
                        query,
                        thread_id=thread_id,
                        checkpoint_id=checkpoint_id,
                        on_progress=look,
                    )
                except BaseException:
                    stream.break_off()
                    raise
        is_found = turn.answer is not None and not turn.answer.is_missing
        if turn.answer is not None and not is_found:
            check_text_model(desk, turn.answer.degraded)
        documents = () if is_found else desk.documents.all()  # to suggest what is there instead
    if as_json:
        stream.break_off()
        print_json(turn_data(turn))
    else:
        stream.end(turn)
        if not is_found:
            print_narrow(documents, query.filters)
        if turn.answer is not None and turn.answer.thread_id:
            told = _("Conversation {id}, checkpoint {checkpoint}")
            named = {"id": turn.answer.thread_id, "checkpoint": short(turn.checkpoint_id)}
            click.echo(told.format(**named), err=True)
    if turn.state == "stopped" and (turn.answer is None or not turn.answer.answer):
        sys.exit(CancelledError.exit_code)


def ask_about_model(desk: DocMind | Client, *, is_quiet: bool = False) -> None:
    """Ask once whether a language model that was found may write answers; the answer is kept in the vault.

    Where nobody can be asked, or with `is_quiet`, nothing is sent to it, and stderr says so.
    """
    info = desk.models.list().waiting
    if info is None:
        return
    where = _("{model} at {address}").format(model=inert(info.name), address=inert(info.url))
    if is_quiet or not is_asking():
        told = _(
            "A language model was found but isn't used yet: {where}. "
            "Use it with `docmind models use {model}`, or decline with `docmind models use none`."
        )
        click.echo(told.format(where=where, model=inert(info.name)), err=True)
        return
    click.echo(_("A language model was found: {where}.").format(where=where), err=True)
    may = click.confirm(_("Send it your questions and text from your pages, so that it writes the answers?"), err=True)
    desk.models.choose(info if may else None)


def web_mode(desk: DocMind | Client, mode: Mode | None) -> Mode:
    """Return the mode of a question that may search the web.

    Raises `ConfigError` where web search is impossible.
    """
    if desk.settings.info("web.provider").value == "off":
        raise ConfigError(_("Web search is off."), hint=_("Run: docmind settings set web.provider searxng"))
    if mode == "standard":
        raise ConfigError(_("Only agent mode searches the web."), hint=_("Use --mode agent, or leave --mode out."))
    return "agent"


def _place(
    desk: DocMind | Client, thread: str | None, at: str | None, filters: Filters
) -> tuple[str | None, str | None]:
    """Return the conversation and the checkpoint to ask at; a new conversation is bound to the filter's collections."""
    if thread is None:
        return None, None
    found = thread_to_ask_in(desk, thread, is_begun=at is not None, collections=filters.collections)
    thread_id = found.thread_id
    return thread_id, checkpoint_named(desk, thread_id, at) if at is not None else None


def _quoted(desk: DocMind | Client, query: Query, degraded: tuple[Degraded, ...]) -> Turn:
    """Answer with quotes as a conversation without a model would, without loading LangGraph."""
    asked_at_ms, question = int(time.time() * 1000), query.question
    query = replace(query, mode=None)
    answer = desk.ask(query)
    answer = replace(answer, degraded=(*answer.degraded, *degraded))
    nearest = () if not answer.is_missing else closest(desk.search(query).hits)
    meant = question if not answer.is_searched else desk.memories.expand(question)
    return Turn(
        "", None, question, asked_at_ms, "answered", answer=answer, asked_as="" if meant == question else meant,
        filters=query.filters, lists=query.lists, nearest=nearest,
    )  # fmt: skip
