"""Windows of one page's text: the text of each node, and the text embedded for it.

A window never crosses a page. It has a character span, and boxes through the page's words. The embedded text is
the window after a label that names the document: a filing's company and year often appear in its title or file name
and not on its pages.
"""

from __future__ import annotations

import hashlib
import math
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from docmind.blocks import PageBlock
from docmind.documents import NodeRecord
from docmind.embedding.base import LimitedEmbedder, TextEmbedder
from docmind.records.documents import DocumentInfo, Modality

WINDOW, OVERLAP, LABEL = 220, 0, 32  # word pieces; with the label a window stays under the model's 256
_BEFORE_CHARS = 160  # of the paragraph above code, from its end
_CONTEXT_CHARS, _PIECE_CHARS = 200, 3  # of what is embedded before rows; characters of a word piece, at least
_COVERED = 0.9  # of a page's text, by blocks that say what all of it is
_AROUND = 4  # the special tokens, and the full stop behind the label
_NODES = uuid.UUID("0b7c4a52-5a1a-5d0c-8f0e-2f6f0c3f4f11")
_FEW_PIECES = 40  # of a part of code that is no node by itself
_WORD = re.compile(r"\S+")
_LINE = re.compile(r"^[^\S\n]*+\S[^\n]*", re.MULTILINE)
_LEADERS = re.compile(r"([._\-–—=*•·])(?:\s*\1){2,}")
_REAL_WORD = re.compile(r"[^\W\d_]{3,}")
_MODALITIES: dict[str, Modality] = {  # by kind of file; others: text
    **dict.fromkeys(("csv", "xlsx", "xls", "xlsb", "ods", "vcard", "calendar"), "table"),
    "code": "code",
}


def without_leaders(text: str) -> str:
    """Return the text with runs of dots, dashes and underscores blanked out; all characters keep their offsets."""
    return _LEADERS.sub(lambda match: " " * len(match.group()), text)


def sizes_of(embedder: TextEmbedder) -> tuple[int, int]:
    """Return the word pieces of a window and of a label, so that both fit into the model."""
    if not isinstance(embedder, LimitedEmbedder):
        return WINDOW, LABEL
    label = min(LABEL, embedder.max_tokens // 4)
    return max(1, min(WINDOW, embedder.max_tokens - label - _AROUND)), label


class Part(NamedTuple):
    """A part of a page that becomes a node."""

    start: int
    end: int
    modality: Modality
    context: str


class FigureText(NamedTuple):
    """The words of a figure: `text[start:end]` of its page, and what stands nowhere on it."""

    start: int
    end: int
    context: str


def _with_figures(
    parts: Sequence[Part], text: str, pieces: np.ndarray, size: int, figures: Sequence[FigureText]
) -> list[Part]:
    """Return the parts, then one for the words of each figure: those that are a part already are not repeated."""
    found = list(parts)
    known = {(part.start, part.end) for part in parts if part.modality == "image_caption"}
    for start, end, context in dict.fromkeys(figures):
        first = next(iter(_windows_of(text, pieces, size, start, end)), None)
        if first is not None and (first not in known or context):
            found.append(Part(*first, "image_caption", context))
        elif first is None and context:
            found.append(Part(0, 0, "image_caption", context))
    return found


def parts_of(text: str, pieces: np.ndarray, size: int, blocks: Sequence[PageBlock]) -> list[Part]:
    """Return the parts of a page that is made of blocks; none where they cover only a part of it.

    Rows of a table are kept together and apart from prose, and a row is not torn where it fits into a window. Of code
    each definition is a part, whose context is what it stands in and the paragraph above it; a long one is cut between
    lines. `pieces` holds the
    offsets of the model's word pieces in `text`, shape (n, 2).

    Of a page of a PDF only tables are known. Cut apart from the text around them, their rows were found less often
    (recall at 5 of questions to financial filings 0.842 to 0.789), so such a page is cut at equal steps.
    """
    said = sum(len("".join(text[block.start : block.end].split())) for block in blocks)
    if said < _COVERED * len("".join(text.split())):
        return []
    found: list[Part] = []
    before = ""
    for run in _runs(text, blocks):
        modality = _modality_of(run)
        if modality == "table":
            names = _names_of(run)
            room = max(size // 2, size - len(names) // _PIECE_CHARS)
            for start, end in _row_windows(text, pieces, room, run):
                is_named = any(start <= one.start < end for one in run if one.kind == "header_row")
                found.append(Part(start, end, modality, "" if is_named else names))
        elif modality == "code":
            for definitions in _definitions(run, pieces):
                named = " · ".join(filter(None, (_above(definitions), before)))
                room = max(size // 2, size - len(named) // _PIECE_CHARS)
                for start, end in _row_windows(text, pieces, room, _lines_of(text, definitions)):
                    found.append(Part(start, end, modality, named))
        else:
            spans = _windows_of(text, pieces, size, run[0].start, run[-1].end)
            found += [Part(start, end, modality, "") for start, end in spans]
        before = _end_of(text, run[-1]) if modality == "text" else ""
    return found


def _end_of(text: str, block: PageBlock) -> str:
    """Return the last words of a paragraph or item, which say what the code below it is for; "" for other blocks."""
    if block.kind not in ("paragraph", "item"):
        return ""
    said = " ".join(text[block.start : block.end].split())
    return said if len(said) <= _BEFORE_CHARS else said[-_BEFORE_CHARS:].partition(" ")[2]


def _runs(text: str, blocks: Sequence[PageBlock]) -> Iterator[list[PageBlock]]:
    """Yield neighbouring blocks that become nodes together; text between blocks is prose.

    A heading or caption directly above rows belongs to them, and so does a caption directly above code.
    """
    run: list[PageBlock] = []
    for block in _covering(text, blocks):
        if run and _is_apart(run, block):
            titles = ("heading", "caption") if block.table is not None else ("caption",)
            above = len(run)
            while above and run[above - 1].kind in titles and (block.table is not None or block.kind == "code"):
                above -= 1
            if above:
                yield run[:above]
            run = run[above:]
        run.append(block)
    if run:
        yield run


def _covering(text: str, blocks: Sequence[PageBlock]) -> Iterator[PageBlock]:
    """Yield the blocks of a page, and what lies between them as paragraphs."""
    at = 0
    for block in (*blocks, PageBlock("paragraph", len(text), len(text))):
        if text[at : block.start].strip():
            yield PageBlock("paragraph", at, block.start)
        if text[block.start : block.end].strip():
            yield block
        at = block.end


def _is_apart(run: Sequence[PageBlock], block: PageBlock) -> bool:
    """Return whether a block begins another node than the one before it: another table, or other than prose."""
    return _family(run[-1]) != _family(block)


def _family(block: PageBlock) -> object:
    return block.table.number if block.table is not None else "code" if block.kind == "code" else "text"


def _modality_of(run: Sequence[PageBlock]) -> Modality:
    if run[-1].table is not None:
        return "table"
    if all(block.kind in ("figure", "caption") for block in run):
        return "image_caption"
    return "code" if run[-1].kind == "code" else "text"


def _names_of(run: Sequence[PageBlock]) -> str:
    """Return the caption of a table and the names of its columns."""
    table = run[-1].table
    if table is None:
        return ""
    names = " | ".join(filter(None, table.header))
    return ". ".join(filter(None, (table.caption, names)))[:_CONTEXT_CHARS]


def _definitions(run: Sequence[PageBlock], pieces: np.ndarray) -> Iterator[list[PageBlock]]:
    """Yield each part of code with the caption above it; those of a few word pieces go with the ones after them."""
    held: list[PageBlock] = []
    for block in run:
        if held and held[-1].kind == "code" and _pieces_in(pieces, held[0].start, held[-1].end) >= _FEW_PIECES:
            yield held
            held = []
        held.append(block)
    if held:
        yield held


def _pieces_in(pieces: np.ndarray, start: int, end: int) -> int:
    if not len(pieces):
        return 0
    first, last = np.searchsorted(pieces[:, 0], (start, end))
    return int(last - first)


def _above(definitions: Sequence[PageBlock]) -> str:
    """Return the headings and symbols of parts of code, those that several have in common once."""
    named = dict.fromkeys(symbol for block in definitions if block.kind == "code" for symbol in block.path)
    return " · ".join(named)[:_CONTEXT_CHARS]


def _lines_of(text: str, blocks: Sequence[PageBlock]) -> list[PageBlock]:
    """Return the lines of blocks as blocks: code is cut between lines."""
    return [
        replace(block, start=block.start + line.start(), end=block.start + line.end())
        for block in blocks
        for line in _LINE.finditer(text[block.start : block.end])
    ]


def _windows_of(text: str, pieces: np.ndarray, size: int, start: int, end: int) -> list[tuple[int, int]]:
    """Return windows of a part of a page."""
    inside = pieces[(pieces[:, 0] >= start) & (pieces[:, 1] <= end)] - start if len(pieces) else pieces
    return [(start + first, start + last) for first, last in windows(text[start:end], inside, size)]


def _row_windows(text: str, pieces: np.ndarray, size: int, run: Sequence[PageBlock]) -> Iterator[tuple[int, int]]:
    """Yield windows of whole rows, as many of about equal length as are needed; a row above `size` is cut."""
    counts = np.searchsorted(pieces[:, 0], [(one.start, one.end) for one in run]) if len(pieces) else None
    if counts is None:
        yield run[0].start, run[-1].end
        return
    total = int(counts[-1, 1] - counts[0, 0])
    share = total / max(1, math.ceil(total / size))
    first, used = run[0].start, 0
    last = first
    for block, (begin, end) in zip(run, counts.tolist(), strict=True):
        if used and used + end - begin > min(size, share * 1.1):
            yield first, last
            first, used = block.start, 0
        if end - begin > size:
            *whole, (first, last) = _windows_of(text, pieces, size, block.start, block.end)
            yield from whole
            used = size
            continue
        used += end - begin
        last = block.end
    yield first, last


def windows(text: str, pieces: np.ndarray, size: int = WINDOW) -> Iterator[tuple[int, int]]:
    """Yield spans `[start, end)` of at most about `size` word pieces, of equal step, cut at white space.

    `pieces` holds the offsets of the model's word pieces in `text`, shape (n, 2). A page of `size` or less is one
    window.
    """
    words = [match.span() for match in _WORD.finditer(text)]
    if not words:
        return
    starts = np.array([start for start, _ in words])
    total = len(pieces)
    count = max(1, math.ceil((total - OVERLAP) / (size - OVERLAP)))
    step = (total - OVERLAP) / count
    # The word in which each piece begins: windows are measured in pieces and cut between words.
    word_of = np.searchsorted(starts, pieces[:, 0], side="right") - 1 if total else np.zeros(0, np.int64)
    before = None
    for number in range(count):
        first = 0 if number == 0 else int(word_of[int(number * step)])
        last = len(words) - 1 if number == count - 1 else int(word_of[int(number * step + step + OVERLAP) - 1])
        span = words[first][0], words[max(first, last)][1]
        if span != before:  # a word of thousands of pieces fills several windows by itself
            yield span
        before = span


def name_of(document: str, title: str) -> str:
    """Return a document's name in words: its file name, and its title where that adds words."""
    name = " ".join(re.split(r"[\s_.\-]+", document.rsplit(".", 1)[0])).strip()
    title = " ".join(title.replace("_", " ").split())
    tells = len(_REAL_WORD.findall(title)) >= 2 and not _said(title) <= _said(name)
    return f"{name}. {title}" if tells else name


def label_of(info: DocumentInfo, embedder: TextEmbedder) -> str:
    """Return the document's name in at most 32 word pieces, as it is put before every window.

    For a model of short texts it is at most a quarter of what the model takes. A name edited later does not count: the
    vectors were made with the one under which it was read.
    """
    document, title = info.read_as or (info.document, info.title)
    name = name_of(document, title)
    pieces, most = embedder.pieces(name), sizes_of(embedder)[1]
    return name if len(pieces) <= most else name[: pieces[most - 1][1]]


def embedded_text(label: str, window: str) -> str:
    """Return the text that the dense model embeds for a window."""
    return f"{label}. {' '.join(without_leaders(window).split())}"


def prefix_of(label: str, context: str) -> str:
    """Return what is embedded before the text of a node: the name of its document, and its context."""
    return f"{label}. {context}" if context else label


def embedded_node(label: str, node: NodeRecord, text: str) -> str:
    """Return the text that the dense model embeds for a node of a page with this text."""
    return embedded_text(prefix_of(label, node.context), text[node.start : node.end])


def embedded_spans(label: str, window: str, spans: np.ndarray) -> np.ndarray:
    """Map spans `(n, 2)` of `embedded_text(label, window)` to spans of `window`; those in the label become (0, 0)."""
    begin = len(label) + 2
    at = [place for match in _WORD.finditer(without_leaders(window)) for place in range(match.start(), match.end() + 1)]
    places = np.array([*at, len(window)], np.int64)  # of each character, and of the blank behind each word
    inside = spans - begin
    found = np.stack([places[inside[:, 0].clip(0)], places[(inside[:, 1] - 1).clip(0)] + 1], axis=1)
    found[inside[:, 0] < 0] = 0
    return found


def whole_words(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Grow spans in order to whole words, and merge those with only white space between them."""
    found: list[tuple[int, int]] = []
    for start, end in spans:
        while start > 0 and text[start - 1].isalnum() and text[start : start + 1].isalnum():
            start -= 1
        while end < len(text) and text[end].isalnum() and text[end - 1 : end].isalnum():
            end += 1
        if found and not text[found[-1][1] : start].strip():
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def node_id_of(doc_id: str, page_no: int, ordinal: int, start: int, end: int) -> str:
    """Return the id of a node: it depends on its place in its document alone."""
    return str(uuid.uuid5(_NODES, f"{doc_id}/{page_no}/{ordinal}/{start}/{end}"))


def nodes_of_page(
    info: DocumentInfo,
    label: str,
    embedder: TextEmbedder,
    page_no: int,
    language: str,
    text: str,
    blocks: Sequence[PageBlock] = (),
    figures: Sequence[FigureText] = (),
) -> Iterator[tuple[NodeRecord, str]]:
    """Yield the nodes of one page, each with its embedded text. Ids and hashes are deterministic.

    `blocks` says what the text is made of; without them, the kind of file does. Each of the `figures` that has words
    is a node of its own behind the others, which stay as they would be without it.
    """
    clear = without_leaders(text)
    pieces, size = embedder.pieces(clear), sizes_of(embedder)[0]
    if info.kind == "pdf":  # its heads, feet and notes say nothing of what the rest of the page is
        blocks = [block for block in blocks if block.kind not in ("header", "footer", "footnote")]
    known = parts_of(clear, pieces, size, blocks)
    parts = known or [Part(*span, _MODALITIES.get(info.kind, "text"), "") for span in windows(clear, pieces, size)]
    for ordinal, (start, end, modality, context) in enumerate(_with_figures(parts, clear, pieces, size, figures)):
        embedded = embedded_text(prefix_of(label, context), text[start:end])
        node_id = node_id_of(info.doc_id, page_no, ordinal, start, end)
        content = hashlib.sha256(embedded.encode()).digest()[:16]
        yield (
            NodeRecord(node_id, info.doc_id, page_no, ordinal, start, end, modality, language, content, context),
            embedded,
        )


def _said(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
