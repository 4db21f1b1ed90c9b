"""Commands about the queue: files that were submitted and are not read yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docmind.cli.context import is_asking, json_option, opened, plain, print_json, reached
from docmind.cli.documents import ask_password, exit_with, telling
from docmind.cli.help import group
from docmind.cli.output import inert, progress_bar
from docmind.errors import NotFoundError, PasswordNeededError
from docmind.records.documents import UploadInfo, UploadState
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.client import Client

_UNREAD: tuple[UploadState, ...] = ("waiting", "reading", "paused")
_files = click.argument("files", nargs=-1)


@group()
def queue() -> None:
    """Manage files that aren't read yet: waiting, paused, locked, failed or cancelled.

    FILES are numbers or names from `docmind queue list`. Without any, a command takes all files that it can.
    """


@queue.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the files in the queue, and why files failed."""
    from docmind.client import Client

    with reached() as desk:
        files, is_ours = desk.queue.uploads(), not isinstance(desk, Client)
    if as_json:
        print_json({"files": [plain(info) for info in files]})
        return
    if not files:
        click.echo(_("The queue is empty."))
    for info in files:
        counts = {"done": f"{info.pages_done:,}", "pages": f"{info.pages:,}"}
        pages = " " + _("(page {done} of {pages})").format(**counts) if info.pages else ""
        # Nothing is read while this command has the library; another process may have it, and read.
        state = "waiting" if info.state == "reading" and is_ours else info.state
        click.echo(f"{info.upload_id:>5}  {_(state):9}  {inert(info.document)}{pages}")
        if info.message:
            click.echo(f"       {inert(info.message)} {inert(info.hint)}".rstrip())


@queue.command()
@_files
@json_option
def resume(files: tuple[str, ...], as_json: bool) -> None:
    """Read waiting and paused files, each from where it stopped."""
    _read(files, _UNREAD, (), as_json=as_json)


@queue.command()
@_files
@json_option
def retry(files: tuple[str, ...], as_json: bool) -> None:
    """Read failed and cancelled files again."""
    _read(files, ("failed", "cancelled"), (), as_json=as_json)


@queue.command()
@_files
@click.option(
    "--password-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file of passwords, one per line. Each is tried.",
)
@json_option
def unlock(files: tuple[str, ...], password_file: Path | None, as_json: bool) -> None:
    """Unlock files with their passwords, and read them. Passwords aren't kept."""
    from docmind.cli.documents import read_passwords

    passwords = read_passwords(password_file) if password_file else []
    if not passwords and not is_asking():
        raise PasswordNeededError(_("A password is needed."), hint=_("Give it with --password-file FILE."))
    _read(files, ("locked",), passwords, as_json=as_json)


@queue.command()
@_files
@json_option
def pause(files: tuple[str, ...], as_json: bool) -> None:
    """Keep waiting files unread until they are resumed."""
    with reached() as desk:
        ids = desk.queue.pause(_chosen(desk, files, ("waiting", "reading")))
        _print(desk.queue.uploads(), ids, N_("Paused: {name}"), as_json=as_json)


@queue.command()
@_files
@json_option
def cancel(files: tuple[str, ...], as_json: bool) -> None:
    """Take waiting and paused files out of the queue. `docmind queue retry` puts them back."""
    with reached() as desk:
        ids = desk.queue.cancel(_chosen(desk, files, _UNREAD))
        _print(desk.queue.uploads(), ids, N_("Cancelled: {name}"), as_json=as_json)


@queue.command()
@_files
@json_option
def remove(files: tuple[str, ...], as_json: bool) -> None:
    """Forget failed, locked and cancelled files. Pages that were read stay."""
    with reached() as desk:
        ids = _chosen(desk, files, ("failed", "locked", "cancelled"))
        _print(desk.queue.remove(ids), ids, N_("Removed: {name}"), as_json=as_json)


def _read(files: Sequence[str], states: tuple[UploadState, ...], passwords: Sequence[str], *, as_json: bool) -> None:
    """Read the chosen files and report what became of each."""
    from docmind.cli.documents import Adding, pausing

    with opened() as desk:
        desk.queue.adopt()
        ids = _chosen(desk, files, states)
        desk.queue.resume(ids)
        desk.queue.retry(ids)
        adding = Adding(desk, passwords, ask_password if is_asking() else None)
        with telling(adding, as_json=as_json), pausing(adding.pause), progress_bar(quiet=as_json) as show:
            adding.read(ids, show)
    if not ids and not as_json:
        click.echo(_("The queue has no such file."), err=True)
    exit_with(adding.results)


def _chosen(desk: DocMind | Client, files: Iterable[str], states: tuple[UploadState, ...]) -> list[int]:
    """Return ids of files in these states, by number or name; all where none is named."""
    there = desk.queue.uploads(*states)
    chosen: list[int] = []
    for name in files:
        found = [info.upload_id for info in there if name in (str(info.upload_id), info.document)]
        if not found:
            raise NotFoundError(
                _("This can't be done with {name!r}: the queue has no such file in the right state.").format(name=name),
                hint=_("Run `docmind queue list` to see the files and their states."),
            )
        chosen += found
    return list(dict.fromkeys(chosen)) if files else [info.upload_id for info in there]


def _print(files: Iterable[UploadInfo], ids: Sequence[int], what: str, *, as_json: bool) -> None:
    changed = [info for info in files if info.upload_id in ids]
    if as_json:
        print_json({"files": [plain(info) for info in changed]})
        return
    for info in changed:
        click.echo(_(what).format(name=inert(info.document)))
    if not changed:
        click.echo(_("The queue has no such file."), err=True)
