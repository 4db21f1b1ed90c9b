"""`docmind find`: complete lists of what documents say, without a ranking and without a language model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import click

from docmind.cli.context import json_option, plain, print_json, reached
from docmind.cli.help import command
from docmind.cli.options import with_filters
from docmind.cli.output import one_line, terminal_bar
from docmind.client import filters_of
from docmind.errors import ConfigError
from docmind.records.listed import Listed
from docmind.records.listings import Listable
from docmind.wording import _, ngettext, number_text

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.client import Client
    from docmind.records.search import Filters

_SHOWN = 50  # items without --all
_LINE = 400  # characters of an item


@command()
@click.argument("words", required=False, default="")
@click.option("--all", "is_all", is_flag=True, help="Print every item, not only the first 50.")
@click.option(
    "--what",
    type=click.Choice(get_args(Listable)),
    default="mentions",
    show_default=True,
    help="What to list: sentences that have WORDS, values, the items of lists that WORDS name, or imports of WORDS.",
)
@with_filters()
@click.option("--csv", "as_csv", is_flag=True, help="Print every item as CSV.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print every item as Markdown.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False),
    help="Write every item to this file: CSV where its name ends with .csv, otherwise Markdown.",
)  # fmt: skip
@json_option
def find(
    words: str, is_all: bool, what: str, given: dict[str, Any], as_csv: bool, as_markdown: bool,
    output: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """List every sentence with WORDS, all values of a kind, or whole lists, over all pages, with counts by document.

    WORDS in "quotation marks" match in this form alone. With --what people and the like, WORDS may be left out.
    """
    if as_csv + as_markdown + as_json > 1:
        raise ConfigError(_("Only one of --csv, --markdown and --json can be given."), hint=_("Leave out the others."))
    listable = cast("Listable", what)
    if what in ("mentions", "items", "imports") and not words.strip():
        raise ConfigError(_("There is no word to look for."), hint=_("Give one word or more."))
    with reached() as desk:
        found = _found(desk, words, listable, filters_of(desk, given), is_quiet=as_json)
    if output is not None:
        _write(output, found)
    if as_json:
        print_json(plain(found))
    elif as_csv or as_markdown:
        click.echo(_exported(found, is_csv=as_csv), nl=False)
    elif output is None:
        _print(found, is_all=is_all)
    _summary(found)


def _found(desk: DocMind | Client, words: str, what: Listable, filters: Filters, *, is_quiet: bool) -> Listed:
    """Make the list, with a bar on a terminal; the app that has the library open does not tell how far it is."""
    from docmind.client import Client

    if isinstance(desk, Client):
        return desk.find(words, what, filters)
    with terminal_bar(_fields, "{task.fields[files]}", "BarColumn", "TimeRemainingColumn", quiet=is_quiet) as show:
        return desk.find(words, what, filters, progress=lambda done, total: show((done, total)))


def _fields(now: tuple[int, int]) -> Mapping[str, Any]:
    done, total = now
    told = ngettext("{done} of {n} page", "{done} of {n} pages", total).format(done=done, n=total)
    return {"files": told, "completed": done, "total": total}


def _print(found: Listed, *, is_all: bool) -> None:
    """Print the items below the names of their documents, which come with their counts."""
    counts = {one.doc_id: one for one in found.listing.documents}
    last = ""
    shown = found.items if is_all else found.items[:_SHOWN]
    for item in shown:
        source = item.source
        if source.doc_id != last:
            click.echo(f"{one_line(source.placed)} ({number_text(counts[source.doc_id].count)})")
            last = source.doc_id
        times = f" ({item.times}×)" if item.times > 1 else ""
        click.echo(f"  {_('page {n}').format(n=source.page_no)}: {one_line(item.text, _LINE)}{times}")
    if len(found.items) > len(shown):
        rest = number_text(len(found.items) - len(shown))
        click.echo(_("And {n} more: --all prints them.").format(n=rest), err=True)


def _summary(found: Listed) -> None:
    from docmind.conversations import listing_counts

    click.echo(listing_counts(found), err=True)
    for reason in found.listing.unread:
        click.echo(one_line(reason, _LINE), err=True)


def _exported(found: Listed, *, is_csv: bool) -> str:
    from docmind.conversations import listing_csv, listing_markdown

    return listing_csv(found) if is_csv else listing_markdown(found)


def _write(output: Path, found: Listed) -> None:
    text = _exported(found, is_csv=output.suffix.lower() == ".csv")
    try:
        output.write_text(text, "utf-8", newline="")
    except OSError as error:
        raise ConfigError(
            _("{file} can't be written: {reason}.").format(file=output, reason=error.strerror),
            hint=_("Choose another file."),
        ) from error
