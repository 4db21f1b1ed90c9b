"""Windows of one page's text: what becomes a node, what is embedded for it and what BM25 counts.

A node never crosses a page. It knows its character span, and through the page's words its boxes. What is embedded is
the window behind a label (document and heading): a page must know its document.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator

from docmind.nodestore import NodeRecord
from docmind.schema import DocumentInfo, Modality

WINDOW, OVERLAP = 120, 20  # words
_NODES = uuid.UUID("0b7c4a52-5a1a-5d0c-8f0e-2f6f0c3f4f11")
_WORD = re.compile(r"\S+")


def windows(text: str) -> Iterator[tuple[int, int]]:
    """Spans `[start, end)` of windows of 120 words that overlap by 20; a short tail joins the window before it."""
    words = [match.span() for match in _WORD.finditer(text)]
    at = 0
    while at < len(words):
        last = at + WINDOW
        if len(words) - last < WINDOW // 3:
            last = len(words)
        yield words[at][0], words[last - 1 if last <= len(words) else -1][1]
        if last >= len(words):
            return
        at = last - OVERLAP


def label(info: DocumentInfo) -> str:
    """What a document is called, in words: its file name without punctuation, and its title where it has one."""
    stem = info.document.rsplit(".", 1)[0]
    name = " ".join(re.split(r"[\W_]+", stem)).strip()
    return f"{name}. {info.title}" if info.title and info.title.lower() != name.lower() else name


def embedded_text(info: DocumentInfo, node: NodeRecord, page_text: str) -> str:
    """What the dense model reads for a node."""
    return f"{label(info)}\n{page_text[node.start : node.end]}"


def lexical_text(info: DocumentInfo, node: NodeRecord, page_text: str) -> str:
    """What BM25 counts for a node."""
    return page_text[node.start : node.end]


def node_of(
    info: DocumentInfo, page_no: int, language: str, ordinal: int, span: tuple[int, int], text: str
) -> NodeRecord:
    """The record of one window; its id and content hash depend on nothing but what it is."""
    start, end = span
    modality: Modality = "text"
    draft = NodeRecord("", info.doc_id, page_no, ordinal, start, end, modality, language, "", b"")
    content = hashlib.sha256(embedded_text(info, draft, text).encode()).digest()[:16]
    name = f"{info.doc_id}/{page_no}/{ordinal}/{start}/{end}"
    node_id = str(uuid.uuid5(_NODES, name))
    return NodeRecord(node_id, info.doc_id, page_no, ordinal, start, end, modality, language, "", content)
