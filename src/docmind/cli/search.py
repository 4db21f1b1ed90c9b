"""Commands that find pages: search (by words or by a picture), show."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docmind.cli.context import filtered, filters_of, json_option, opened, plain, print_json
from docmind.cli.output import counted, inert, source_of, tell_hits, tell_narrow, tell_sightings
from docmind.errors import ConfigError, NotFoundError, TooLargeError
from docmind.records.search import Filters, ListName, MergeStrategy, MultimodalResult, Rerank, SearchResult

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.search import DedupKey


@click.command()
@click.argument("question", required=False)
@click.option("--image", type=click.Path(path_type=Path, dir_okay=False), help="Find the page this picture is of.")
@click.option("--no-read", is_flag=True, help="Do not read the words on the picture: faster, by its look alone.")
@click.option(
    "--modality",
    "lists",
    multiple=True,
    type=click.Choice(["text", "code", "image", "visual"]),
    help="Ask only this list: words, code, page images by an image model or by late interaction; may be repeated.",
)
@click.option(
    "--merge",
    type=click.Choice(["rrf", "score", "interleaved", "grouped"]),
    default=None,
    help="How several lists become one (default: DOCMIND_SEARCH__MERGE).",
)
@click.option(
    "--rerank",
    type=click.Choice(["off", "image", "late"]),
    default=None,
    help="Which kind of model looks at the first pages again (default: DOCMIND_VISUAL__RERANK).",
)
@click.option("-k", "k", type=click.IntRange(1, 1000), default=None, help="How many hits.")
@click.option("--per-node", is_flag=True, help="Several hits per page where several places match.")
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
    as_json: bool,
) -> None:
    """Find the pages that match QUESTION, or the page that the picture --image shows; QUESTION may narrow that."""
    if question is None and image is None:
        raise ConfigError("Search for a question or for a picture.", hint="Give QUESTION, or --image FILE, or both.")
    if image is not None and lists:
        raise ConfigError("--modality is for questions.", hint="Leave it out beside --image.")
    if image is None and no_read:
        raise ConfigError("--no-read is for pictures.", hint="Give --image FILE too, or leave it out.")
    with opened() as desk:
        picture = _read(image, desk.settings.now.reading.max_file_mb) if image is not None else None
        filters = filters_of(desk, docs, languages, tags)
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
    desk: DocMind,
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
    if missing := desk.lookalike.missing():
        click.echo(f"Looking at {counted(missing, 'page')} for the first time.", err=True)
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
        on_first=lambda _: click.echo("Reading the words on the picture.", err=True) if is_told else None,
        rerank=rerank,
    )


def _read(image: Path, limit: int) -> bytes:
    """Return the bytes of a picture; one that is too large, or endless, is not read into memory."""
    try:
        if not image.is_file():
            raise NotFoundError(f"{image} is not a file.", hint="Give the path of a picture.")
        size = image.stat().st_size
        if size > limit << 20:
            raise TooLargeError(f"{image.name} has {size / 2**20:,.0f} MB; the limit is {limit:,} MB.")
        return image.read_bytes()
    except OSError as error:
        raise NotFoundError(f"{image} cannot be opened: {error.strerror}.") from error


@click.command()
@click.argument("doc")
@click.argument("page", type=click.IntRange(1))
@click.option("--image", type=click.Path(path_type=Path, dir_okay=False), help="Write the page image (WebP) there.")
@json_option
def show(doc: str, page: int, image: Path | None, as_json: bool) -> None:
    """Show PAGE of DOC (id, beginning of an id, or file name): its text, or its image with --image."""
    with opened() as desk:
        info = desk.find_document(doc)
        view = desk.page(info.doc_id, page)
        if image is not None:
            try:
                image.write_bytes(desk.page_image(info.doc_id, page))
            except OSError as error:
                raise ConfigError(
                    f"{image} cannot be written: {error.strerror}.", hint="Choose another file."
                ) from error
    if as_json:
        print_json(plain(view) | {"words": [{"text": text, "box": list(box)} for text, box in view.words]})
        return
    click.echo(f"{inert(view.document)}, page {view.page_no} of {view.pages} ({source_of(view.text_source)})\n")
    click.echo(inert(view.text, keep_lines=True))
