"""`docmind check`: the sentences of a text against the documents, without a language model."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docmind.cli.context import json_option, plain, print_json, reached
from docmind.cli.help import command
from docmind.cli.options import with_filters
from docmind.cli.output import one_line, page_of, print_degraded, terminal_bar
from docmind.client import filters_of
from docmind.config import Settings
from docmind.errors import ConfigError, NotFoundError
from docmind.records.documents import Upload
from docmind.records.drafts import VERDICTS, CheckedDraft, CheckedSentence, Verdict
from docmind.records.values import LONGEST_DRAFT, check_draft
from docmind.wording import _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.client import Client
    from docmind.records.search import Filters

_STDIN = "-"
_MARKS: dict[Verdict, str] = {"supported": "+", "outdated": "~", "contradicted": "!", "not found": "?", "no claim": " "}


@command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@with_filters()
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the text to this file too, as Markdown with footnotes.",
)
@json_option
def check(file: Path, given: dict[str, Any], output: Path | None, as_json: bool) -> None:  # fmt: skip
    """Check each sentence of a text against your documents. FILE is text, Markdown, Word or any format that is read.

    FILE may be - for standard input. With --json there is one object a sentence, each on a line of its own.
    """
    draft = _text_of(file)
    check_draft(draft)  # before the library is opened
    with reached() as desk:
        checked = _checked(desk, draft, filters_of(desk, given), is_quiet=as_json)
    if output is not None:
        _write(output, checked)
    for sentence in checked.sentences:
        if as_json:
            print_json(plain(sentence))
        else:
            _print(sentence)
    print_degraded(checked.degraded)
    counts = [f"{_(words)}: {checked.count(verdict)}" for verdict, words in VERDICTS.items()]
    click.echo(", ".join(counts), err=True)


def _text_of(file: Path) -> str:
    """Return the text of a file, or of standard input, read in a process of its own where it has a format."""
    from docmind.ingest import read_named
    from docmind.reading import text_of_file

    settings = Settings.load().reading
    if str(file) == _STDIN:
        name, data = "text.txt", sys.stdin.buffer.read((settings.max_file_mb << 20) + 1)
    elif file.is_file():
        name, data = file.name, read_named(file, settings.max_file_mb)
    else:
        raise NotFoundError(_("{file} isn't a file.").format(file=file), hint=_("Give the path of a text."))
    return text_of_file(Upload(name, data), settings, longest=LONGEST_DRAFT) if data else ""


def _checked(desk: DocMind | Client, draft: str, filters: Filters, *, is_quiet: bool) -> CheckedDraft:
    """Check a text, with a bar on a terminal; the app that has the library open does not tell how far it is."""
    from docmind.client import Client

    if isinstance(desk, Client):
        if sys.stderr.isatty() and not is_quiet:
            click.echo(_("Checking the text…"), err=True)
        return desk.check(draft, filters)
    with terminal_bar(_fields, "{task.fields[files]}", "BarColumn", "TimeRemainingColumn", quiet=is_quiet) as show:
        return desk.check(draft, filters, progress=lambda done, total: show((done, total)))


def _fields(now: tuple[int, int]) -> Mapping[str, Any]:
    done, total = now
    told = ngettext("{done} of {n} sentence", "{done} of {n} sentences", total).format(done=done, n=total)
    return {"files": told, "completed": done, "total": total}


def _print(sentence: CheckedSentence) -> None:
    """Print a sentence with its verdict in words, and its passages below it."""
    click.echo(f"{_MARKS[sentence.verdict]} {_(VERDICTS[sentence.verdict])}: {one_line(sentence.text, 2_000)}")
    for source in sentence.sources:
        remark = sentence.remark(source)
        told = f", {_(remark)}" if remark else ""
        click.echo(f"    [{source.n}] {page_of(source.placed, source.page_no)}{told}")
        click.echo(f"        “{one_line(source.quote)}”")


def _write(output: Path, checked: CheckedDraft) -> None:
    from docmind.conversations import draft_markdown

    try:
        output.write_text(draft_markdown(checked), "utf-8")
    except OSError as error:
        raise ConfigError(
            _("{file} can't be written: {reason}.").format(file=output, reason=error.strerror),
            hint=_("Choose another file."),
        ) from error
