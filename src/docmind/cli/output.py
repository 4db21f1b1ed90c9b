"""Output of the command line: results, answers, progress, inert text for terminals.

A question and its answer are printed as plain data, or as text with numbered sources.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar

import click

from docmind.cli.context import plain
from docmind.records.answers import SEEN, TOLD, Answer, Source
from docmind.records.conversations import Run, Turn
from docmind.records.documents import AddResult, DocumentInfo, QueueProgress, UploadState
from docmind.records.search import Filters, Hit, MultimodalHit, MultimodalResult, Quad, SearchResult
from docmind.rich_text import flow

_Progress = TypeVar("_Progress")


@contextmanager
def terminal_bar(
    fields_of: Callable[[_Progress], Mapping[str, Any]], *columns: str, quiet: bool
) -> Iterator[Callable[[_Progress], None]]:
    """Show a bar on a terminal, nothing elsewhere; yield a function for progress records.

    `fields_of` gives the bar's fields for a record. Columns are classes of `rich.progress`, or texts with `{task…}`.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich import progress
    from rich.console import Console

    made = (progress.TextColumn(one) if "{" in one else getattr(progress, one)() for one in columns)
    with progress.Progress(*made, console=Console(stderr=True), transient=True) as screen:
        task = screen.add_task("", files="", total=None)
        yield lambda now: screen.update(task, **fields_of(now))


def progress_bar(*, quiet: bool) -> AbstractContextManager[Callable[[QueueProgress], None]]:
    """Return a context with a bar on a terminal; it yields a function for `QueueProgress`."""
    columns = ("{task.fields[files]}", "BarColumn", "{task.description}", "TimeRemainingColumn")
    return terminal_bar(_fields_of_queue, *columns, quiet=quiet)


def _fields_of_queue(now: QueueProgress) -> dict[str, Any]:
    from rich.markup import escape

    return {
        "description": f"{now.stage} {escape(inert(now.file))} {now.pages_done}/{now.pages_total}",
        "files": f"{now.files_done + 1}/{now.files_total}",
        "completed": now.pages_done,
        "total": now.pages_total or None,
    }


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


def tell_queue(counts: Mapping[UploadState, int]) -> None:
    """Print the numbers of unread files in the queue on stderr; nothing where there are none."""
    words: dict[UploadState, str] = {
        "waiting": "waiting to be read",
        "paused": "paused",
        "locked": "locked",
        "failed": "not read",
        "cancelled": "cancelled",
    }
    numbers = {state: counts.get(state, 0) for state in words}
    numbers["waiting"] += counts.get("reading", 0)
    told = [f"{numbers[state]:,} {what}" for state, what in words.items() if numbers[state]]
    if told:
        click.echo(f"Files in the queue: {', '.join(told)}. See docmind queue list.", err=True)


def tell_hits(found: SearchResult | MultimodalResult) -> None:
    if not found.hits:
        click.echo("Nothing found.")
    for hit in found.hits:
        excerpt = " ".join(inert(hit.text).split())[:200] or "(a page image)"
        origins = _origins(hit) if isinstance(hit, MultimodalHit) else ""
        click.echo(
            f"{hit.rank:>2}. {inert(hit.document)}, page {hit.page_no}  ({hit.score:.3f}){origins}{_read(hit)}\n"
            f"    {excerpt}"
        )
    tell_degraded(found.degraded)
    for report in found.lists if isinstance(found, MultimodalResult) and not found.hits else ():
        if report.state in ("off", "empty") and report.reason:
            click.echo(f"Without {report.list}: {inert(report.reason)}", err=True)


def tell_sightings(found: MultimodalResult) -> None:
    if not found.found:
        click.echo("No sure match. Closest pages:" if found.hits else "No page looks like this picture.")
    for hit in found.hits:
        if hit.found or not found.found:
            where = place_on_page(hit.quad, hit.page_width, hit.page_height)
            where = where or " ".join(inert(hit.text).split())[:200] or "not compared"
            score = f"({hit.score:.3f}){_origins(hit)}"
            click.echo(f"{hit.rank:>2}. {inert(hit.document)}, page {hit.page_no}  {score}\n    {where}")
    tell_degraded(found.degraded)


def place_on_page(quad: Quad, width: int, height: int) -> str:
    """Return in words where a region is on a page of this size in pixels; empty where there is no region."""
    if not quad:
        return ""
    (left, right), (top, bottom) = (
        (max(0.0, min(ends) / size), min(1.0, max(ends) / size))
        for ends, size in ((tuple(x for x, _ in quad), width), (tuple(y for _, y in quad), height))
    )
    is_wide, is_high = right - left > _MOST_OF, bottom - top > _MOST_OF
    across = "" if is_wide else _third((left + right) / 2, ("left", "", "right"))
    down = "" if is_high else _third((top + bottom) / 2, ("upper", "middle", "lower"))
    if is_wide and is_high:
        return "the whole page"
    if is_high:
        return f"the {across} side of the page" if across else "the middle of the page, from top to bottom"
    if is_wide or not across:
        return f"the {down} part of the page"
    return f"{down} {across} of the page"


_MOST_OF = 0.75  # of a side: a region this long has no place along it


def _third(middle: float, names: tuple[str, str, str]) -> str:
    return names[0] if middle < 0.4 else names[2] if middle > 0.6 else names[1]


def _read(hit: Hit) -> str:
    """Format how sure OCR is of a passage; empty where a text layer has it."""
    return "" if hit.ocr_confidence is None else f"  (OCR, {hit.ocr_confidence:.0%} sure)"


def _origins(hit: MultimodalHit) -> str:
    """Format the lists that found a hit, with ranks; empty for the list of words alone."""
    told = ", ".join(f"{origin.list} {origin.rank}" for origin in hit.origins)
    return f"  [{told}]" if [origin.list for origin in hit.origins] != ["text"] else ""


def tell_narrow(documents: Sequence[DocumentInfo], filters: Filters) -> None:
    """Print, after an empty result, a possible reason other than the question."""
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
        without = "" if part.stage == "unprepared" else f"Without {inert(part.stage)}: "
        click.echo(f"{without}{inert(part.reason)}", err=True)


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def source_of(text_source: str) -> str:
    return {"layer": "text of the file", "ocr": "read by OCR", "none": "no text"}[text_source]


def inert(text: str, *, keep_lines: bool = False) -> str:
    """Return text without control characters and escape sequences."""
    kept = "\n\t" if keep_lines else ""
    return "".join(char if char.isprintable() or char in kept else " " for char in text)


UNSUPPORTED = "[not found in your documents]"
_LATER = frozenset({"answer", "question", "checkpoint_id"})  # the answer's own fields contain these
_SHORT = 8  # the random end of a checkpoint's id
_EXCERPT = 300


def turn_data(turn: Turn) -> dict[str, Any]:
    """Return all fields of the answer and of its turn: `state`, `asked_as`, `message`, ….

    A turn without an answer has an empty one, so that the names are always the same.
    """
    answer = turn.answer or Answer(turn.question, "", False)
    told = plain(answer) | {"question": turn.question, "checkpoint_id": turn.checkpoint_id or None}
    beside = plain(turn)
    return told | {field.name: beside[field.name] for field in fields(turn) if field.name not in _LATER}


def short(checkpoint_id: str | None) -> str:
    """Return the end of a checkpoint's id, which is shown and accepted as a reference."""
    return inert(checkpoint_id or "")[-_SHORT:]


def marked(answer: Answer) -> str:
    """Return the answer's text, with a mark after each claim that no page's text supports."""
    text, at, parts = answer.answer, 0, []
    for sentence in sorted(answer.sentences, key=lambda sentence: sentence.end):
        if sentence.is_claim and not sentence.supported and at <= sentence.end <= len(text):
            parts += [text[at : sentence.end], f" [{SEEN}]" if sentence.seen else f" {UNSUPPORTED}"]
            at = sentence.end
    return inert("".join([*parts, text[at:]]), keep_lines=True)


def tell_turn(turn: Turn, *, text: bool = True) -> None:
    """Print the answer and its sources on stdout, notes on stderr.

    Without `text`, leave the answer out.
    """
    answer = turn.answer
    is_maybe = answer is not None and answer.outcome == "maybe"
    if answer is not None and answer.outcome != "noted":
        for fact in answer.told:
            click.echo(f"{TOLD}: “{one_line(fact)}”")
    if answer is not None and text:
        told = marked(answer)
        if not answer.model:
            told = flow(told.split("\n\n")[0] if is_maybe else told)
        click.echo(told)
        if answer.needs and not answer.found:
            click.echo(answer.needs)
        if answer.outcome == "noted":
            for fact in answer.told:
                click.echo(f"  “{one_line(fact)}”")
    if turn.state == "stopped":
        click.echo("Stopped: the answer ends here.", err=True)
    if answer is not None and answer.model:
        click.echo(f"Written by {one_line(answer.writer)}.", err=True)
    if answer is not None:
        further = answer.further
        tell_sources((source for source in answer.sources if source not in further), quotes=is_maybe)
        if further:
            click.echo("Also relevant:")
            tell_sources(further, quotes=True)
    if turn.nearest:
        pages = ", ".join(f"{inert(hit.document)} page {hit.page_no}" for hit in turn.nearest)
        click.echo(f"Closest pages: {pages}")
    for result in turn.web:
        click.echo(f"  From the web, not from your documents: {inert(result.title)} <{inert(result.url)}>")
        click.echo(f"      {one_line(result.excerpt)}")
    if turn.asked_as and turn.asked_as != turn.question:
        click.echo(f"Asked as: {one_line(turn.asked_as)}", err=True)
    if turn.message:
        quotes = "\nThe answer is made of quotes." if turn.answer is not None and not turn.answer.model else ""
        click.echo(f"{inert(turn.message)}\n{inert(turn.hint)}".rstrip() + quotes, err=True)
    if turn.answer is not None:
        tell_degraded(part for part in turn.answer.degraded if part.reason != turn.message)


def tell_sources(sources: Iterable[Source], *, quotes: bool = False) -> None:
    """Print one line per source; with `quotes` the quoted words below it."""
    for source in sources:
        how = f", {source.how}" if source.how else ""
        click.echo(f"  [{source.n}] {inert(source.document)}, page {source.page_no}{how}")
        if quotes and source.quote:
            click.echo(f"      “{one_line(source.quote)}”")


def tell_turns(turns: Iterable[Turn]) -> None:
    """Print a conversation: each question with its time and short checkpoint id, its answer."""
    for turn in turns:
        click.echo(f"> {one_line(turn.question)}   ({when(turn.asked_at_ms)}, {short(turn.checkpoint_id)})")
        if turn.answer is None:
            click.echo("This question was not answered.", err=True)
        tell_turn(turn)
        click.echo()


def tree(runs: Iterable[Run], head: str | None) -> Iterator[str]:
    """Yield the tree of runs, one line each: `*` on the current branch, `o` beside it.

    A run that is followed by several has them indented below it, one branch after the other; a plain succession is not
    indented, however long.
    """
    runs = tuple(runs)
    known = {run.checkpoint_id for run in runs}
    if head not in known:  # a branch without a question yet: it is shown after its last run
        head = next((run.checkpoint_id for run in reversed(runs) if run.is_current), None)
    followers: dict[str | None, list[Run]] = {}
    for run in runs:
        followers.setdefault(run.parent_id if run.parent_id in known else None, []).append(run)
    waiting = [(run, 0) for run in reversed(followers.get(None, []))]
    while waiting:
        run, depth = waiting.pop()
        here = "  <- here" if run.checkpoint_id == head else ""
        state = "" if run.state == "answered" else f" ({run.state})"
        mark = "*" if run.is_current else "o"
        yield (
            f"{'  ' * depth}{mark} {short(run.checkpoint_id)}  {when(run.asked_at_ms)}  "
            f"{one_line(run.question, 80)}{state}{here}"
        )
        after = followers.get(run.checkpoint_id, [])
        waiting += [(next_run, depth + (len(after) > 1)) for next_run in reversed(after)]


def one_line(text: str, longest: int = _EXCERPT) -> str:
    """Return foreign text on one line, cut where it is long."""
    line = " ".join(inert(text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def when(at_ms: int) -> str:
    """Format the local time, to the minute."""
    return datetime.fromtimestamp(at_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
