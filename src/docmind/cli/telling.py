"""What the command line says: results, hits, a progress bar, and text that no terminal takes as a command."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import click

from docmind.schema import AddResult, DocumentInfo, Filters, JobProgress, SearchResult
from docmind.seeing import MultimodalHit, MultimodalResult


def progress_bar(*, quiet: bool) -> Any:
    """A bar on a terminal, nothing elsewhere: a context that gives a function to call with each `JobProgress`."""
    from contextlib import contextmanager

    @contextmanager
    def nothing() -> Iterator[Callable[[JobProgress], None]]:
        yield lambda progress: None

    @contextmanager
    def bar() -> Iterator[Callable[[JobProgress], None]]:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.fields[files]}"),
            BarColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as screen:
            task = screen.add_task("", files="", total=None)

            def show(now: JobProgress) -> None:
                screen.update(
                    task,
                    description=f"{now.stage} {escape(inert(now.file))} {now.pages_done}/{now.pages_total}",
                    files=f"{now.files_done + 1}/{now.files_total}",
                    completed=now.pages_done,
                    total=now.pages_total or None,
                )

            yield show

    return bar() if sys.stderr.isatty() and not quiet else nothing()


def tell(result: AddResult) -> None:
    name = inert(result.document)
    if result.status == "refused":
        click.echo(f"refused  {name}: {inert(result.message)} {inert(result.hint)}", err=True)
    else:
        ocr = f", {result.ocr_pages} read by OCR" if result.ocr_pages else ""
        short_id = (result.doc_id or "")[:12]
        click.echo(f"{result.status:8} {name}: {counted(result.pages, 'page')}{ocr} ({short_id})")
        if result.message:
            click.echo(f"         {inert(result.message)}", err=True)


def tell_hits(found: SearchResult | MultimodalResult) -> None:
    if not found.hits:
        click.echo("Nothing found.")
    for hit in found.hits:
        excerpt = " ".join(inert(hit.text).split())[:200] or "(a page image)"
        origins = _origins(hit) if isinstance(hit, MultimodalHit) else ""
        click.echo(
            f"{hit.rank:>2}. {inert(hit.document)}, page {hit.page_no}  ({hit.score:.3f}){origins}\n    {excerpt}"
        )
    tell_degraded(found.degraded)
    for report in found.lists if isinstance(found, MultimodalResult) and not found.hits else ():
        if report.state in ("off", "empty") and report.reason:
            click.echo(f"Without {report.list}: {inert(report.reason)}", err=True)


def tell_sightings(found: MultimodalResult) -> None:
    if not found.found:
        click.echo("No page looks like this picture." + (" The nearest ones:" if found.hits else ""))
    for hit in found.hits:
        if hit.found or not found.found:
            where = " ".join(f"({x:.0f}, {y:.0f})" for x, y in hit.quad)
            where = where or " ".join(inert(hit.text).split())[:200] or "not compared"
            score = f"({hit.score:.3f}){_origins(hit)}"
            click.echo(f"{hit.rank:>2}. {inert(hit.document)}, page {hit.page_no}  {score}\n    {where}")
    tell_degraded(found.degraded)


def _origins(hit: MultimodalHit) -> str:
    """Which lists named a hit, and where; nothing to tell of a list of words alone."""
    told = ", ".join(f"{origin.list} {origin.rank}" for origin in hit.origins)
    return f"  [{told}]" if [origin.list for origin in hit.origins] != ["text"] else ""


def tell_narrow(documents: Sequence[DocumentInfo], filters: Filters) -> None:
    """After nothing was found: what might be the reason, where it is not the question."""
    if not documents:
        click.echo("There are no documents yet. Add some: docmind add FILE…", err=True)
        return
    if filters.languages:
        spoken = ", ".join(sorted({info.language for info in documents if info.language})) or "no language we know"
        click.echo(
            f"Only pages in {inert(', '.join(filters.languages))} were asked; there are some in {spoken}.", err=True
        )
    if filters.tags and not any(set(filters.tags) & set(info.tags) for info in documents):
        click.echo(f"No document has the tag {inert(', '.join(filters.tags))}.", err=True)


def tell_degraded(degraded: Iterable[Any]) -> None:
    for part in degraded:
        click.echo(f"Without {inert(part.stage)}: {inert(part.reason)}", err=True)


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def source_of(text_source: str) -> str:
    return {"layer": "text of the file", "ocr": "read by OCR", "none": "no text"}[text_source]


def inert(text: str, *, keep_lines: bool = False) -> str:
    """Text that a terminal cannot take as commands: control characters and escape sequences are gone."""
    kept = "\n\t" if keep_lines else ""
    return "".join(char if char.isprintable() or char in kept else " " for char in text)
