"""Chat messages of the user and of DocMind.

Answers are Markdown for Streamlit: badges for sources, and no other active content.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import streamlit as st

from docmind.reading import is_code
from docmind.records.answers import SEEN, Answer, Source
from docmind.records.rich_text import Code
from docmind.rich_text import blocks_of, draft_markdown, markdown_of, quote_lines, visible, words
from docmind.ui.app.page_links import Cited, cited_in, source_link
from docmind.wording import N_, _

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


APART = 3  # sources of one document that have a badge each; more of them have one for all
_JOINER, _INDENT = "\u2060", "\u00a0\u00a0"
_ARROW = re.compile(r"(\\[<>~-])(?=\\[-=>])")  # Streamlit draws `->`, `<=` and `--` as other characters
_MARKER = re.compile(r"(\[\d+\])")
_BRACKET = "\ufdd0"  # stands for a bracket of a document: it begins no marker
_UNSUPPORTED, _UNSUPPORTED_AGAIN = N_("not found in your documents"), N_("not found")


def answer_markdown(answer: Answer, *, is_other: bool = False) -> str:
    """Render the answer with source badges after each sentence; unsupported claims are marked.

    So are claims that rest on the image of a page, whose sources have another colour.

    Quotes (an answer that no model wrote) are shown as plain text around their `[n]` markers, those of source code as
    blocks of code.

    The badge of a source links to its page, where the answer belongs to a conversation. `is_other` says that the answer
    is the one that does not lead. Sources that are `gathered` have no badge.
    """
    links = _links(answer, is_other=is_other)
    if not answer.model:
        return _quotes_markdown(answer, links)
    numbers = {source.n for source in answer.sources}
    told: list[int] = []

    def badge(index: int) -> str:
        sentence = answer.sentences[index]
        cited = [number for number in sentence.sources if number in numbers]
        if sentence.supported and cited:
            return "".join(_number(number, link=links[number]) for number in cited)
        if sentence.seen and cited:
            return f"\u00a0:violet-badge[{_(SEEN)}]" + "".join(
                _number(number, "violet", links[number]) for number in cited
            )
        if sentence.is_claim:
            told.append(index)
            return f"\u00a0:orange-badge[{_(_UNSUPPORTED) if len(told) == 1 else _(_UNSUPPORTED_AGAIN)}]"
        return ""

    return markdown_of(blocks_of(answer.answer, answer.sentences), badge)


def streaming_markdown(text: str) -> str:
    """Render what a model has written so far; unclosed Markdown spans are closed."""
    return draft_markdown(text)


def quote_markdown(source: Source, cited: Cited | None = None) -> str:
    """Render one quote in quotation marks, with the badge of its source, which links to its page.

    Lines of source code are a block of code.
    """
    number = _number(source.n, link=source_link(source, cited) if cited else "")
    if is_code(source.document) and "\n" in source.quote:
        return f"{_code(source.quote)}\n\n{number}"
    return _quote_lines(f"“{source.quote}”", {}) + number


def _links(answer: Answer, *, is_other: bool) -> dict[int, str]:
    """Return the link of each source by its number; empty links outside of a conversation."""
    return {
        source.n: source_link(source, cited) if (cited := cited_in(answer, source.n, is_other=is_other)) else ""
        for source in answer.sources
    }


def gathered(answer: Answer) -> tuple[tuple[Source, ...], ...]:
    """Return the rows of a computed answer that are told as one: more than `APART` of a document for a sentence."""
    if answer.computed is None or answer.model:
        return ()
    sources = {source.n: source for source in answer.sources}
    cited = Counter(number for sentence in answer.sentences for number in sentence.sources)
    found: list[tuple[Source, ...]] = []
    for sentence in answer.sentences:
        here = [sources[number] for number in sentence.sources if number in sources and cited[number] == 1]
        found += by_document(here)
    return tuple(group for group in found if len(group) > APART)


def by_document(sources: Iterable[Source]) -> list[tuple[Source, ...]]:
    """Return sources in groups of one document each, in the order of the first of each."""
    groups: dict[str, list[Source]] = {}
    for source in sources:
        groups.setdefault(source.doc_id, []).append(source)
    return [tuple(group) for group in groups.values()]


def _quotes_markdown(answer: Answer, links: Mapping[int, str]) -> str:
    numbers = {f"[{n}]": _number(n, link=link) for n, link in links.items()}
    numbers |= {f"[{source.n}]": "" for group in gathered(answer) for source in group}
    held = _held(answer)
    if answer.outcome not in ("documents", "summary", "list"):
        return "\n\n".join(_quotes_and_code(answer, held, numbers))
    paragraphs = held.split("\n\n")
    parts: list[str] = []
    at = 0
    for paragraph in paragraphs:
        end = at + len(paragraph)
        begin = min((max(0, s.start - at) for s in answer.sentences if s.start < end and at < s.end), default=end - at)
        label, said = paragraph[:begin].strip(), paragraph[begin:]
        named = f"**{words(label.replace(_BRACKET, '['))}**" if label else ""  # a heading, or the name of a document
        parts.append(f"{named} {_quote_lines(said, numbers)}".strip())
        at += len(paragraph) + 2
    return "\n\n".join(parts)


def _quotes_and_code(answer: Answer, held: str, numbers: Mapping[str, str]) -> Iterator[str]:
    """Yield the paragraphs of quotes; a quote of a file of source code is a block of code."""
    code = {source.n for source in answer.sources if is_code(source.document)}
    at = 0
    for sentence in answer.sentences:
        quote = answer.answer[sentence.start : sentence.end]
        is_quoted = bool(sentence.sources) and code.issuperset(sentence.sources) and quote[:1] + quote[-1:] == "“”"
        if is_quoted and "\n" in quote:
            yield from _paragraphs(held[at : sentence.start], numbers)
            yield _code(quote[1:-1])
            at = sentence.end
    yield from _paragraphs(held[at:], numbers)


def _code(quote: str) -> str:
    return markdown_of((Code(dedent(visible(quote))),), lambda _index: "")


def _paragraphs(text: str, numbers: Mapping[str, str]) -> Iterator[str]:
    return (_quote_lines(paragraph, numbers) for paragraph in text.split("\n\n") if paragraph.strip())


def _held(answer: Answer) -> str:
    """Return the text of quotes with other characters for the brackets within them, in the same places."""
    text = answer.answer
    for sentence in answer.sentences:
        quote = text[sentence.start : sentence.end].replace("[", _BRACKET)
        text = text[: sentence.start] + quote + text[sentence.end :]
    return text


def _quote_lines(text: str, numbers: Mapping[str, str]) -> str:
    lines = []
    for line in quote_lines(text):
        out = _INDENT * ((len(line) - len(line.lstrip())) // 2)
        for part in _MARKER.split(line.lstrip()):
            out = out.rstrip(" ") + numbers[part] if part in numbers else out + words(part.replace(_BRACKET, "["))
        lines.append(_ARROW.sub(f"\\1{_JOINER}", out.strip(" ")))
    return "\\\n".join(lines)


def _number(number: int, colour: str = "green", link: str = "") -> str:
    badge = f":{colour}-badge[{number}]"
    return f"\u00a0[{badge}]({link})" if link else f"\u00a0{badge}"


_USER = ":material/person:"
_DOCMIND = str(Path(__file__).parent / "mark.svg")


def question(text: str, key: str) -> DeltaGenerator:
    """Draw the question as it was typed, and return its row so that callers can add to it."""
    line = st.container(horizontal=True, vertical_alignment="top", gap="small", key=f"{key}-question")
    line.text(visible(text), width="stretch")
    return line


def asking() -> DeltaGenerator:
    """Return the container of a question; a context manager."""
    return st.chat_message("user", avatar=_USER)


def assistant() -> DeltaGenerator:
    """Return the container of an answer; a context manager."""
    return st.chat_message("assistant", avatar=_DOCMIND)
