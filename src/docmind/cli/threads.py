"""Commands about conversations: `docmind threads list`, `show`, `fork` and others.

The file of an export is written whole or not at all, never over others unasked.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from docmind.cli.ask import checkpoint_named
from docmind.cli.context import confirm, is_asking, json_option, opened, plain, print_json
from docmind.cli.help import group
from docmind.cli.output import inert, marked, print_sources, print_turns, short, tree, turn_data, when
from docmind.errors import CancelledError, ConfigError, DiskFullError, NotFoundError
from docmind.records.conversations import Comparison, Exported, ExportFormat, Thread
from docmind.storage import disk_error, replacing
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.application import DocMind


FORMATS = {"markdown": "markdown", "md": "markdown", "pdf": "pdf"}
_UNSAFE = re.compile(r"[^\w.()-]+")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)  # device names on Windows
_LONGEST = 80
_TAKEN = N_("Choose another name, or overwrite the file with `docmind threads export --force`.")


def file_name_of(exported: Exported, title: str) -> str:
    """Return a file name from the title, valid on every file system, with the export's suffix."""
    ending = Path(_UNSAFE.sub("_", exported.name)).suffix[:8]
    stem = _UNSAFE.sub(" ", title).strip(" .-")[:_LONGEST].strip(" .-")
    if not stem or _RESERVED.match(stem):
        stem = f"conversation {stem}".strip()
    while len(stem.encode()) > _LONGEST * 2:
        stem = stem[:-1]
    return stem + ending


def write_whole(path: Path, data: bytes, *, over: bool) -> None:
    """Write a temporary file beside `path`, then rename it.

    An existing file stays until the new one is whole.

    Raises `ConfigError` where there is a file already and `over` is not set, or where it cannot be written;
    `DiskFullError` where there is no room.
    """
    if not over and os.path.lexists(path):
        raise ConfigError(_("{file} already exists.").format(file=path), hint=_(_TAKEN))
    try:
        with replacing(path, replace=over, is_rename_synced=False) as file:
            file.write(data)
    except FileExistsError:
        raise ConfigError(_("{file} already exists.").format(file=path), hint=_(_TAKEN)) from None
    except OSError as error:
        told = _("{file} can't be written: {reason}.").format(file=path, reason=error.strerror)
        failure = ConfigError(told, hint=_("Choose another file."))
        full = DiskFullError(_("The disk is too full to write {file}; nothing was written.").format(file=path))
        raise disk_error(error, failure, full) from error


_SIGNS = {"same": " ", "only_left": "-", "only_right": "+"}


@group()
def threads() -> None:
    """List, show, branch, compare, export and delete conversations."""


@threads.command("list")
@click.option("--search", default="", help="Only conversations with this in their title or text.")
@click.option("--archived", is_flag=True, help="Archived conversations.")
@click.option("--deleted", is_flag=True, help="Deleted conversations, which can be restored.")
@json_option
def list_(search: str, archived: bool, deleted: bool, as_json: bool) -> None:
    """List the conversations, pinned ones first, then newest first."""
    with opened() as desk:
        found = desk.conversations.threads(search, deleted=deleted, archived=archived)
    if as_json:
        print_json({"threads": [plain(thread) for thread in found]})
        return
    print_threads(
        found,
        nothing=_("No conversations match.") if search or deleted or archived else _("There are no conversations yet."),
    )


@threads.command()
@click.argument("thread")
@click.option("--at", help="As it was at this checkpoint.")
@click.option("--tree", "as_tree", is_flag=True, help="Show the tree of questions in place of the answers.")
@json_option
def show(thread: str, at: str | None, as_tree: bool, as_json: bool) -> None:
    """Show a conversation with its answers and sources. THREAD is an id, its beginning, or a title."""
    with opened() as desk:
        found = desk.conversations.find_thread(thread)
        view = desk.conversations.view(found.thread_id, _at(desk, found, at))
    if as_json:
        turns = [turn_data(turn) for turn in view.turns]
        runs = [plain(run) for run in view.runs]
        print_json({"thread": plain(view.thread), "turns": turns, "runs": runs, "earlier": view.earlier})
        return
    click.echo(f"{_titled(view.thread)}  ({view.thread.thread_id})\n")
    if as_tree:
        for line in tree(view.runs, view.thread.checkpoint_id):
            click.echo(line)
    else:
        print_turns(view.turns)


@threads.command()
@click.argument("thread")
@click.option("--at", help="The checkpoint to branch from (default: the latest).")
@json_option
def fork(thread: str, at: str | None, as_json: bool) -> None:
    """Begin a new branch of a conversation. What came after the checkpoint is kept."""
    with opened() as desk:
        found = desk.conversations.find_thread(thread)
        forked = desk.conversations.fork(found.thread_id, _at(desk, found, at) or _head(found))
    _print_where(forked, N_("{title}: new branch at {checkpoint}."), as_json)


@threads.command()
@click.argument("thread")
@click.option("--at", required=True, help="The checkpoint to continue from.")
@json_option
def resume(thread: str, at: str, as_json: bool) -> None:
    """Go back to a checkpoint of a conversation. What came after it is kept."""
    with opened() as desk:
        found = desk.conversations.find_thread(thread)
        resumed = desk.conversations.resume(found.thread_id, checkpoint_named(desk, found.thread_id, at))
    _print_where(resumed, N_("{title} continues at {checkpoint}."), as_json)


@threads.command()
@click.argument("thread")
@click.argument("title")
@json_option
def rename(thread: str, title: str, as_json: bool) -> None:
    """Rename a conversation."""
    with opened() as desk:
        renamed = desk.conversations.rename(desk.conversations.find_thread(thread).thread_id, title)
    _print(renamed, _("Renamed to “{title}”.").format(title=_titled(renamed)), as_json)


@threads.command()
@click.argument("thread")
@click.option("--undo", is_flag=True, help="Unpin it.")
@json_option
def pin(thread: str, undo: bool, as_json: bool) -> None:
    """Keep THREAD at the top of the list."""
    with opened() as desk:
        pinned = desk.conversations.pin(desk.conversations.find_thread(thread).thread_id, not undo)
    _print(
        pinned,
        (_("{title} is not pinned any more.") if undo else _("{title} is pinned.")).format(title=_titled(pinned)),
        as_json,
    )


@threads.command()
@click.argument("thread")
@click.argument("collections", nargs=-1)
@json_option
def bind(thread: str, collections: tuple[str, ...], as_json: bool) -> None:
    """Ask the questions of THREAD in these collections from now on; without any, in all documents."""
    with opened() as desk:
        chosen = [desk.library.collection(name) for name in collections]
        found = desk.conversations.find_thread(thread).thread_id
        bound = desk.conversations.bind(found, [one.collection_id for one in chosen])
    names = inert(", ".join(one.name for one in chosen))
    _print(bound, f"{_titled(bound)} is asked in {names or 'all documents'}.", as_json)


@threads.command()
@click.argument("thread")
@click.option("--undo", is_flag=True, help="Move it back to the list.")
@json_option
def archive(thread: str, undo: bool, as_json: bool) -> None:
    """Move THREAD from the list to the archive."""
    with opened() as desk:
        archived = desk.conversations.archive(desk.conversations.find_thread(thread).thread_id, not undo)
    _print(
        archived,
        (_("{title} is back in the list.") if undo else _("{title} is in the archive.")).format(
            title=_titled(archived)
        ),
        as_json,
    )


@threads.command()
@click.argument("thread")
@json_option
def delete(thread: str, as_json: bool) -> None:
    """Delete a conversation. `docmind threads restore` brings it back."""
    with opened() as desk:
        deleted = desk.conversations.bin(desk.conversations.find_thread(thread).thread_id)
    told = _("“{title}” was deleted. Bring it back: docmind threads restore {id}")
    _print(deleted, told.format(title=_titled(deleted), id=deleted.thread_id), as_json)


@threads.command()
@click.argument("thread")
@json_option
def restore(thread: str, as_json: bool) -> None:
    """Restore a deleted conversation."""
    with opened() as desk:
        restored = desk.conversations.restore(desk.conversations.find_thread(thread).thread_id)
    _print(restored, _("“{title}” was restored.").format(title=_titled(restored)), as_json)


@threads.command()
@click.argument("thread")
@click.argument("left")
@click.argument("right")
@json_option
def compare(thread: str, left: str, right: str, as_json: bool) -> None:
    """Compare two answers of a conversation, at the checkpoints LEFT and RIGHT."""
    with opened() as desk:
        thread_id = desk.conversations.find_thread(thread).thread_id
        compared = desk.conversations.compare(
            thread_id, checkpoint_named(desk, thread_id, left), checkpoint_named(desk, thread_id, right)
        )
    if as_json:
        print_json(plain(compared) | {"left": turn_data(compared.left), "right": turn_data(compared.right)})
        return
    _print_comparison(compared)


@threads.command()
@click.argument("thread")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="markdown", help="markdown: a zip file.")
@click.option("--output", type=click.Path(path_type=Path), help="The file to write, or a folder for it.")
@click.option("--at", help="As it was at this checkpoint.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@json_option
def export(thread: str, form: str, output: Path | None, at: str | None, force: bool, as_json: bool) -> None:
    """Export a conversation to a file: Markdown with page images (a zip), or PDF."""
    with opened() as desk:
        found = desk.conversations.find_thread(thread)
        path = exported_to(desk, found, form, output, at=_at(desk, found, at), over=force)
    if as_json:
        print_json({"file": str(path), "format": FORMATS[form], "thread_id": found.thread_id})
    else:
        click.echo(_("Saved to {file}").format(file=inert(str(path))))


@threads.command()
@click.argument("names", metavar="THREAD…", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
def purge(names: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Delete conversations permanently, with their memories."""
    with opened() as desk:
        found = {thread.thread_id: thread for thread in map(desk.conversations.find_thread, names)}.values()
        asked = _("Delete {names} permanently?").format(names=", ".join(map(_titled, found)))
        confirm(asked, refusal=_("Nothing was deleted."), yes=yes)
        receipts = [desk.conversations.erase_thread(thread.thread_id) for thread in found]
    if as_json:
        print_json({"purged": [plain(receipt) for receipt in receipts]})
        return
    for receipt in receipts:
        title = inert(receipt.title) or receipt.thread_id
        told = _("“{title}” was permanently deleted.").format(title=title)
        memories = _("Memories deleted with it: {n}.").format(n=receipt.memories) if receipt.memories else ""
        click.echo(f"{told} {memories}".rstrip())


def exported_to(
    desk: DocMind, thread: Thread, form: str, output: Path | None, *, at: str | None = None, over: bool = False
) -> Path:
    """Export a conversation to `output`, a file or a folder; ask before overwriting.

    Without `output` the file is written to the current folder.
    """
    exported = desk.conversations.export(thread.thread_id, cast("ExportFormat", FORMATS[form]), at)
    path = output if output is not None else Path()
    if path.is_dir():
        path = path / file_name_of(exported, thread.title)
    if not over and path.is_file() and is_asking():
        if not click.confirm(_("{file} already exists. Overwrite it?").format(file=inert(str(path))), err=True):
            raise CancelledError(_("Nothing was written."), hint=_("Choose another name."))
        over = True
    write_whole(path, exported.data, over=over)
    return path


def print_threads(found: tuple[Thread, ...], *, nothing: str, current: str | None = None) -> None:
    """Print a line per conversation: the start of its id, its last use, its title."""
    if not found:
        click.echo(nothing)
    for thread in found:
        mark = "*" if thread.thread_id == current else " "
        click.echo(f"{mark} {_shown_id(thread):12}  {when(thread.updated_at_ms)}  {_titled(thread)}")


def _shown_id(thread: Thread) -> str:
    """Shorten a generated id to its beginning; an id that a user chose is returned whole."""
    return thread.thread_id[:12] if re.fullmatch("[0-9a-f]{32}", thread.thread_id) else thread.thread_id


def _print_comparison(compared: Comparison) -> None:
    for sign, turn in (("-", compared.left), ("+", compared.right)):
        click.echo(f"{sign * 3} {short(turn.checkpoint_id)}  {inert(turn.question)}")
    click.echo()
    for kind, sentence in compared.changes:
        click.echo(f"{_SIGNS[kind]} {' '.join(inert(sentence).split())}")
    for sign, turn in (("-", compared.left), ("+", compared.right)):
        if turn.answer is not None and turn.answer.sources:
            click.echo(f"\n{sign * 3} " + _("sources"))
            print_sources(turn.answer.sources)
        elif turn.answer is not None:
            click.echo(f"\n{sign * 3} {marked(turn.answer)}")


def _print_where(thread: Thread, sentence: str, as_json: bool) -> None:
    named = _(sentence).format(title=_titled(thread), checkpoint=short(thread.checkpoint_id))
    _print(thread, named, as_json)


def _print(thread: Thread, sentence: str, as_json: bool) -> None:
    if as_json:
        print_json(plain(thread))
    else:
        click.echo(sentence)


def _titled(thread: Thread) -> str:
    return inert(thread.title) or thread.thread_id


def _at(desk: DocMind, thread: Thread, name: str | None) -> str | None:
    return None if name is None else checkpoint_named(desk, thread.thread_id, name)


def _head(thread: Thread) -> str:
    if thread.checkpoint_id is None:
        raise NotFoundError(_("This conversation is still empty."), hint=_("Ask a question first."))
    return thread.checkpoint_id
