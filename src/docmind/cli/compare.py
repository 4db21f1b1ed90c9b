"""`docmind compare` and `docmind versions`: what differs between two documents, and which are versions of one."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from docmind.cli.context import json_option, plain, print_json, reached
from docmind.cli.help import command
from docmind.cli.output import one_line, terminal_bar
from docmind.documents import versions_in
from docmind.errors import ConfigError
from docmind.records.comparison import CHANGES_IN_WORDS, Change, ChangeKind, Comparison
from docmind.wording import _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.client import Client

_MARKS: dict[ChangeKind, str] = {"added": "+", "removed": "-", "changed": "~", "moved": ">"}
_LONGEST, _NAMED = 400, 200  # characters of a change, and of a name


@command()
@click.argument("before")
@click.argument("after")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown instead of text.")
@json_option
def compare(before: str, after: str, as_markdown: bool, as_json: bool) -> None:
    """Show what was added, removed, changed and moved from BEFORE to AFTER.

    Each is the id of a document, the beginning of one, or a file name. No model is used.
    """
    if as_json and as_markdown:
        raise ConfigError(_("--json and --markdown exclude each other."), hint=_("Give one of them."))
    with reached() as desk:
        doc_id, other = desk.documents.find(before).doc_id, desk.documents.find(after).doc_id
        comparison = _compared(desk, doc_id, other, is_quiet=as_json or as_markdown)
    if as_json:
        print_json(plain(comparison))
        return
    if as_markdown:
        from docmind.conversations import comparison_markdown

        click.echo(comparison_markdown(comparison), nl=False)
        return
    for change in comparison.changes:
        _print(change)
    if not comparison.changes:
        click.echo(_("The two versions say the same."))
        return
    counts = [f"{_(words)}: {comparison.count(kind)}" for kind, words in CHANGES_IN_WORDS.items()]
    click.echo(", ".join(counts), err=True)


@command()
@click.argument("name")
@click.option("--of", "other", help="A document of which it is a version, whatever their names and texts.")
@click.option("--not", "is_none", is_flag=True, help="It is no version of the documents of which it is one now.")
@json_option
def versions(name: str, other: str | None, is_none: bool, as_json: bool) -> None:
    """List the versions of a document, or say of which document it is a version, or that it is none.

    What you say stands above what DocMind finds by names and texts.
    """
    if other is not None and is_none:
        raise ConfigError(_("--of and --not exclude each other."), hint=_("Give one of them."))
    with reached() as desk:
        info = desk.documents.find(name)
        if other is not None:
            info = desk.documents.set_version_of(info.doc_id, desk.documents.find(other).doc_id)
        elif is_none:
            info = desk.documents.set_no_version(info.doc_id)
        found = versions_in(desk.documents.all()).get(info.series, [info])
    if as_json:
        print_json({"versions": [plain(one) for one in found]})
        return
    if len(found) == 1:
        click.echo(_("{document} has no other versions.").format(document=one_line(info.document, _NAMED)))
    for one in found if len(found) > 1 else ():
        added = datetime.fromtimestamp(one.added_at_ms / 1000, UTC).astimezone()
        click.echo(f"{one.doc_id[:12]}  {one.dated or f'{added:%Y-%m-%d}'}  {one_line(one.document, _NAMED)}")


def _compared(desk: DocMind | Client, doc_id: str, other: str, *, is_quiet: bool) -> Comparison:
    """Compare two documents, with a bar on a terminal; an app that has the library open does not tell how far it is."""
    from docmind.client import Client

    if isinstance(desk, Client):
        if sys.stderr.isatty() and not is_quiet:
            click.echo(_("Comparing…"), err=True)
        return desk.documents.compare(doc_id, other)
    with terminal_bar(_fields, "{task.fields[files]}", "BarColumn", "TimeRemainingColumn", quiet=is_quiet) as show:
        return desk.documents.compare(doc_id, other, progress=lambda done, total: show((done, total)))


def _fields(now: tuple[int, int]) -> Mapping[str, Any]:
    done, total = now
    told = ngettext("{done} of {n} page", "{done} of {n} pages", total).format(done=done, n=total)
    return {"files": told, "completed": done, "total": total}


def _print(change: Change) -> None:
    """Print a change in words, with its pages, and its texts below it."""
    pages = [_("page {n}").format(n=side.page_no) if side.text else "–" for side in (change.before, change.after)]
    click.echo(f"{_MARKS[change.kind]} {_(CHANGES_IN_WORDS[change.kind])} ({' → '.join(pages)})")
    for mark, side in (("-", change.before), ("+", change.after)):
        if side.text and not (change.kind == "moved" and mark == "-"):
            mark = " " if change.kind == "moved" else mark
            around = f"   ({one_line(side.statement, _LONGEST)})" if side.statement != side.text else ""
            click.echo(f"    {mark} {one_line(side.text, _LONGEST)}{around}")
