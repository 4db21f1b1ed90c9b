"""Links that open the reader: the fragment of an address, which the script of `docmind.ui.reader` reads.

A link names a page, and where it was cited: conversation, turn and number of the source. What is highlighted comes from
the server; only the outline that a picture matched is in the link itself.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from docmind.errors import NotFoundError
from docmind.records.answers import Answer, Source
from docmind.records.documents import Figure
from docmind.records.search import Quad
from docmind.wording import _

_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
_NUMBER = re.compile(r"[0-9]{1,4}", re.ASCII)


class Cited(NamedTuple):
    """A turn of a conversation, and the number of one of its sources as `cited_in` makes it; 0 is none of them."""

    thread_id: str
    checkpoint_id: str
    n: int = 0


def reader_link(doc_id: str, page_no: int, *, cited: Cited | None = None, quad: Quad = ()) -> str:
    """Return the address that opens this page: a fragment, safe in Markdown and in an attribute.

    With `cited` the page is shown as it was when it was cited, its quote highlighted, and with `quad` (corners in
    pixels of the page image) a region of it is outlined. Raises `ValueError` where an id is malformed.
    """
    link = f"#read={_checked(doc_id)}.{page_no:d}"
    if cited is not None:
        link += f"&from={_checked(cited.thread_id)}.{_checked(cited.checkpoint_id)}.{cited.n:d}"
    if quad and all(math.isfinite(value) for corner in quad for value in corner):
        link += _outline(page_no, quad)
    return link


def xray_link(doc_id: str, page_no: int) -> str:
    """Return the address that opens what was read on this page; raises as `reader_link`."""
    return f"#xray={_checked(doc_id)}.{page_no:d}"


def figure_link(figure: Figure, cited: Cited | None = None) -> str:
    """Return the address that opens the page of a figure, which is outlined there."""
    return outlining(reader_link(figure.doc_id, figure.page_no, cited=cited), figure)


def outlining(link: str, figure: Figure) -> str:
    """Return an address of the page of a figure with which the figure is outlined there too."""
    x, y, w, h = figure.box
    return link + _outline(figure.page_no, ((x, y), (x + w, y), (x + w, y + h), (x, y + h)))


def _outline(page_no: int, quad: Quad) -> str:
    return f"&quad={page_no:d}." + ".".join(f"{round(value)}" for corner in quad for value in corner)


_OTHERS = 1_000  # added to the numbers of the sources of the answer that does not lead


def cited_in(answer: Answer, n: int = 0, *, is_other: bool = False) -> Cited | None:
    """Return the place of source `n` of an answer; None for an answer outside of a conversation.

    With 0 it is the number to which those of sources are added. `is_other` says that the answer is the one that does
    not lead.
    """
    if not answer.thread_id or not answer.checkpoint_id:
        return None
    return Cited(answer.thread_id, answer.checkpoint_id, n + (_OTHERS if is_other else 0))


def source_at(answer: Answer, n: int) -> Source | None:
    """Return the source of this number in a link: of the answer, or of the other one beside it."""
    among = answer.other if n > _OTHERS else answer
    return next((one for one in among.sources if one.n == n % _OTHERS), None) if among is not None else None


def _checked(name: str) -> str:
    if not _ID.fullmatch(name):
        raise ValueError("an id has 1 to 64 letters, digits, hyphens and underscores")
    return name


def source_link(source: Source, cited: Cited | None = None) -> str:
    """Return the address that opens the page of a source, at its quote where `cited` names where it was cited."""
    return reader_link(source.doc_id, source.page_no, cited=cited)


def cited_of(text: str) -> Cited:
    """Return what the `from` of a link names. Raises `NotFoundError` where it is malformed."""
    parts = text.split(".")
    if len(parts) != 3 or not (_ID.fullmatch(parts[0]) and _ID.fullmatch(parts[1]) and _NUMBER.fullmatch(parts[2])):
        raise NotFoundError(_("This link names no place in a conversation."))
    return Cited(parts[0], parts[1], int(parts[2]))
