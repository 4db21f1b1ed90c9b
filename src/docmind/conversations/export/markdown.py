"""Export to a zip: `thread.md`, which any Markdown reader shows, and the cited pages."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime

from docmind.conversations.export import content
from docmind.conversations.export.content import Pages
from docmind.records.answers import BY_HAND, Answer, Source
from docmind.records.conversations import ThreadView, Turn
from docmind.rich_text import escape, lean, markdown_of, quote_lines, visible
from docmind.wording import _

_HEADING = 120  # characters of a question that serve as its heading


def bundle(view: ThreadView, pages: Pages) -> bytes:
    """Return the bytes of the zip."""
    out = io.BytesIO()
    moment = datetime.fromtimestamp(view.thread.updated_at_ms / 1000)  # noqa: DTZ006 - a zip keeps local times
    date = (max(1980, moment.year), moment.month, moment.day, moment.hour, moment.minute, moment.second)
    with zipfile.ZipFile(out, "w") as archive:

        def write(name: str, data: bytes, kind: int) -> None:
            info = zipfile.ZipInfo(name, date)
            info.compress_type, info.external_attr = kind, 0o600 << 16
            archive.writestr(info, data)

        write("thread.md", thread_markdown(view, pages).encode("utf-8"), zipfile.ZIP_DEFLATED)
        for page in pages:
            jpeg = page.jpeg()
            if jpeg is not None:
                write(page.name, jpeg, zipfile.ZIP_STORED)
    return out.getvalue()


def thread_markdown(view: ThreadView, pages: Pages) -> str:
    """Render the conversation as Markdown; only its headings, lists and own pictures are active."""
    parts = [
        f"# {escape(view.thread.title) or 'Conversation'}",
        *(f"*{escape(line)}*" for line in content.opening(view)),
    ]
    for number, turn in enumerate(view.turns, start=view.earlier + 1):
        parts += ["---", *_turn(turn, number, pages)]
    return lean("\n\n".join(parts)) + "\n"


def _turn(turn: Turn, number: int, pages: Pages) -> Iterator[str]:
    yield f"## {number}\\. {escape(turn.question, limit=_HEADING)}"
    if len(turn.question) > _HEADING or "\n" in turn.question.strip():
        yield _lines(turn.question)
    yield f"*{escape(content.byline(turn))}*"
    if turn.answer is not None:
        yield _answer(turn.answer)
    for remark in content.remarks(turn):
        yield f"*{escape(remark)}*"
    if turn.answer is not None and turn.answer.sources:
        for name, sources in content.groups_of(turn.answer):
            yield f"### {name}"
            yield from _sources(sources, pages)
    elif turn.nearest:
        yield _("Closest pages: ") + ", ".join(f"{escape(hit.placed)} page {hit.page_no}" for hit in turn.nearest)
    if turn.web:
        yield _("### From the web")
        for result in turn.web:
            yield f"**{escape(result.title)}** {escape(result.url)}\n\n{_lines(result.excerpt)}"
    if turn.memories:
        yield _("### Remembered")
        yield "\n".join(f"- {escape(memory)}" for memory in turn.memories)


def _answer(answer: Answer) -> str:
    badge = content.badge_of(answer, lambda number: f" \\[{number}\\]", lambda words: f" *({words})*")
    return markdown_of(content.body(answer), badge)


def _sources(sources: Sequence[Source], pages: Pages) -> Iterator[str]:
    """Yield every quote, then every page once."""
    for source in sources:
        yield f"**\\[{source.n}\\]** {escape(source.placed or _(content.NAMELESS))}, page {source.page_no}"
        quote = quote_lines(f"“{source.quote}”")
        yield _lines("\n".join(quote)) if source.quote and source.kind == "quote" else f"*{_(source.how)}*"
        if source.is_corrected:
            yield f"*{_(BY_HAND)}*"
        if (pages[source].image is None or source.gone) and (told := content.lost(source)):
            yield f"*{escape(told)}*"
    for page in {page.name: page for page in map(pages.__getitem__, sources) if page.image is not None}.values():
        yield f"![Page {page.page_no} of {escape(page.document)}]({page.name})"


def _lines(text: str) -> str:
    """Render foreign lines as a block quote."""
    lines = [escape(line) for line in visible(text).strip().split("\n")]
    return "\n".join(f"> {line}\\" if line else ">" for line in lines).rstrip("\\")
