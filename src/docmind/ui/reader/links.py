"""Links that open the reader: the fragment of an address, which the reader's script reads.

A link names a page, and where it was cited: conversation, turn and number of the source. What is highlighted comes from
the server; only the outline that a picture matched is in the link itself.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from docmind.records.answers import Answer
from docmind.records.search import Quad

_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")


class Cited(NamedTuple):
    """A turn of a conversation, and the number of one of its sources; 0 is none of them."""

    thread_id: str
    checkpoint_id: str
    n: int = 0


def reader_link(doc_id: str, page_no: int, *, cited: Cited | None = None, quad: Quad = ()) -> str:
    """Return the address that opens this page: a fragment, safe in Markdown and in an attribute.

    With `cited` the page is shown as it was when it was cited, its quote highlighted, and with `quad` (corners in
    pixels of the page image) a region is outlined. Raises `ValueError` where an id is malformed.
    """
    link = f"#read={_checked(doc_id)}.{page_no:d}"
    if cited is not None:
        link += f"&from={_checked(cited.thread_id)}.{_checked(cited.checkpoint_id)}.{cited.n:d}"
    if quad and all(math.isfinite(value) for corner in quad for value in corner):
        link += "&quad=" + ".".join(f"{round(value)}" for corner in quad for value in corner)
    return link


def cited_in(answer: Answer, n: int = 0) -> Cited | None:
    """Return the place of source `n` of an answer; None for an answer outside of a conversation."""
    if not answer.thread_id or not answer.checkpoint_id:
        return None
    return Cited(answer.thread_id, answer.checkpoint_id, n)


def _checked(name: str) -> str:
    if not _ID.fullmatch(name):
        raise ValueError("an id has 1 to 64 letters, digits, hyphens and underscores")
    return name
