"""`docmind embed`: show pages to a model that looks at them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from docmind.cli.opening import json_option, opened, plain, print_json
from docmind.cli.telling import counted, inert
from docmind.seeing import EmbeddingProgress

Show = Callable[[EmbeddingProgress], None]


@click.command()
@click.argument("docs", nargs=-1)
@click.option(
    "--model", "name", required=True, help="A model that looks at pages (`docmind models list`), or its folder."
)
@click.option("--force", is_flag=True, help="Also pages that the model has seen.")
@json_option
def embed(docs: tuple[str, ...], name: str, force: bool, as_json: bool) -> None:
    """Show pages of DOCS, or of all documents, to a model. Ctrl-C keeps what is done; the next run goes on there."""
    with opened() as desk:
        doc_ids = tuple(desk.find_document(doc).doc_id for doc in docs)
        pages, seconds = desk.visual.estimate(name, doc_ids)
        if pages and not as_json:
            time = "how long that takes here is not known yet" if seconds is None else f"about {spoken(seconds)}"
            click.echo(f"{counted(pages, 'page image')} for {inert(name)}: {time}.", err=True)
        with _bar(quiet=as_json) as show:
            done = desk.visual.embed(name, doc_ids, force=force, report=show)
    if as_json:
        print_json(plain(done))
        return
    failed = f", {done.pages_failed} could not be seen" if done.pages_failed else ""
    click.echo(
        f"{counted(done.pages_added, 'page')} embedded, {done.pages_skipped} skipped{failed}, in"
        f" {spoken(done.duration_ms / 1000)}."
    )


def spoken(seconds: float) -> str:
    """A duration for people: `8 s`, `3 min`, `2.5 h`."""
    if seconds < 90:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"


@contextmanager
def _bar(*, quiet: bool) -> Iterator[Show]:
    """A bar on a terminal, nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = TextColumn("{task.completed}/{task.total}"), BarColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=Console(stderr=True), transient=True) as screen:
        task = screen.add_task("", total=None)

        def show(now: EmbeddingProgress) -> None:
            left = "" if now.eta_ms is None else f"{spoken(now.eta_ms / 1000)} left"
            screen.update(task, completed=now.pages_done, total=now.pages_total, description=left)

        yield show
