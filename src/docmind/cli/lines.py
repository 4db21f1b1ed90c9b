"""`docmind lines` and `docmind correct`: what was read on a page line by line, and corrections of it by hand."""

from __future__ import annotations

import click

from docmind.cli.context import json_option, plain, print_json, reached
from docmind.cli.help import Number, command
from docmind.cli.output import inert, source_of
from docmind.errors import ConfigError
from docmind.records.reader import GRADES, LINE_SOURCES, PageLine, PageLines
from docmind.wording import _, number_text

_doc = click.argument("doc")
_page = click.argument("page", type=Number(1))


@command()
@_doc
@_page
@json_option
def lines(doc: str, page: int, as_json: bool) -> None:
    """Show what was read on a page line by line, with the source and the confidence of each line.

    DOC is an id, the beginning of one, or a file name. The number of a line is for `docmind correct`.
    """
    with reached() as desk:
        found = desk.documents.page_lines(desk.documents.find(doc).doc_id, page)
    if as_json:
        print_json(plain(found))
        return
    told = _("{document}, page {page} of {pages} ({source})")
    click.echo(
        told.format(
            document=inert(found.document), page=number_text(found.page_no), pages=number_text(found.pages),
            source=source_of(found.text_source),
        )
        + "\n"
    )  # fmt: skip
    _print_lines(found)


@command()
@_doc
@_page
@click.argument("line", type=Number(0))
@click.argument("text", required=False)
@click.option("--undo", is_flag=True, help="Make the line what was read again.")
@click.option(
    "--header/--no-header",
    "is_header",
    default=None,
    help="The row of this line names the columns of its table, or not.",
)
@json_option
def correct(
    doc: str, page: int, line: int, text: str | None, undo: bool, is_header: bool | None, as_json: bool
) -> None:
    """Correct a line of a page by hand; searches find the new TEXT at once, and it is kept.

    LINE is its number in `docmind lines`. An empty TEXT says that nothing is written there. With --undo, 0 stands for
    corrections that no longer fit the page.
    """
    if sum((text is not None, undo, is_header is not None)) != 1:
        raise ConfigError(
            _("Give one change: a text, --undo, --header or --no-header."),
            hint=_('For example: docmind correct ID 1 3 "The text of line 3"'),
        )
    with reached() as desk:
        doc_id = desk.documents.find(doc).doc_id
        if text is not None:
            found = desk.documents.correct_line(doc_id, page, line, text)
        elif is_header is not None:
            found = desk.documents.set_header_row(doc_id, page, line, is_header=is_header)
        else:
            found = desk.documents.uncorrect_line(doc_id, page, line)
    if as_json:
        print_json(plain(found))
    else:
        click.echo(_line(found.lines[line - 1]) if line else _("Corrections that fitted no line are removed."))


def _print_lines(found: PageLines) -> None:
    for line in found.lines:
        click.echo(_line(line))
    if not found.lines:
        click.echo(_("Nothing was read on this page."))
    for one in found.unfit:
        told = _("This correction no longer fits the page: {text} (read: {read})")
        click.echo(told.format(text=inert(one.text), read=inert(one.read)))


def _line(line: PageLine) -> str:
    """Return a line with its number, its confidence where OCR read it, and what is to be known of it."""
    sure = f"{round(100 * line.confidence):>3} %" if line.source == "ocr" else "     "
    remarks = [_(GRADES[line.grade])] if line.grade != "good" else []
    if line.is_corrected:
        remarks += [_(LINE_SOURCES["hand"]), _("read: {text}").format(text=inert(line.read))]
    if line.is_header:
        remarks.append(_("header of table"))
    return f"{line.n:>4}  {sure}  {inert(line.text)}" + (f"  ({', '.join(remarks)})" if remarks else "")
