"""The command that checks the library and repairs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from docmind.cli.context import json_option, opened, plain, print_json, reached
from docmind.cli.help import command
from docmind.cli.output import counted_documents, counted_pages, inert, one_line, terminal_bar
from docmind.config import Settings
from docmind.errors import BehindError, DiskFullError, VaultBusyError, VaultError
from docmind.records.checks import CheckReport, Finding, Level, RepairReport
from docmind.storage import check_library
from docmind.wording import _, ngettext, number_text

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.client import Client

DAMAGED, LOCKED, WRONG_KEY = 1, 11, 12
"""The exit codes of this command, which are its own."""

_SHOWN = 5  # findings of one kind that are named on a terminal


@command()
@click.option(
    "--quick", "level", flag_value="quick", default=True, help="Check references, counts and sizes (seconds)."
)
@click.option("--full", "level", flag_value="full", help="Also recompute ids and read every file once.")
@click.option("--deep", "level", flag_value="deep", help="Also open every file and decode every picture.")
@click.option("--repair", is_flag=True, help="Mend what can be mended, and check again.")
@json_option
@click.pass_context
def doctor(ctx: click.Context, level: Level, repair: bool, as_json: bool) -> None:
    """Check the library, and say what to do about what is found.

    The exit code is 0 where all is well, 1 where damage was found (or is left after a repair), 10 where there is no
    library, 11 where it is locked and 12 where the key is a wrong one.
    """
    from docmind.maintenance import examine_closed

    data_dir = Settings.load().data_dir
    check_library(data_dir)
    with _bar(quiet=as_json) as report:
        try:
            with reached() as desk:
                done = _done(desk, level, report, repair=repair)
        except VaultBusyError as error:
            click.echo(f"docmind: {inert(str(error))}\n{inert(error.hint)}", err=True)
            ctx.exit(LOCKED)
        except BehindError:  # it finds by itself what is missing
            with opened(read_only=True, reminds=False) as desk:
                done = desk.doctor.examine(level, report)
        except DiskFullError:
            raise
        except VaultError as error:
            done = examine_closed(data_dir, error, level, report)
    if as_json:
        print_json(_plain(done))
    else:
        _print(done)
    ctx.exit(_code(done))


def _done(
    desk: DocMind | Client, level: Level, report: Callable[[int, int], None], *, repair: bool
) -> CheckReport | RepairReport:
    from docmind.client import Client

    if isinstance(desk, Client):  # the app reports its progress to its own pages
        return desk.doctor.repair(level) if repair else desk.doctor.examine(level)
    return desk.doctor.repair(level, report) if repair else desk.doctor.examine(level, report)


def _code(done: CheckReport | RepairReport) -> int:
    report = done.after if isinstance(done, RepairReport) else done
    kinds = dict(report.counts)
    if "key-wrong" in kinds:
        return WRONG_KEY
    if "locked" in kinds:
        return LOCKED
    return 0 if report.is_well else DAMAGED


def _plain(done: CheckReport | RepairReport) -> dict[str, Any]:
    if isinstance(done, CheckReport):
        return {"check": _plain_check(done)}
    before, after = _plain_check(done.before), _plain_check(done.after)
    return {"check": after, "before": before, "mended": dict(done.mended), "notes": list(done.notes)}


def _plain_check(report: CheckReport) -> dict[str, Any]:
    counts = {"counts": dict(report.counts), "looked_at": dict(report.looked_at)}
    return {**plain(report), **counts, "is_well": report.is_well}


def _print(done: CheckReport | RepairReport) -> None:
    report = done.after if isinstance(done, RepairReport) else done
    if isinstance(done, RepairReport):
        number = sum(one for _kind, one in done.mended)
        click.echo(ngettext("{n} finding was mended.", "{n} findings were mended.", number).format(n=number))
        for note in done.notes:
            click.echo(inert(note), err=True)
    _print_findings(report)
    told = _("Checked in {seconds} s: {what}")
    click.echo(told.format(seconds=number_text(report.duration_ms / 1000, 1), what=_looked(report)))
    if report.unchecked:
        click.echo(_("Not checked: {parts}").format(parts=", ".join(map(_, report.unchecked))))
    if report.readers:
        click.echo(_("What reads files, and what holds it:"))
    for part in report.readers:
        what = f"{_(part.state):8} {_(part.name)}: {part.detail}"
        click.echo(f"  {inert(what)}" + (f" ({inert(part.hint)})" if part.hint else ""))
    if report.is_guarded:
        refused = ngettext(
            "{n} attempt to reach another computer was stopped since the start.",
            "{n} attempts to reach another computer were stopped since the start.",
            report.refused,
        )
        click.echo(refused.format(n=number_text(report.refused)))
    else:
        click.echo(_("Attempts to reach other computers are not counted here: the network guard is off."))


def _print_findings(report: CheckReport) -> None:
    from docmind.maintenance import KINDS

    if report.is_well:
        click.echo(_("All is well."))
    for kind, number in report.counts:
        means = KINDS[kind]
        click.echo(f"{_(means.text)} ({number_text(number)})")
        found = [finding for finding in report.findings if finding.kind == kind]
        for finding in found[:_SHOWN]:
            click.echo(f"    {_place(finding)}")
        if number > _SHOWN:
            click.echo("    " + _("and {n} more").format(n=number_text(number - _SHOWN)))
        click.echo(f"  {inert(_(means.advice))}")


def _looked(report: CheckReport) -> str:
    numbers = dict(report.looked_at)
    files = ngettext("{n} file", "{n} files", numbers.get("files", 0)).format(n=number_text(numbers.get("files", 0)))
    if "documents" not in numbers:
        return files
    return ", ".join((counted_documents(numbers["documents"]), counted_pages(numbers["pages"]), files))


def _place(finding: Finding) -> str:
    if finding.document and finding.page_no:
        return _("{document}, page {page}").format(document=one_line(finding.document), page=finding.page_no)
    return one_line(finding.document or finding.place)


@contextmanager
def _bar(*, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on a terminal; yield the function that a check reports to."""
    with terminal_bar(_fields, "BarColumn", "TimeRemainingColumn", quiet=quiet) as show:
        yield lambda done, whole: show((done, whole))


def _fields(now: tuple[int, int]) -> dict[str, int]:
    return {"completed": now[0], "total": now[1]}
