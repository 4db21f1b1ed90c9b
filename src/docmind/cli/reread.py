"""`docmind reread`: a document, or pages of it, read again from its original, by another engine of OCR or with OCR."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import click

from docmind.cli.context import json_option, plain, print_json, reached
from docmind.cli.help import command
from docmind.cli.output import counted_pages, inert, terminal_bar
from docmind.records.documents import DocumentInfo
from docmind.wording import _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.client import Client

_Engine = Literal["", "rapidocr", "tesseract"]
_Mode = Literal["", "auto", "always", "never"]


@command()
@click.argument("doc")
@click.argument("pages", nargs=-1, type=click.IntRange(min=1))
@click.option("--engine", type=click.Choice(["rapidocr", "tesseract"]), default=None, help="The engine of OCR.")
@click.option("--languages", default="", help="Languages for Tesseract, as its codes: por+eng.")
@click.option(
    "--ocr", "mode", type=click.Choice(["auto", "always", "never"]), default=None,
    help="Which pages OCR reads: those without a good text layer, all that have a picture, or none.",
)  # fmt: skip
@json_option
def reread(
    doc: str, pages: tuple[int, ...], engine: _Engine | None, languages: str, mode: _Mode | None, as_json: bool
) -> None:
    """Read a document again from its original, all of it or these PAGES.

    DOC is an id, the beginning of one, or a file name. What is not given is taken from the settings. A page keeps its
    text until the new one is stored.
    """
    with reached() as desk:
        given = {"pages": pages, "engine": engine or "", "languages": languages, "mode": mode or ""}
        info = _read(desk, desk.documents.find(doc).doc_id, given, is_quiet=as_json)
    if as_json:
        print_json({"document": plain(info)})
        return
    told = _("{document} was read again: {pages}, {number} by OCR.")
    click.echo(told.format(document=inert(info.document), pages=counted_pages(info.pages), number=info.ocr_pages))


def _read(desk: DocMind | Client, doc_id: str, given: Mapping[str, Any], *, is_quiet: bool) -> DocumentInfo:
    """Read it, with a bar on a terminal; an app that has the library open does not tell how far it is."""
    from docmind.client import Client

    if isinstance(desk, Client):
        if sys.stderr.isatty() and not is_quiet:
            click.echo(_("Reading…"), err=True)
        return desk.documents.read_again(doc_id, **given)
    with terminal_bar(_fields, "{task.fields[files]}", "BarColumn", "TimeRemainingColumn", quiet=is_quiet) as show:
        return desk.documents.read_again(doc_id, **given, progress=lambda done, total: show((done, total)))


def _fields(now: tuple[int, int]) -> Mapping[str, Any]:
    done, total = now
    told = ngettext("{done} of {n} page", "{done} of {n} pages", total).format(done=done, n=total)
    return {"files": told, "completed": done, "total": total}
