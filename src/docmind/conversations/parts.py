"""Parts of documents that fit into a language model's context, for summaries of parts.

A part is consecutive text, cut before headings where that is possible, and shown page by page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from docmind.answers import is_heading
from docmind.conversations.prompts import PER_TOKEN, quotation, tokens_of
from docmind.conversations.run_context import PageKey
from docmind.documents import PageRecord

_MARKUP = 32  # tokens of a quotation's tags, with the document's name

Piece = tuple[PageRecord, int, int]
"""Consecutive text of one page: `page.text[start:end]`."""


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive text of one document, as pieces of its pages; a piece is empty where only the page's image counts."""

    document: str
    pieces: tuple[Piece, ...]

    @property
    def pages(self) -> list[PageRecord]:
        """The pages that it has text of, each once."""
        return list({page.page_no: page for page, _, _ in self.pieces}.values())

    def shown(self) -> str:
        """Format the part as quotations, one for each page."""
        spans: dict[int, tuple[int, int]] = {}
        for page, start, end in self.pieces:
            first, last = spans.get(page.page_no, (start, end))
            spans[page.page_no] = min(first, start), max(last, end)
        return "\n".join(
            quotation(page.text[slice(*spans[page.page_no])], self.document, page=page.page_no) for page in self.pages
        )


def parts_of(pages: Sequence[PageRecord], document: str, room: int, images: Mapping[PageKey, int]) -> list[Part]:
    """Return the text of a document's pages as parts of at most `room` tokens each, in order.

    `images` are the tokens of the page images that go along; a page without words is left out unless it has one.
    """
    parts: list[Part] = []
    open_pieces: list[Piece] = []
    used, last_page = 0, 0
    for page, start, end in _pieces(pages, room, images):
        cost = tokens_of(page.text[start:end])
        if page.page_no != last_page or not open_pieces:
            cost += _MARKUP + images.get((page.doc_id, page.page_no), 0)
        if open_pieces and used + cost > room:
            parts.append(Part(document, tuple(open_pieces)))
            open_pieces, used = [], 0
        open_pieces.append((page, start, end))
        used, last_page = used + cost, page.page_no
    return [*parts, Part(document, tuple(open_pieces))] if open_pieces else parts


def most_parts(calls: int, fan_in: int) -> int:
    """Return how many parts `calls` calls can read, where `fan_in` summaries are put together in one call."""
    return next((parts for parts in range(calls, 1, -1) if calls_for(parts, fan_in) <= calls), 1)


def calls_for(parts: int, fan_in: int) -> int:
    """Return how many calls read so many parts and put their summaries together."""
    calls = parts
    while parts > fan_in:
        parts = -(-parts // fan_in)
        calls += parts
    return calls + (parts > 1)


def spread(parts: Sequence[Sequence[Part]], most: int) -> list[Part]:
    """Return at most `most` parts of some documents, evenly from each; one of each where `most` allows."""
    total = sum(map(len, parts))
    if total <= most:
        return [part for of_one in parts for part in of_one]
    held = [of_one for of_one in parts if of_one][:most]
    shares = [max(1, most * len(of_one) // total) for of_one in held]
    while sum(shares) > most:
        shares[int(np.argmax(shares))] -= 1
    chosen: list[Part] = []
    for of_one, count in zip(held, shares, strict=True):
        chosen += [of_one[round(at)] for at in np.linspace(0, len(of_one) - 1, count)]
    return chosen


def _pieces(pages: Sequence[PageRecord], room: int, images: Mapping[PageKey, int]) -> Iterator[Piece]:
    """Yield the sections of pages in order; one that no part has room for is cut."""
    for page in pages:
        taken = images.get((page.doc_id, page.page_no), 0)
        if not page.text.strip():
            if taken:
                yield page, 0, 0
            continue
        for start, end in _sections(page.text):
            for cut in _cuts(page.text, start, end, max(16, room - _MARKUP - taken)):
                yield page, *cut


def _sections(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans from each heading to the next, without those of white space alone."""
    start = at = 0
    for line in text.splitlines(keepends=True):
        if at > start and is_heading(line) and text[start:at].strip():
            yield start, at
            start = at
        at += len(line)
    if text[start:].strip():
        yield start, len(text)


def _cuts(text: str, start: int, end: int, room: int) -> Iterator[tuple[int, int]]:
    """Yield spans of at most `room` tokens, cut after a paragraph, a sentence, a line or a word."""
    while tokens_of(text[start:end]) > room and end - start > 1:
        size = max(1, int(room * PER_TOKEN))
        while size > 1 and tokens_of(text[start : start + size]) > room:
            size = size * 3 // 4
        piece = text[start : start + size]
        ends = ((mark, piece.rfind(mark)) for mark in ("\n\n", ". ", "\n", " "))
        cut = next((at + len(mark) for mark, at in ends if at >= size // 2), size)
        yield start, start + cut
        start += cut
    yield start, end
