"""Commands that find: search (by words or by a picture), show."""

from __future__ import annotations

from pathlib import Path

import click

from docmind.cli.opening import filtered, filters_of, json_option, opened, plain, print_json
from docmind.cli.telling import counted, inert, source_of, tell_hits, tell_narrow, tell_sightings
from docmind.config import Settings
from docmind.errors import ConfigError, NotFoundError, TooLargeError


@click.command()
@click.argument("question", required=False)
@click.option("--image", type=click.Path(path_type=Path, dir_okay=False), help="Find the page this picture is of.")
@click.option("-k", "k", type=click.IntRange(1, 1000), default=None, help="How many hits.")
@click.option("--per-node", is_flag=True, help="Several hits per page where several places match.")
@filtered
@json_option
def search(
    question: str | None,
    image: Path | None,
    k: int | None,
    per_node: bool,
    docs: tuple[str, ...],
    languages: tuple[str, ...],
    tags: tuple[str, ...],
    as_json: bool,
) -> None:
    """Find the pages that match QUESTION, or the page that the picture --image shows."""
    if (question is None) == (image is None):
        raise ConfigError("Search for a question or for a picture.", hint="Give either QUESTION or --image FILE.")
    if question is None:
        _search_image(image, k, docs, languages, tags, as_json=as_json)
        return
    with opened() as desk:
        filters = filters_of(desk, docs, languages, tags)
        found = desk.search(question, k=k, filters=filters, dedup_key="node_id" if per_node else "page_id")
        documents = () if found.hits else desk.documents()  # to say what there is instead
    if as_json:
        print_json(plain(found))
        return
    tell_hits(found)
    if not found.hits:
        tell_narrow(documents, filters)


def _search_image(
    image: Path | None,
    k: int | None,
    docs: tuple[str, ...],
    languages: tuple[str, ...],
    tags: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    assert image is not None
    picture = _read(image)
    with opened() as desk:
        filters = filters_of(desk, docs, languages, tags)
        if missing := desk.lookalike.missing():
            click.echo(f"Looking at {counted(missing, 'page')} for the first time.", err=True)
            desk.lookalike.catch_up()
        found = desk.lookalike.search(picture, k=k or 8, filters=filters, name=image.name)
        documents = () if found.hits else desk.documents()
    if as_json:
        print_json(plain(found))
        return
    tell_sightings(found)
    if not found.hits:
        tell_narrow(documents, filters)


def _read(image: Path) -> bytes:
    """The bytes of a picture; what is too large, or gives bytes without end, does not come into memory."""
    limit = Settings.load().reading.max_file_mb
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
