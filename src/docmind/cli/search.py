"""Commands that find pages: search (by words or by a picture), show."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docmind.blocks import losses_text
from docmind.cli.context import (
    check_text_model,
    json_option,
    plain,
    print_json,
    print_starting,
    reached,
)
from docmind.cli.help import Number, command
from docmind.cli.options import asking
from docmind.cli.output import counted_pages, inert, print_hits, print_narrow, print_sightings, source_of
from docmind.client import query_of
from docmind.documents import FIELDS, coverage_text
from docmind.errors import ConfigError, NotFoundError, TooLargeError
from docmind.reading import is_better_by_pandoc, ocr_text
from docmind.records.query import Query
from docmind.records.search import MultimodalResult
from docmind.wording import _, number_text

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.client import Client
    from docmind.records.documents import DocumentInfo, EnclosedFile
    from docmind.records.reader import Coverage

_NOTED = 30  # sentences about pages to look at


@command()
@click.argument("question", required=False)
@asking("search")
@click.option("--per-node", is_flag=True, help="Several results per page where several places match.")
@json_option
def search(question: str | None, given: dict[str, Any], per_node: bool, as_json: bool) -> None:
    """Find pages by words, or by a picture with --image. QUESTION may go with a picture."""
    image: Path | None = given.pop("picture", None)
    if per_node:
        given.setdefault("dedup_key", "node_id")
    if image is None:
        Query(question or "").check_for("search")  # before the library is opened
    with reached() as desk:
        if image is not None:
            picture = _read(image, int(desk.settings.info("reading.max_file_mb").value or 0))
            given |= {"picture": picture, "picture_name": image.name}
        query = query_of(desk, given | {"question": question or ""})
        query.check_for("search")
        print_starting(desk, ("image",) if query.picture is not None else query.lists)
        found = _found(desk, query)
        if not found.hits:
            check_text_model(desk, found.degraded)
        documents = () if found.hits else desk.documents.all()  # to suggest what is there instead
    if as_json:
        print_json(plain(found))
        return
    if query.picture is not None:
        print_sightings(found)
    else:
        print_hits(found)
    if not found.hits:
        print_narrow(documents, query.filters)


def _found(desk: DocMind | Client, query: Query) -> MultimodalResult:
    from docmind.client import Client

    if isinstance(desk, Client) or query.picture is None:  # the app prepares its pages by itself
        return desk.search(query)
    if missing := desk.lookalike.missing():
        click.echo(_("Preparing {pages} for picture search.").format(pages=counted_pages(missing)), err=True)
        desk.lookalike.catch_up()
    is_told = query.read_picture and sys.stderr.isatty()
    return desk.search(
        query,
        on_first=lambda _first: click.echo(_("Reading the words on the picture."), err=True) if is_told else None,
    )


def _read(image: Path, limit: int) -> bytes:
    """Return the bytes of a picture; one that is too large, or endless, is not read into memory."""
    try:
        if not image.is_file():
            raise NotFoundError(_("{file} isn't a file.").format(file=image), hint=_("Give the path of a picture."))
        size = image.stat().st_size
        if size > limit << 20:
            told = _("{file} has {size} MB; the limit is {limit} MB.")
            raise TooLargeError(told.format(file=image.name, size=f"{size / 2**20:,.0f}", limit=f"{limit:,}"))
        return image.read_bytes()
    except OSError as error:
        told = _("{file} can't be opened: {reason}.").format(file=image, reason=error.strerror)
        raise NotFoundError(told, hint=_("Check the path and its permissions.")) from error


@command()
@click.argument("doc")
@click.argument("page", type=Number(1), required=False)
@click.option(
    "--image", type=click.Path(path_type=Path, dir_okay=False), help="Write the page image (WebP) to this file."
)
@json_option
def show(doc: str, page: int | None, image: Path | None, as_json: bool) -> None:
    """Show what is known of a document, or the text of a page, or write its image with --image.

    DOC is an id, the beginning of one, or a file name.
    """
    if page is None and image is not None:
        raise ConfigError(_("A document has an image for each page."), hint=_("Give the number of a page too."))
    with reached() as desk:
        info = desk.documents.find(doc)
        if page is None:
            inside, mails = desk.documents.enclosed(info.doc_id), desk.documents.thread(info.doc_id)
            _print_facts(info, inside, mails, desk.documents.coverage(info.doc_id), as_json=as_json)
            return
        view = desk.documents.page(info.doc_id, page)
        if image is not None:
            try:
                image.write_bytes(desk.documents.page_image(info.doc_id, page))
            except OSError as error:
                raise ConfigError(
                    _("{file} can't be written: {reason}.").format(file=image, reason=error.strerror),
                    hint=_("Choose another file."),
                ) from error
    if as_json:
        print_json(plain(view) | {"words": [{"text": text, "box": list(box)} for text, box in view.words]})
        return
    told = _("{document}, page {page} of {pages} ({source})")
    named = {"document": inert(view.document), "page": view.page_no, "pages": view.pages}
    click.echo(told.format(**named, source=source_of(view.text_source)))
    if view.ocr is not None:
        click.echo(inert(ocr_text(view.ocr, view.confidence)))
    click.echo()
    click.echo(inert(view.text, keep_lines=True))


def _print_facts(
    info: DocumentInfo,
    inside: Sequence[EnclosedFile],
    mails: Sequence[DocumentInfo],
    coverage: Coverage,
    *,
    as_json: bool,
) -> None:
    """Print each attribute of a document that has a name for people, and how it was read.

    The pages to look at, of a mail those of its exchange, and the files inside it follow.
    """
    if as_json:
        named = {"enclosed": [plain(one) for one in inside], "exchange": [one.doc_id for one in mails]}
        print_json({"document": plain(info), **named, "coverage": plain(coverage)})
        return
    if info.parent is not None:
        click.echo(f"{inert(info.parent.place)}  {info.parent.doc_id[:12]}")
    for column in FIELDS:
        value = column.of(info)
        if not column.label or not column.is_stored or value in ("", (), 0):
            continue
        if column.name.endswith("_at_ms"):
            value = time.strftime("%Y-%m-%d %H:%M", time.localtime(value / 1000))
        text = ", ".join(value) if isinstance(value, tuple) else str(value)
        click.echo(f"{_(column.label)}: {inert(text)}")
    if info.ingestion is not None:
        told = _("Read by {engines} in {seconds} s")
        engines = ", ".join(filter(None, (info.ingestion.engine, info.ingestion.ocr_engine)))
        click.echo(told.format(engines=inert(engines), seconds=number_text(info.ingestion.seconds, 1)))
        if is_better_by_pandoc(info):
            click.echo(_("Its marks stay as they are written: pandoc reads it better where it is installed."))
        if info.ingestion.losses:
            click.echo(_("Not read: {what}").format(what=inert(losses_text(info.ingestion.losses))))
    told = coverage_text(coverage)
    for _page_no, text in told[:_NOTED]:
        click.echo(text)
    if len(told) > _NOTED:
        click.echo(_("{n} more are not shown.").format(n=number_text(len(told) - _NOTED)))
    if len(mails) > 1:
        click.echo(_("Mails of this exchange:"))
        for one in mails:
            mark = "*" if one.doc_id == info.doc_id else " "
            told = inert(f"{one.dated}  {one.author or one.sender}: {one.label}")
            click.echo(f"{mark} {told}  {one.doc_id[:12]}")
    if inside:
        click.echo(_("Files inside:"))
    for one in inside:
        state = _("not read yet") if one.is_awaited else one.message
        click.echo(f"  {one.doc_id[:12] or '–':12}  {inert(one.name)}" + (f"  {inert(state)}" if state else ""))
