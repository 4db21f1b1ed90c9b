"""What a reading process sends, checked: it may have been taken over by the file it reads."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, TypeGuard, get_args

from docmind import errors
from docmind.errors import DamagedError, ReadingError, WorkerFailedError
from docmind.schema import ParsedPage, TextSource
from docmind.words import Words
from docmind.worker import Frame

_KIND = re.compile("[a-z]{1,8}")
_LARGEST_SIDE, _MOST = 65_535, 1 << 31  # pixels; pages
_LONGEST_SENTENCE = 500


def opening_of(header: dict[str, Any]) -> tuple[str, str, int, str]:
    """Kind, title, number of pages, and what is told about them. Raises `WorkerFailedError`."""
    kind, title, pages, told = (header.get(name) for name in ("kind", "title", "pages", "told"))
    is_named = isinstance(kind, str) and _KIND.fullmatch(kind)
    if not (is_named and isinstance(title, str) and _is_count(pages) and isinstance(told, str)):
        raise WorkerFailedError("a worker opened a file and did not say what it is")
    return str(kind), title, pages, told[:_LONGEST_SENTENCE]


def page_of(frame: Frame, pages: int, before: Collection[int]) -> ParsedPage:
    """One of `pages` pages that did not come `before`: what could not be stored or shown is no page.

    Raises `WorkerFailedError`.
    """
    header, blobs = frame
    try:
        text, words, image, thumbnail = blobs
        Words.unpack(words)
        page = ParsedPage(text=text.decode(), words=words, image=image, thumbnail=thumbnail, **header)
    except (TypeError, ValueError, DamagedError) as error:
        raise WorkerFailedError("a worker sent a page that cannot be read") from error
    sides = _is_count(page.width) and _is_count(page.height) and max(page.width, page.height) <= _LARGEST_SIDE
    told = page.text_source in get_args(TextSource) and isinstance(page.confidence, int | float)
    if not (sides and told and _is_count(page.page_no) and page.page_no <= pages and page.page_no not in before):
        raise WorkerFailedError("a worker sent a page that cannot be one of this document")
    return page


def error_of(header: dict[str, Any]) -> ReadingError:
    """The error that the reading process named; only the classes of our own tree can be named."""
    kind = getattr(errors, str(header["error"]), ReadingError)
    if not (isinstance(kind, type) and issubclass(kind, ReadingError)):
        kind = ReadingError
    return kind(str(header.get("message", "")), hint=str(header.get("hint", kind.hint)))


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 1 <= value <= _MOST
