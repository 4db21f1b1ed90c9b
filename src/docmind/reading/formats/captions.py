"""Captions, given to the tables beside which they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from docmind.blocks import Block, Table

_TABLE = r"(?:table|tab\.?|tabela|tabla|tabelle|tableau|tabella|tabel|tabell|quadro|cuadro|таблица)"
_NAMED = re.compile(rf"{_TABLE}\s", re.IGNORECASE)
_PLAIN = re.compile(rf"{_TABLE}\s+[A-Z]?[\dIVX]+(?:[.\-–]\d+)*\s*(?:[:.–—-]\s*\S.*)?", re.IGNORECASE)
_PLAIN_MAX = 200  # characters of a caption that has no style of one
_FIGURE = re.compile(
    r"(?:fig|abb|gráfico|grafico|graph|chart|imagem|imagen|image|photo|foto|ilustra|рис)", re.IGNORECASE
)
_FIGURE_SAID = re.compile(
    r"(?:fig(?:ure|ura)?\.?|abb(?:ildung)?\.?|gráfico|grafico|graph|chart|diagram|diagrama|image|imagem|imagen|photo|foto|"
    r"ilustra(?:ção|ción)|illustration|plate|рис(?:унок)?\.?|exhibit|map|mapa)\s*[A-Z]?[\dIVX]+(?:[.\-–]\d+)*[a-z]?\s*"
    r"(?:[:.)|–—-](?:\s|$)|$)",
    re.IGNORECASE,
)
_PROMPT = re.compile(r"(?:In|Out) ?\[")  # of a cell of a notebook
_FIGURE_MAX = 500  # characters of a caption of a figure that has no style of one
_BETWEEN = frozenset(("footnote", "comment"))


def with_captions(blocks: Iterable[Block | Table]) -> Iterator[Block | Table]:
    """Yield blocks; a caption directly above a table, or else directly below it, is that table's.

    Parts of code that follow each other become one.
    """
    table: Table | None = None
    caption: Block | None = None
    between: list[Block | Table] = []
    code: list[str] = []
    for block in blocks:
        if code and not (isinstance(block, Block) and block.kind == "code"):
            yield Block(kind="code", text="\n".join(code))
            code = []
        if isinstance(block, Table):
            if caption is not None and not block.caption and not _FIGURE.match(caption.text):
                block, caption = replace(block, caption=caption.text), None
            yield from _flushed(table, caption, between)
            table, caption, between = block, None, []
        elif _is_caption(block) and caption is None:
            caption = block
        elif block.kind in _BETWEEN and (table is not None or caption is not None):
            between.append(block)
        else:
            yield from _flushed(table, caption, between)
            table, caption, between = None, None, []
            if _is_caption(block):
                caption = block
            elif block.kind == "code":
                code.append(block.text)
            else:
                yield block
    if code:
        yield Block(kind="code", text="\n".join(code))
    yield from _flushed(table, caption, between)


def _is_caption(block: Block) -> bool:
    if block.kind == "caption":
        return True
    return block.kind == "paragraph" and len(block.text) <= _PLAIN_MAX and bool(_PLAIN.fullmatch(block.text))


def is_of_figure(block: Block) -> bool:
    """Return whether a block that stands beside a picture is its caption."""
    if block.kind == "caption":
        return not _NAMED.match(block.text) and not _PROMPT.match(block.text)
    return block.kind == "paragraph" and len(block.text) <= _FIGURE_MAX and bool(_FIGURE_SAID.match(block.text))


def _flushed(table: Table | None, caption: Block | None, between: list[Block | Table]) -> Iterator[Block | Table]:
    if table is not None and caption is not None and not table.caption and _NAMED.match(caption.text):
        table, caption = replace(table, caption=caption.text), None
    if table is not None:
        yield table
    if caption is not None:
        yield replace(caption, kind="caption")
    yield from between
