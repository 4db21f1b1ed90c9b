"""Output of the command line: results, answers, progress, inert text for terminals.

A question and its answer are printed as plain data, or as text with numbered sources.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any, TypeVar

import click

from docmind.answers import NOT_FOUND, neutral, not_found
from docmind.blocks import losses_text
from docmind.cli.context import plain
from docmind.records.answers import BY_LOOK, NOT_THERE, SEEN, STOPPED, TOLD, Answer, Source
from docmind.records.conversations import Run, Turn
from docmind.records.documents import AddResult, DocumentInfo, QueueProgress, UploadState, placed_name
from docmind.records.search import Filters, Hit, MultimodalHit, MultimodalResult, Quad, SearchResult, stage_name
from docmind.rich_text import flow, readable
from docmind.wording import N_, _, ngettext

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
        "description": f"{_(now.stage)} {escape(inert(now.file))} {now.pages_done}/{now.pages_total}",
        "files": f"{now.files_done + 1}/{now.files_total}",
        "completed": now.pages_done,
        "total": now.pages_total or None,
    }


def print_result(result: AddResult, depth: int = 0) -> None:
    """Print the outcome of a file, then of those inside it, each further to the right."""
    name, before = inert(result.document), "  " * depth
    if result.status == "refused":
        click.echo(f"{before}{_refusal(name, inert(result.message))} {inert(result.hint)}".rstrip(), err=True)
    elif result.status == "cancelled":
        click.echo(before + _("Cancelled: {name}").format(name=name))
    else:
        done = _("Added {name}: {pages}") if result.status == "added" else _("Already here: {name}, {pages}")
        ocr = _(" ({number} by OCR)").format(number=result.ocr_pages) if result.ocr_pages else ""
        short_id = (result.doc_id or "")[:12]
        click.echo(f"{before}{done.format(name=name, pages=counted_pages(result.pages))}{ocr}  {short_id}")
        if result.message:
            click.echo(f"{before}  {inert(result.message)}", err=True)
        if result.losses:
            told = _("Not read: {what}").format(what=inert(losses_text(result.losses)))
            click.echo(f"{before}  {told}", err=True)
    for inside in result.enclosed:
        print_result(inside, depth + 1)


def _refusal(name: str, reason: str) -> str:
    """Return one sentence that names the file once: most reasons begin with its name."""
    if reason.startswith(f"{name} "):
        return _("{name} could not be read: it {reason}").format(name=name, reason=reason[len(name) + 1 :])
    return reason if name in reason else _("{name} could not be read: {reason}").format(name=name, reason=reason)


def print_queue(counts: Mapping[UploadState, int]) -> None:
    """Print the numbers of unread files in the queue on stderr; nothing where there are none."""
    words: dict[UploadState, str] = {
        "waiting": _("{n} waiting"),
        "paused": _("{n} paused"),
        "locked": _("{n} need a password"),
        "failed": _("{n} failed"),
        "cancelled": _("{n} cancelled"),
    }
    numbers = {state: counts.get(state, 0) for state in words}
    numbers["waiting"] += counts.get("reading", 0)
    told = [what.format(n=f"{numbers[state]:,}") for state, what in words.items() if numbers[state]]
    if told:
        click.echo(_("Files in the queue: {states}. See docmind queue list.").format(states=", ".join(told)), err=True)


def print_hits(found: SearchResult | MultimodalResult) -> None:
    if not found.hits:
        told = not_found(found)
        click.echo(_("No pages match.") if told == NOT_FOUND else _(told))
    are_of_days = len({hit.dated for hit in found.hits if hit.dated}) > 1
    for hit in found.hits:
        shown = excerpt(inert(hit.text), found.query, is_marked=sys.stdout.isatty()) or _("(matches by its image)")
        origins = _origins(hit) if isinstance(hit, MultimodalHit) else ""
        place = "".join(f" · {inert(name)}" for name in hit.heading_path if hit.modality == "code")
        told = f"({hit.score:.3f}){origins}{_read(hit)}"
        name = placed_name(hit.document, hit.place, hit.dated if are_of_days else "")
        click.echo(f"{hit.rank:>2}. {page_of(name, hit.page_no)}{place}  {told}\n    {shown}")
    shown_pages = {hit.page_id for hit in found.hits}
    for hit in found.looks if isinstance(found, MultimodalResult) else ():
        if hit.page_id not in shown_pages:
            click.echo(f" ·  {page_of(hit.placed, hit.page_no)}  ({_(BY_LOOK)})")
    print_degraded(found.degraded)
    for report in found.lists if isinstance(found, MultimodalResult) and not found.hits else ():
        if report.state in ("off", "empty") and report.reason:
            print_without(report.list, report.reason)


def print_sightings(found: MultimodalResult) -> None:
    if not found.found:
        click.echo(_("No sure match. Closest pages:") if found.hits else _("No page looks like this picture."))
    for hit in found.hits:
        if hit.found or not found.found:
            where = place_on_page(hit.quad, hit.page_width, hit.page_height)
            where = where or " ".join(inert(hit.text).split())[:200] or _("not compared")
            score = f"({hit.score:.3f}){_origins(hit)}"
            click.echo(f"{hit.rank:>2}. {page_of(hit.placed, hit.page_no)}  {score}\n    {where}")
    print_degraded(found.degraded)


def place_on_page(quad: Quad, width: int, height: int) -> str:
    """Return in words where a region is on a page of this size in pixels; empty where there is no region."""
    if not quad:
        return ""
    (left, right), (top, bottom) = (
        (max(0.0, min(ends) / size), min(1.0, max(ends) / size))
        for ends, size in ((tuple(x for x, _y in quad), width), (tuple(y for _x, y in quad), height))
    )
    is_wide, is_high = right - left > _MOST_OF, bottom - top > _MOST_OF
    across = "" if is_wide else _third((left + right) / 2, ("left", "", "right"))
    down = "" if is_high else _third((top + bottom) / 2, ("upper", "middle", "lower"))
    return _(_PLACES[down, across, is_wide and is_high])


_PLACES = {
    ("", "", True): N_("the whole page"),
    ("", "left", False): N_("the left side of the page"),
    ("", "right", False): N_("the right side of the page"),
    ("", "", False): N_("the middle of the page, from top to bottom"),
    ("upper", "", False): N_("the upper part of the page"),
    ("middle", "", False): N_("the middle part of the page"),
    ("lower", "", False): N_("the lower part of the page"),
    ("upper", "left", False): N_("upper left of the page"),
    ("upper", "right", False): N_("upper right of the page"),
    ("middle", "left", False): N_("middle left of the page"),
    ("middle", "right", False): N_("middle right of the page"),
    ("lower", "left", False): N_("lower left of the page"),
    ("lower", "right", False): N_("lower right of the page"),
}
"""Places by third from top to bottom, third across, and whether it is the whole page."""


_MOST_OF = 0.75  # of a side: a region this long has no place along it


def _third(middle: float, names: tuple[str, str, str]) -> str:
    return names[0] if middle < 0.4 else names[2] if middle > 0.6 else names[1]


def _read(hit: Hit) -> str:
    """Format how sure OCR is of a passage; empty where a text layer has it."""
    if hit.ocr_confidence is None:
        return ""
    return "  " + _("(OCR, {percent} % confidence)").format(percent=round(100 * hit.ocr_confidence))


def page_of(document: str, page_no: int) -> str:
    """Name a page for people."""
    return _("{document}, page {page}").format(document=inert(document), page=page_no)


_AROUND = 220  # characters of an excerpt


def excerpt(text: str, question: str, *, is_marked: bool = False) -> str:
    """Return the part of a text, on one line, that has most words of the question; cut between words.

    With `is_marked` these words are in bold, for a terminal.
    """
    from docmind.embedding import prefix, words

    wanted = {prefix(word) or word for word in words(question)}

    def matches(token: str) -> bool:
        return any((prefix(word) or word) in wanted for word in words(token))

    tokens = text.split()
    found = [matches(token) for token in tokens]
    ends: list[int] = [0]
    for token in tokens:
        ends.append(ends[-1] + len(token) + 1)
    best, first, last = -1, 0, len(tokens)
    for begin in (0, *(number for number, is_found in enumerate(found) if is_found)):
        lead = next((at for at in range(begin, -1, -1) if ends[begin] - ends[at] > _AROUND // 4), 0)
        end = lead
        while end < len(tokens) and ends[end + 1] - ends[lead] <= _AROUND:
            end += 1
        different = len(
            {token.casefold() for token, is_found in zip(tokens[lead:end], found[lead:end], strict=True) if is_found}
        )
        if different > best:
            best, first, last = different, lead, end
    last = max(last, first + 1)
    shown = [
        click.style(token, bold=True) if is_marked and is_found else token
        for token, is_found in zip(tokens[first:last], found[first:last], strict=True)
    ]
    return ("… " if first else "") + " ".join(shown) + (" …" if last < len(tokens) else "")


def _origins(hit: MultimodalHit) -> str:
    """Format the lists that found a hit, with ranks; empty for the list of words alone."""
    told = ", ".join(f"{origin.list} {origin.rank}" for origin in hit.origins)
    return f"  [{told}]" if [origin.list for origin in hit.origins] != ["text"] else ""


def print_narrow(documents: Sequence[DocumentInfo], filters: Filters) -> None:
    """Print, after an empty result, a possible reason other than the question."""
    if not documents:
        click.echo(_("Your library is empty. Add documents: docmind add FILE…"), err=True)
        return
    if filters.languages:
        spoken = ", ".join(sorted({info.language for info in documents if info.language}))
        asked = inert(", ".join(filters.languages))
        told = _("Only pages in {asked} were searched. Your documents are in: {languages}.")
        click.echo(told.format(asked=asked, languages=spoken or _("no known language")), err=True)
    if filters.tags and not any(set(filters.tags) & set(info.tags) for info in documents):
        click.echo(_("No document has the tag {tag}.").format(tag=inert(", ".join(filters.tags))), err=True)


def print_degraded(degraded: Iterable[Any]) -> None:
    for part in degraded:
        if part.stage in ("unprepared", "snapshot"):  # whole sentences
            click.echo(inert(part.reason), err=True)
        else:
            print_without(part.stage, part.reason)


def print_without(stage: str, reason: str) -> None:
    part = stage_name(stage)
    click.echo(_("Without {part}: {reason}").format(part=inert(part), reason=inert(reason)), err=True)


_STATES = (
    *(N_("ready"), N_("reading"), N_("waiting"), N_("paused"), N_("stopped"), N_("locked"), N_("failed")),
    *(N_("cancelled"), N_("answered"), N_("unanswered"), N_("running"), N_("present"), N_("missing"), N_("off")),
    *(N_("broken"), N_("handing in"), N_("stopping"), N_("searching"), N_("writing"), N_("checking")),
    *(N_("You told me"), N_("found by its look"), N_("seen on the page, not in its text")),
)
"""Words of records that are shown: the catalogue has them, and `_` looks them up."""


def counted_pages(number: int) -> str:
    return ngettext("{n} page", "{n} pages", number).format(n=f"{number:,}")


def counted_documents(number: int) -> str:
    return ngettext("{n} document", "{n} documents", number).format(n=f"{number:,}")


def counted_files(number: int) -> str:
    return ngettext("{n} file", "{n} files", number).format(n=f"{number:,}")


def counted_images(number: int) -> str:
    return ngettext("{n} page image", "{n} page images", number).format(n=f"{number:,}")


def counted_memories(number: int) -> str:
    return ngettext("{n} memory", "{n} memories", number).format(n=f"{number:,}")


def source_of(text_source: str) -> str:
    return {"layer": _("text from the file"), "ocr": _("text by OCR"), "none": _("no text")}[text_source]


def inert(text: str, *, keep_lines: bool = False) -> str:
    """Return text without control characters and escape sequences."""
    kept = "\n\t" if keep_lines else ""
    return "".join(char if char.isprintable() or char in kept else " " for char in text)


UNSUPPORTED = N_("[not found in your documents]")
_LATER = frozenset({"answer", "question", "checkpoint_id"})  # the answer's own fields contain these
_SHORT = 8  # the random end of a checkpoint's id
_EXCERPT = 300


def turn_data(turn: Turn) -> dict[str, Any]:
    """Return all fields of the answer and of its turn: `state`, `asked_as`, `message`, ….

    What a model wrote is neutral Markdown, as it is over REST.

    A turn without an answer has an empty one, so that the names are always the same.
    """
    answer = neutral(turn.answer) if turn.answer is not None else Answer(turn.question, "", False)
    told = plain(answer) | {"question": turn.question, "checkpoint_id": turn.checkpoint_id or None}
    return told | {name: value for name, value in plain(turn).items() if name not in _LATER}


def short(checkpoint_id: str | None) -> str:
    """Return the end of a checkpoint's id, which is shown and accepted as a reference."""
    return inert(checkpoint_id or "")[-_SHORT:]


def marked(answer: Answer) -> str:
    """Return the answer's text, with a mark after each claim that no page's text supports."""
    text, at, parts = answer.answer, 0, []
    for sentence in sorted(answer.sentences, key=lambda sentence: sentence.end):
        if sentence.is_claim and not sentence.supported and at <= sentence.end <= len(text):
            parts += [text[at : sentence.end], f" [{_(SEEN)}]" if sentence.seen else f" {_(UNSUPPORTED)}"]
            at = sentence.end
    shown = "".join([*parts, text[at:]])
    return inert(readable(shown) if answer.model else shown, keep_lines=True)


def print_turn(turn: Turn, *, text: bool = True) -> None:
    """Print the answer and its sources on stdout, notes on stderr.

    Without `text`, leave the answer out.
    """
    print_answer(turn, text=text)
    print_notes(turn)


def print_answer(turn: Turn, *, text: bool = True) -> None:
    """Print the answer and its sources on stdout; without `text`, only the sources."""
    answer = turn.answer
    is_maybe = answer is not None and answer.outcome == "maybe"
    if answer is not None and answer.outcome not in ("noted", "told"):
        for fact in answer.told:
            click.echo(f"{_(TOLD)}: “{one_line(fact)}”")
    if answer is not None and text:
        told = marked(answer)
        if not answer.model:
            told = flow(told.split("\n\n")[0] if is_maybe and answer.computed is None else told)
        click.echo(told)
        if answer.listing is not None and answer.listing.total > len(answer.sources):
            click.echo(_("`docmind find --all` prints the whole list."), err=True)
        if answer.computed is not None:
            click.echo(_("Computed by: {query}").format(query=one_line(answer.computed.query, 1_000)))
        if answer.needs and not answer.found:
            click.echo(answer.needs)
        if answer.outcome == "noted":
            for fact in answer.told:
                click.echo(f"  “{one_line(fact)}”")
    if answer is not None and answer.model:
        if turn.state == "stopped":
            click.echo(_("You stopped the answer here."), err=True)
        click.echo(_("Written by {model}.").format(model=one_line(answer.writer)), err=True)
    if answer is not None:
        further = answer.further
        print_sources((source for source in answer.sources if source not in further), quotes=is_maybe)
        if further:
            click.echo(_("Also relevant:"))
            print_sources(further, quotes=True)


def print_notes(turn: Turn) -> None:
    """Print the closest pages and what the web said on stdout, and on stderr what is missing from an answer."""
    answer = turn.answer
    if turn.nearest:
        pages = "; ".join(page_of(hit.placed, hit.page_no) for hit in turn.nearest)
        click.echo(_("Closest pages: {pages}").format(pages=pages))
    for result in turn.web:
        click.echo("  " + _("From the web: {title}").format(title=f"{inert(result.title)} <{inert(result.url)}>"))
        click.echo(f"      {one_line(result.excerpt)}")
    if turn.asked_as and turn.asked_as != turn.question:
        click.echo(_("Searched for: {question}").format(question=one_line(turn.asked_as)), err=True)
    if turn.state == "stopped" and (answer is None or not answer.model):
        click.echo(_(STOPPED) if answer is not None and answer.answer else _("You stopped the answer here."), err=True)
    if answer is not None and answer.other is not None and not answer.model:
        click.echo(_(NOT_THERE), err=True)
    if turn.message:
        quotes = "\n" + _("The answer is made of quotes.") if answer is not None and not answer.model else ""
        click.echo(f"{inert(turn.message)}\n{inert(turn.hint)}".rstrip() + quotes, err=True)
    if answer is not None:
        print_degraded(part for part in answer.degraded if part.reason != turn.message)


def print_sources(sources: Iterable[Source], *, quotes: bool = False) -> None:
    """Print one line per source; with `quotes` the quoted words below it."""
    for source in sources:
        how = "".join(f", {_(words)}" for words in source.remarks)
        click.echo(f"  [{source.n}] {page_of(source.placed or _('erased document'), source.page_no)}{how}")
        if quotes and source.quote:
            click.echo(f"      “{one_line(source.quote)}”")


def print_turns(turns: Iterable[Turn]) -> None:
    """Print a conversation: each question with its time and short checkpoint id, its answer."""
    for turn in turns:
        click.echo(f"> {one_line(turn.question)}   ({when(turn.asked_at_ms)}, {short(turn.checkpoint_id)})")
        if turn.answer is None:
            click.echo(_("This question has no answer yet."), err=True)
        print_turn(turn)
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
        here = "  " + _("<- you are here") if run.checkpoint_id == head else ""
        state = "" if run.state == "answered" else f" ({_(run.state)})"
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
