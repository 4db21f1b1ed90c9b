"""The command `docmind figures`: the figures of a document, listed or written into a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docmind.cli.context import json_option, plain, print_json, reached
from docmind.cli.help import command
from docmind.cli.output import inert
from docmind.cli.threads import write_whole
from docmind.errors import ConfigError
from docmind.wording import _, ngettext, number_text

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.client import Client
    from docmind.records.documents import Figure

_LONGEST = 160  # characters of a caption in the list


@command()
@click.argument("doc")
@click.option(
    "--save", type=click.Path(path_type=Path, file_okay=False), help="Write each figure (WebP) into this folder."
)
@click.option("--force", is_flag=True, help="Replace files of the same names in the folder.")
@json_option
def figures(doc: str, save: Path | None, force: bool, as_json: bool) -> None:
    """List the figures of a document: page, size, caption.

    DOC is an id, the beginning of one, or a file name. Figures written with --save are not encrypted.
    """
    with reached() as desk:
        info = desk.documents.find(doc)
        found = desk.documents.figures(info.doc_id)
        files = _save(desk, found, save, over=force) if save is not None else ()
    if as_json:
        named = {"files": list(map(str, files))} if save is not None else {}
        print_json({"doc_id": info.doc_id, "figures": [plain(one) for one in found]} | named)
        return
    for one in found:
        place = _("page {n}").format(n=one.page_no)
        told = inert(" ".join(f"{one.caption} {one.alt}".split()))[:_LONGEST]
        click.echo(f"{place}, {one.number}  {one.width} × {one.height}  {told}".rstrip())
    if not found:
        click.echo(_("{name} has no figures.").format(name=inert(info.document)))
    elif save is not None:
        count = ngettext("Wrote {n} figure into {folder}.", "Wrote {n} figures into {folder}.", len(files))
        told = count.format(n=number_text(len(files)), folder=inert(str(save)))
        click.echo(f"{told} {_('These copies are not encrypted.')}")


def _save(desk: DocMind | Client, figures: Sequence[Figure], folder: Path, *, over: bool) -> list[Path]:
    """Write each figure into a folder, which is made where it is missing, and return the files."""
    files = [folder / f"page-{one.page_no:04}-figure-{one.number:02}.webp" for one in figures]
    if taken := [file for file in files if os.path.lexists(file) and not over]:
        raise ConfigError(
            _("{target} exists already.").format(target=taken[0]),
            hint=_("Give another folder, or --force to replace the files."),
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            _("{file} can't be written: {reason}.").format(file=folder, reason=error.strerror),
            hint=_("Choose another folder."),
        ) from error
    for one, file in zip(figures, files, strict=True):
        write_whole(file, desk.documents.figure_image(one.doc_id, one.page_no, one.number), over=over)
    return files
