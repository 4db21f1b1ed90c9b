"""An answer for the clipboard: as text with its references, as Markdown, and as citations.

The browser part `copy_answer.js` puts one of them there with one click.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from docmind.records.answers import TOLD, Answer, Source
from docmind.rich_text import escape, flow, lean, one_line, visible
from docmind.ui.app.browser_part import browser_part
from docmind.ui.app.names import called
from docmind.wording import _

_MARKERS = re.compile(r"(?<!\s)\s*+((?:\[\d+\]\s*)+)")
_NUMBER = re.compile(r"\[(\d+)\]")


def plain_text(answer: Answer) -> str:
    """Return an answer as text: quotes in quotation marks, and after each statement its document and page."""
    if answer.outcome == "noted":
        return "\n".join([answer.answer, *(f"“{one_line(fact)}”" for fact in answer.told)])
    known = "\n".join(f"{_(TOLD)}: “{one_line(fact)}”" for fact in answer.told)
    if answer.outcome == "told":
        return known
    text = _referring(answer, lambda said: visible(said) if answer.model else flow(said), reference)
    also = [f"{_quoted(source)} {reference([source])}".strip() for source in answer.further]
    return "\n\n".join(part for part in (known, text, *also) if part)


def markdown_text(answer: Answer) -> str:
    """Return an answer as Markdown: what a model wrote as it wrote it, quotes as block quotes."""
    if answer.model:
        return _referring(answer, visible, lambda cited: lean(f"*{escape(reference(cited))}*"))
    quotes = [source for source in answer.sources if source.quote]
    if answer.outcome in ("answer", "maybe") and quotes:
        return "\n\n".join(lean(f"> {escape(_quoted(one))}\n>\n> — {escape(citation(one))}") for one in quotes)
    return lean("\n\n".join(escape(part) for part in plain_text(answer).split("\n\n")))


def citations(answer: Answer) -> str:
    """Return a line for each cited page: its document and number."""
    return "\n".join(dict.fromkeys(citation(source) for source in answer.sources))


def citation(source: Source) -> str:
    """Return document and page of a source."""
    return _("{document}, page {page}").format(document=one_line(source.placed), page=source.page_no)


def reference(sources: Sequence[Source]) -> str:
    """Return documents and pages in parentheses; empty without any."""
    named = "; ".join(dict.fromkeys(citation(source) for source in sources))
    return f"({named})" if named else ""


def draw_copy(answer: Answer, key: str) -> None:
    """Draw the button that copies an answer, with a menu of other forms."""
    answer = replace(
        answer, sources=tuple(replace(one, document=called(one), place="", dated="") for one in answer.sources)
    )
    menu = [[_("Copy as Markdown"), markdown_text(answer)]]
    if answer.sources:
        menu.append([_("Copy as citation"), citations(answer)])
    data = {
        "text": plain_text(answer),
        "menu": menu,
        "copy": _("Copy"),
        "more": _("Copy in another form"),
        "copied": _("Copied"),
        "failed": _("The browser did not allow copying."),
    }
    browser_part(Path(__file__).parent, "copy_answer", data=data, key=f"{key}-copy", width="content")


def _quoted(source: Source) -> str:
    return f"“{flow(source.quote)}”" if source.quote else ""


def _referring(answer: Answer, shown: Callable[[str], str], refer: Callable[[Sequence[Source]], str]) -> str:
    """Return the text of an answer with references in the place of its `[n]` markers."""
    by_number = {source.n: source for source in answer.sources}
    text, parts, at = answer.answer, [], 0
    if not answer.sentences:
        ends = [found.start() for found in _MARKERS.finditer(text)]
    else:
        ends = sorted(sentence.end for sentence in answer.sentences)
    for end in ends:
        markers = _MARKERS.match(text, end)
        if end < at or markers is None:
            continue
        cited = [by_number[int(n)] for n in _NUMBER.findall(markers[1]) if int(n) in by_number]
        space = markers[1][len(markers[1].rstrip()) :]
        parts += [shown(text[at:end]).strip(" "), f" {refer(cited)}{space}" if cited else markers[0]]
        at = markers.end()
    return "".join([*parts, shown(text[at:])]).strip()
