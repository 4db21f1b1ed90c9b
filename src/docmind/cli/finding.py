"""Commands that find: search, show."""

from __future__ import annotations

from pathlib import Path

import click

from docmind.cli.opening import filtered, filters_of, json_option, opened, plain, print_json
from docmind.cli.telling import inert, source_of, tell_hits, tell_narrow
from docmind.errors import ConfigError


@click.command()
@click.argument("question")
@click.option("-k", "k", type=click.IntRange(1, 1000), default=None, help="How many hits.")
@click.option("--per-node", is_flag=True, help="Several hits per page where several places match.")
@filtered
@json_option
def search(
    question: str,
    k: int | None,
    per_node: bool,
    docs: tuple[str, ...],
    languages: tuple[str, ...],
    tags: tuple[str, ...],
    as_json: bool,
) -> None:
    """Find the pages that match QUESTION."""
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
