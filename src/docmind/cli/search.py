"""Commands that find pages: search (by words or by a picture), show."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docmind.cli.context import (
    check_text_model,
    filtered,
    filters_of,
    json_option,
    plain,
    print_json,
    reached,
    tell_starting,
)
from docmind.cli.help import Number, command
from docmind.cli.output import counted_pages, inert, source_of, tell_hits, tell_narrow, tell_sightings
from docmind.documents import FIELDS
from docmind.errors import ConfigError, NotFoundError, TooLargeError
from docmind.records.search import Filters, ListName, MergeStrategy, MultimodalResult, Rerank, SearchResult
from docmind.wording import _, number_text

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.client import Client
    from docmind.records.documents import DocumentInfo
    from docmind.search import DedupKey


@command()
@click.argument("question", required=False)
@click.option("--image", type=click.Path(path_type=Path, dir_okay=False), help="Find the page that this picture shows.")
@click.option("--no-read", is_flag=True, help="Don't read the words on the picture. Faster.")
@click.option(
    "--modality",
    "lists",
    multiple=True,
    type=click.Choice(["text", "code", "image", "visual"]),
    help="Search only here: text, code, page images as a whole (image) or by their parts (visual). May be repeated.",
)
@click.option(
    "--merge",
    type=click.Choice(["rrf", "score", "interleaved", "grouped"]),
    default=None,
    help="How several result lists become one (default: DOCMIND_SEARCH__MERGE).",
)
@click.option(
    "--rerank",
    type=click.Choice(["off", "image", "late"]),
    default=None,
    help="Which kind of image model reorders the first pages (default: DOCMIND_VISUAL__RERANK).",
)
@click.option("-k", "k", type=Number(1, 1000), default=None, help="How many results.")
@click.option("--per-node", is_flag=True, help="Several results per page where several places match.")
@filtered
@json_option
def search(
    question: str | None,
    image: Path | None,
    no_read: bool,
    lists: tuple[ListName, ...],
    merge: MergeStrategy | None,
    rerank: Rerank | None,
    k: int | None,
    per_node: bool,
    docs: tuple[str, ...],
    languages: tuple[str, ...],
    tags: tuple[str, ...],
    collections: tuple[str, ...],
    as_of: str | None,
    as_json: bool,
) -> None:
    """Find pages by words, or by a picture with --image. QUESTION may go with a picture."""
    if question is None and image is None:
        raise ConfigError(_("There is nothing to search for."), hint=_("Give QUESTION, or --image FILE, or both."))
    if image is not None and lists:
        raise ConfigError(_("--modality doesn't work with --image."), hint=_("Leave one of them out."))
    if image is None and no_read:
        raise ConfigError(_("--no-read only works with --image."), hint=_("Add --image FILE, or leave it out."))
    with reached() as desk:
        picture = _read(image, int(desk.settings.info("reading.max_file_mb").value or 0)) if image is not None else None
        filters = filters_of(desk, docs, languages, tags, collections, as_of)
        tell_starting(desk, ("image",) if picture is not None else lists)
        if image is not None and picture is not None:
            found: SearchResult | MultimodalResult = _looked_for(
                desk, picture, image.name, question or "", k or 8, filters, merge, rerank, is_read=not no_read
            )
        else:
            assert question is not None
            key: DedupKey | None = "node_id" if per_node else None
            if lists or merge or rerank or desk.visual.is_on("image") or desk.visual.is_on("late"):
                found = desk.multimodal_search(
                    question, k=k, filters=filters, merge=merge, lists=lists or None, dedup_key=key,
                    rerank=rerank,
                )  # fmt: skip
            else:
                found = desk.search(question, k=k, filters=filters, dedup_key=key)
        if not found.hits:
            check_text_model(desk, found.degraded)
        documents = () if found.hits else desk.documents()  # to suggest what is there instead
    if as_json:
        print_json(plain(found))
        return
    if picture is not None and isinstance(found, MultimodalResult):
        tell_sightings(found)
    else:
        tell_hits(found)
    if not found.hits:
        tell_narrow(documents, filters)


def _looked_for(
    desk: DocMind | Client,
    picture: bytes,
    name: str,
    question: str,
    k: int,
    filters: Filters,
    merge: MergeStrategy | None,
    rerank: Rerank | None,
    *,
    is_read: bool,
) -> MultimodalResult:
    from docmind.client import Client

    if isinstance(desk, Client):  # the app prepares its pages by itself
        return desk.see(
            picture, question=question, k=k, filters=filters, merge=merge, name=name, read=is_read, rerank=rerank
        )
    if missing := desk.lookalike.missing():
        click.echo(_("Preparing {pages} for picture search.").format(pages=counted_pages(missing)), err=True)
        desk.lookalike.catch_up()
    is_told = is_read and sys.stderr.isatty()
    return desk.see(
        picture,
        question=question,
        k=k,
        filters=filters,
        merge=merge,
        name=name,
        read=is_read,
        on_first=lambda _first: click.echo(_("Reading the words on the picture."), err=True) if is_told else None,
        rerank=rerank,
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
        info = desk.find_document(doc)
        if page is None:
            _tell_facts(info, as_json=as_json)
            return
        view = desk.page(info.doc_id, page)
        if image is not None:
            try:
                image.write_bytes(desk.page_image(info.doc_id, page))
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
    click.echo(told.format(**named, source=source_of(view.text_source)) + "\n")
    click.echo(inert(view.text, keep_lines=True))


def _tell_facts(info: DocumentInfo, *, as_json: bool) -> None:
    """Print each attribute of a document that has a name for people, and how it was read."""
    if as_json:
        print_json({"document": plain(info)})
        return
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
