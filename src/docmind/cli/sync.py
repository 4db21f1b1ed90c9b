"""Commands about folders whose files are documents: add, list, run, remove, and what to do with files that are gone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docmind.cli.context import json_option, opened, plain, print_json
from docmind.cli.documents import exit_with, pausing
from docmind.cli.help import group
from docmind.cli.output import counted_files, inert, print_result, progress_bar
from docmind.errors import FolderError, NotFoundError
from docmind.records.documents import AddResult, FolderInfo, SyncResult
from docmind.wording import _, number_text

if TYPE_CHECKING:
    from docmind.application import DocMind


@group()
def sync() -> None:
    """Follow folders: what is new or changed in them is read, what is gone is shown.

    While the app runs it looks at watched folders every 15 seconds; `docmind sync run` looks at once.
    """


@sync.command("add")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--include", multiple=True, help="Only files whose name or path matches, such as *.pdf; may be repeated.")
@click.option("--exclude", multiple=True, help="Not these files or folders, such as drafts; may be repeated.")
@click.option("--no-watch", is_flag=True, help="Look only when docmind sync run is called.")
@json_option
def add(folder: Path, include: tuple[str, ...], exclude: tuple[str, ...], no_watch: bool, as_json: bool) -> None:
    """Follow FOLDER, and read what is in it."""
    with opened(creates=True) as desk:
        info = desk.folders.add(folder, include=include, exclude=exclude, is_watched=not no_watch)
        _run(desk, [info], as_json=as_json)


@sync.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the folders, and the documents whose file is gone."""
    with opened() as desk:
        folders, gone = desk.folders.all(), desk.folders.gone()
    if as_json:
        print_json({"folders": [plain(info) for info in folders], "gone": [plain(file) for file in gone]})
        return
    if not folders:
        click.echo(_("No folder is followed. Follow one: docmind sync add FOLDER"))
    for info in folders:
        watched = _("watched") if info.is_watched else _("not watched")
        click.echo(f"{info.folder_id:>3}  {counted_files(info.files):>12}  {watched:11}  {inert(info.path)}")
        if info.message:
            click.echo(f"     {inert(info.message)}")
    for file in gone:
        click.echo(f"{_('gone')}  {file.doc_id[:12]}  {inert(file.document)}")
    if gone:
        click.echo(
            _("Delete them with docmind sync gone --delete, or keep them with docmind sync gone --keep."), err=True
        )


@sync.command("run")
@click.argument("folders", nargs=-1)
@json_option
def run(folders: tuple[str, ...], as_json: bool) -> None:
    """Look at FOLDERS (numbers or paths; without any, all), and read what is new or changed."""
    with opened() as desk:
        chosen = [_find(desk, name) for name in folders] or list(desk.folders.all())
        _run(desk, chosen, as_json=as_json)


@sync.command("remove")
@click.argument("folders", nargs=-1, required=True)
@json_option
def remove(folders: tuple[str, ...], as_json: bool) -> None:
    """Follow FOLDERS no longer. Their documents stay."""
    with opened() as desk:
        removed = [desk.folders.remove(_find(desk, name).folder_id) for name in folders]
    if as_json:
        print_json({"removed": [plain(info) for info in removed]})
        return
    for info in removed:
        click.echo(_("{path} is not followed any more; its documents stay.").format(path=inert(info.path)))


@sync.command("gone")
@click.argument("docs", nargs=-1)
@click.option("--delete", "what", flag_value="delete", help="Delete these documents.")
@click.option("--keep", "what", flag_value="keep", help="Keep them, as if you had added them by hand.")
@json_option
def gone(docs: tuple[str, ...], what: str | None, as_json: bool) -> None:
    """Decide about documents whose file is gone: DOCS (ids or names), or all of them."""
    with opened() as desk:
        files = [file for file in desk.folders.gone() if not docs or _is_named(file.doc_id, file.document, docs)]
        ids = [file.doc_id for file in files]
        if what == "delete":
            desk.folders.bin_gone(ids)
        elif what == "keep":
            desk.folders.keep(ids)
    if as_json:
        print_json({"gone": [plain(file) for file in files], "done": what})
        return
    for file in files:
        done = {"delete": _("deleted"), "keep": _("kept")}.get(what or "", _("gone"))
        click.echo(f"{done:8} {file.doc_id[:12]}  {inert(file.document)}")
    if not files:
        click.echo(_("No file is gone."))


def _run(desk: DocMind, folders: Sequence[FolderInfo], *, as_json: bool) -> None:
    """Look at folders and read what was handed in; a folder that cannot be looked at does not stop the others."""
    results: list[tuple[FolderInfo, SyncResult]] = []
    failed: FolderError | None = None
    read: list[AddResult] = []
    with pausing(desk.queue.pause):
        for info in folders:
            try:
                results.append((info, desk.folders.sync(info.folder_id)))
            except FolderError as error:
                failed = error
                if not as_json:
                    click.echo(f"{inert(str(error))} {inert(error.hint)}", err=True)
        if any(result.added or result.changed for _, result in results):
            with progress_bar(quiet=as_json) as show:
                read = desk.queue.finish(show)
    if as_json:
        told = [{"path": info.path, **plain(result)} for info, result in results]
        print_json({"folders": told, "files": [plain(result) for result in read]})
    else:
        for result in read:
            if result.status == "refused":
                print_result(result)
        for info, result in results:
            click.echo(f"{inert(info.path)}: {_counts(result)}")
            if result.message:
                click.echo(f"  {inert(result.message)}")
    if failed is not None and not results:
        raise failed
    exit_with(read)


def _counts(result: SyncResult) -> str:
    told = [
        f"{number_text(count)} {word}"
        for count, word in (
            (result.added, _("added")),
            (result.changed, _("changed")),
            (result.renamed, _("renamed")),
            (result.gone, _("gone")),
            (result.unchanged, _("unchanged")),
            (result.skipped, _("of other kinds")),
            (result.unread, _("could not be read")),
        )
        if count
    ]
    return ", ".join(told) or _("no files")


def _find(desk: DocMind, name: str) -> FolderInfo:
    """Return a folder by its number or path. Raises `NotFoundError`."""
    try:
        path = str(Path(name).expanduser().resolve())
    except (OSError, RuntimeError, ValueError):
        path = name
    for info in desk.folders.all():
        if name == str(info.folder_id) or path == info.path:
            return info
    raise NotFoundError(
        _("No folder {name} is followed.").format(name=name), hint=_("docmind sync list shows the folders.")
    )


def _is_named(doc_id: str, document: str, docs: Sequence[str]) -> bool:
    return any(name == document or (len(name) >= 4 and doc_id.startswith(name)) for name in docs)
