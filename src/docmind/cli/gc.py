"""The command that removes stored files that nothing refers to."""

from __future__ import annotations

import click

from docmind.cli.context import json_option, plain, print_json, reached
from docmind.cli.help import command
from docmind.cli.output import counted_files
from docmind.records.storage import GarbageFile, GarbageKind, PruneReport
from docmind.wording import N_, _

_DAY_S = 24 * 60 * 60
_KINDS: dict[GarbageKind, str] = {
    "unreferenced": N_("nothing refers to it"),
    "set aside": N_("set aside"),
    "log": N_("log of the database, set aside"),
}


@command()
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@click.option(
    "--max-mb",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Stop once all stored files take no more than this many MB.",
)
@click.option(
    "--older-than",
    type=click.FloatRange(min=1),
    metavar="DAYS",
    help="Remove what nothing has referred to for this many days; as set for files that were set aside by default.",
)
@json_option
def gc(dry_run: bool, max_mb: int, older_than: float | None, as_json: bool) -> None:
    """Remove stored files that nothing in the library refers to, the oldest first.

    The open app does this by itself when it is idle. A file's age begins when it is first found to be left over.
    """
    with reached() as desk:
        report = desk.garbage.prune(max_mb * 1_000_000, older_than and older_than * _DAY_S, dry_run=dry_run)
    if as_json:
        print_json({**plain(report), "freed_bytes": report.freed_bytes})
        return
    for file in report.files:
        click.echo(_line(file))
    print_report(report)


def print_report(report: PruneReport) -> None:
    """Print what was removed, or would be, and what stays."""
    if report.files:
        told = _("Would be removed: {files}, {size}.") if report.is_dry_run else _("Removed: {files}, {size}.")
        click.echo(told.format(files=counted_files(len(report.files)), size=_mb(report.freed_bytes)))
    else:
        click.echo(_("Nothing to remove."))
    if report.waiting:
        days = f"{report.min_age_ms / 1000 / _DAY_S:g}"
        told = _("Left over, and kept for now: {files}, {size}. Files are removed after {days} days.")
        click.echo(told.format(files=counted_files(report.waiting), size=_mb(report.waiting_bytes), days=days))
    if report.failed:
        told = _("Could not be removed: {files}. Try again later.")
        click.echo(told.format(files=counted_files(report.failed)), err=True)


def _line(file: GarbageFile) -> str:
    days = f"{file.age_ms / 1000 / _DAY_S:.0f}"
    return f"{file.name[:12]}  {_mb(file.bytes):>9}  " + _("{why}, for {days} days").format(
        why=_(_KINDS[file.kind]), days=days
    )


def _mb(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
