"""Commands about snapshots: take, list, show, compare, check and activate them, remove old ones, go back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from docmind.cli.context import confirm, is_asking, json_option, plain, print_json, reached
from docmind.cli.help import Number, group
from docmind.cli.output import counted_documents, counted_pages, inert, terminal_bar, when
from docmind.config import Settings
from docmind.errors import DamagedError
from docmind.records.snapshots import KeptDatabase, SnapshotDifference, SnapshotInfo
from docmind.wording import N_, _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.client import Client

_ID = 8  # characters of an id that are shown
_MB = 1e6
_NOW = "now"
_CHANGES = (N_("name"), N_("title"), N_("tags"), N_("language"), N_("collections"), N_("text"), N_("text model"))

_snapshot = click.argument("snapshot")


@group()
def snapshot() -> None:
    """Keep states of the library, to compare, to ask, and to go back to.

    A snapshot holds the documents outside the bin, their names, tags and collections, and the settings. Conversations
    and memories are not part of it.
    """


@snapshot.command()
@click.argument("title", required=False, default="")
@json_option
def create(title: str, as_json: bool) -> None:
    """Take a snapshot of the library as it is now. TITLE describes it."""
    with reached() as desk:
        if _is_here(desk):
            with _bar(quiet=as_json) as report:
                info = desk.snapshots.create(title, report=report)
        else:
            info = desk.snapshots.create(title)
    if as_json:
        print_json({"snapshot": _plain(info)})
        return
    click.echo(
        _("Snapshot {id}: {documents}, {pages}.").format(
            id=info.snapshot_id[:_ID], documents=counted_documents(info.documents), pages=counted_pages(info.pages)
        )
    )
    for name in info.left_out:
        click.echo(_("Left out, because its stored files are damaged: {name}").format(name=inert(name)), err=True)


@snapshot.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the snapshots, the newest first, and the copies of the database from before an update."""
    with reached() as desk:
        known, databases = desk.snapshots.list(), desk.snapshots.databases()
    if as_json:
        print_json({"snapshots": [_plain(one) for one in known], "databases": [plain(one) for one in databases]})
        return
    if not known:
        click.echo(_("There are no snapshots yet. Take one: docmind snapshot create"))
    for one in known:
        click.echo(_line(one))
    for database in databases:
        click.echo(_database_line(database))


@snapshot.command()
@_snapshot
@json_option
def show(snapshot: str, as_json: bool) -> None:
    """Show a snapshot (id, beginning of an id, or title) and its documents."""
    with reached() as desk:
        info = desk.snapshots.find(snapshot)
        documents = desk.snapshots.documents(info.snapshot_id)
    if as_json:
        print_json({"snapshot": _plain(info), "documents": [plain(one) for one in documents]})
        return
    click.echo(_line(info))
    click.echo(_("Text model: {model}").format(model=inert(info.text_model)))
    for one in documents:
        gone = "" if one.is_here else f"  ({_('not in the library now')})"
        click.echo(f"  {one.doc_id[:12]}  {one.pages:>5} {_('p.')}  {inert(one.document)}{gone}")


@snapshot.command()
@_snapshot
@click.argument("other", default=_NOW)
@json_option
def compare(snapshot: str, other: str, as_json: bool) -> None:
    """Show what changed from a snapshot to OTHER, or until now."""
    with reached() as desk:
        first = desk.snapshots.find(snapshot).snapshot_id
        second = _NOW if other == _NOW else desk.snapshots.find(other).snapshot_id
        found = desk.snapshots.compare(first, second)
    if as_json:
        print_json(_plain_difference(found))
    else:
        _print_difference(found)


@snapshot.command()
@_snapshot
@click.option("--deep", is_flag=True, help="Also open every original and page image that it needs.")
@json_option
def verify(snapshot: str, deep: bool, as_json: bool) -> None:
    """Check the signature of a snapshot and everything that it holds."""
    with reached() as desk:
        info = desk.snapshots.find(snapshot)
        check = desk.snapshots.verify(info.snapshot_id, deep=deep)
    if as_json:
        print_json(plain(check))
    if check.problems:
        raise DamagedError(
            _("The snapshot isn't whole: {problems}").format(problems="; ".join(check.problems)),
            hint=_("Documents that are still in the library are not affected. Take a new snapshot."),
        )
    if not as_json:
        told = _("The snapshot is whole: {documents}, {files} stored files.")
        click.echo(told.format(documents=counted_documents(check.documents), files=f"{check.files:,}"))


@snapshot.command()
@_snapshot
@click.option("--settings", is_flag=True, help="Bring back the settings made in the app too.")
@click.option("--reindex", is_flag=True, help="Build the search index again from the documents of the snapshot.")
@click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
def activate(snapshot: str, settings: bool, reindex: bool, yes: bool, as_json: bool) -> None:
    """Go back to a snapshot. What was added since goes to the bin; a snapshot of the present state is taken first."""
    with reached() as desk:
        info = desk.snapshots.find(snapshot)
        if not yes:
            _print_difference(desk.snapshots.compare(info.snapshot_id), err=True)
            confirm(_("Go back to this snapshot?"), refusal=_("Nothing was changed."), yes=False)
        done = desk.snapshots.activate(info.snapshot_id, settings=settings, reindex=reindex)
    if as_json:
        print_json(plain(done))
        return
    told = _("Brought back: {restored}. Moved to the bin: {binned}. Changed: {changed}. As they were: {unchanged}.")
    click.echo(told.format(restored=done.restored, binned=done.binned, changed=done.changed, unchanged=done.unchanged))
    if done.settings:
        click.echo(_("Settings brought back: {names}").format(names=", ".join(done.settings)))
    if done.left:
        click.echo(_("Left, because they are set elsewhere: {names}").format(names=", ".join(done.left)), err=True)
    click.echo(_("To undo it: docmind snapshot activate {id}").format(id=done.before[:_ID]))


@snapshot.command()
@_snapshot
@click.option("--off", is_flag=True, help="Let it be pruned again.")
@json_option
def pin(snapshot: str, off: bool, as_json: bool) -> None:
    """Keep a snapshot when old ones are removed."""
    with reached() as desk:
        info = desk.snapshots.pin(desk.snapshots.find(snapshot).snapshot_id, pinned=not off)
    if as_json:
        print_json({"snapshot": _plain(info)})
    else:
        click.echo(_line(info))


@snapshot.command()
@click.option("--keep", type=Number(0), default=None, help="Keep so many of the newest.")
@click.option("--days", type=Number(0), default=None, help="Keep those younger than so many days.")
@click.option("--dry-run", is_flag=True, help="Only show which would be removed.")
@json_option
def prune(keep: int | None, days: int | None, dry_run: bool, as_json: bool) -> None:
    """Remove old snapshots. Pinned ones stay, and so does the library."""
    with reached() as desk:
        gone = desk.snapshots.prune(keep=keep, days=days, dry_run=dry_run)
    if as_json:
        print_json({"removed": [_plain(one) for one in gone], "dry_run": dry_run})
        return
    for one in gone:
        click.echo(_line(one))
    told = ngettext("{n} snapshot would be removed.", "{n} snapshots would be removed.", len(gone))
    done = ngettext("{n} snapshot was removed.", "{n} snapshots were removed.", len(gone))
    click.echo((told if dry_run else done).format(n=len(gone)))


@snapshot.command()
@_snapshot
@click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
def delete(snapshot: str, yes: bool, as_json: bool) -> None:
    """Delete a snapshot, or a copy of the database by its name. The library stays as it is."""
    with reached() as desk:
        names = [one.name for one in desk.snapshots.databases()]
        what = snapshot if snapshot in names else _line(desk.snapshots.find(snapshot))
        told = _("Delete this snapshot? Documents that only it holds are lost: {what}")
        confirm(told.format(what=what), refusal=_("Nothing was deleted."), yes=yes)
        if snapshot in names:
            gone: SnapshotInfo | KeptDatabase = desk.snapshots.remove_database(snapshot)
        else:
            gone = desk.snapshots.remove(desk.snapshots.find(snapshot).snapshot_id)
    if as_json:
        print_json({"deleted": plain(gone)})
    else:
        click.echo(_("Deleted {what}.").format(what=inert(what)))


@snapshot.command()
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
def rollback(name: str, yes: bool, as_json: bool) -> None:
    """Put back the database from before an update of DocMind, for the DocMind that wrote it.

    NAME is one that `docmind snapshot list` shows, such as before-m014-1764000000000. What was added since then is not
    in it. What is replaced is kept the same way. Install the older DocMind before you open the library again: this one
    would update the database once more.
    """
    from docmind.maintenance import roll_back

    told = _("Put back {name}? What was added to the library since then is not in it.").format(name=inert(name))
    confirm(told, refusal=_("Nothing was changed."), yes=yes)
    settings = Settings.load()
    ask = (
        (lambda: str(click.prompt(_("Passphrase of the library"), hide_input=True, err=True))) if is_asking() else None
    )
    replaced = roll_back(settings, name, ask)
    if as_json:
        print_json({"put_back": name, "replaced": plain(replaced)})
        return
    click.echo(_("Put back {name}. Open the library with the DocMind that wrote it.").format(name=inert(name)))
    click.echo(_("To undo it: docmind snapshot rollback {name}").format(name=replaced.name))


def _is_here(desk: DocMind | Client) -> bool:
    """Return whether the library is open in this process, which can then show progress."""
    from docmind.client import Client

    return not isinstance(desk, Client)


@contextmanager
def _bar(*, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    def fields(now: tuple[int, int]) -> dict[str, int]:
        return {"completed": now[0], "total": now[1]}

    with terminal_bar(fields, "BarColumn", "TimeRemainingColumn", quiet=quiet) as show:
        yield lambda done, whole: show((done, whole))


def _line(one: SnapshotInfo) -> str:
    marks = [counted_documents(one.documents), f"{one.bytes / _MB:,.1f} MB"]
    if one.is_pinned:
        marks.append(_("pinned"))
    if one.erased:
        marks.append(ngettext("{n} erased since", "{n} erased since", one.erased).format(n=one.erased))
    title = f"  {inert(one.title)}" if one.title else ""
    return f"{one.snapshot_id[:_ID]}  {when(one.created_at_ms)}  {', '.join(marks)}{title}"


def _database_line(one: KeptDatabase) -> str:
    told = _("database from before an update")
    return f"{one.name}  {when(one.created_at_ms)}  {one.bytes / _MB:,.1f} MB  {told}"


def _plain(info: SnapshotInfo) -> dict[str, Any]:
    return {**plain(info), "is_automatic": info.is_automatic}


def _plain_difference(found: SnapshotDifference) -> dict[str, Any]:
    def named(pairs: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
        return [{"doc_id": doc_id, "document": name} for doc_id, name in pairs]

    return {**plain(found), "added": named(found.added), "gone": named(found.gone)}


def _print_difference(found: SnapshotDifference, *, err: bool = False) -> None:
    """Print what differs, one line each: + came, - is gone, ~ changed."""
    if found.is_empty:
        click.echo(_("Nothing differs."), err=err)
    for mark, pairs in (("+", found.added), ("-", found.gone)):
        for doc_id, name in pairs:
            click.echo(f"{mark} {doc_id[:12]}  {inert(name)}", err=err)
    for one in found.changed:
        changes = ", ".join(_(change) for change in one.changes)
        click.echo(f"~ {one.doc_id[:12]}  {inert(one.document)}  ({changes})", err=err)
    for change in found.settings:
        before, after = (
            _("not set") if value is None else inert(str(value)) for value in (change.before, change.after)
        )
        click.echo(f"~ {_(change.name)}: {before} → {after}", err=err)
