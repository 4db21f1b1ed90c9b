"""The words on the pictures of a page that DocMind lays out: screenshots of a deck, scans in a Word document.

The text of such a page comes from its file, and the pictures on it are figures. What OCR reads on them stands behind
the text of the page, one paragraph a picture, and its boxes lie where the picture is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from docmind.blocks import PageBlock, pack, unpack
from docmind.documents import Words, language_of, with_ordinals
from docmind.reading.figures import digest_of
from docmind.reading.sheets import is_sheet
from docmind.records.documents import OcrReading, PageFigure, ParsedPage

_SHORT, _LONG = 100, 300
"""Pixels of the shorter and the longer side of a picture that may have words; smaller ones are icons and logos."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_FEW = 2  # words: less is a brand on a shirt
_SUREST = 254 / 255  # of OCR: text of the file has 1, and is told from it by that


class Seen(Protocol):
    """What OCR read on one picture; `size` is that of the picture in pixels, in which the words have their boxes."""

    @property
    def text(self) -> str: ...
    @property
    def words(self) -> bytes: ...
    @property
    def how(self) -> OcrReading: ...
    @property
    def size(self) -> tuple[int, int]: ...


@dataclass(frozen=True, slots=True)
class PictureRead:
    """A picture of a page, and what was read on it."""

    figure: PageFigure
    seen: Seen


def may_be_read(page: ParsedPage) -> bool:
    """Return whether OCR has something to read on a page: its image, or pictures on it."""
    return page.needs_ocr or bool(_large(page))


def _large(page: ParsedPage) -> tuple[PageFigure, ...]:
    """Return the pictures of a page laid out by DocMind that are large enough for words."""
    if not is_sheet(page.image):
        return ()
    return tuple(each for each in page.figures if min(each.size) >= _SHORT and max(each.size) >= _LONG)


class Pictures:
    """The pictures of one document: equal ones, as a logo on each slide, are read where they stand first."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def of(self, page: ParsedPage) -> tuple[PageFigure, ...]:
        """Return the pictures of the next page that are to be read."""
        new: list[PageFigure] = []
        for figure in _large(page):
            digest = digest_of(figure.image)
            if digest not in self._known:
                self._known.add(digest)
                new.append(figure)
        return tuple(new)


def read_all(figures: Sequence[PageFigure], recognise: Callable[[bytes], Seen]) -> tuple[PictureRead, ...]:
    """Read pictures, and return those with words. Raises what `recognise` raises."""
    read = (PictureRead(figure, recognise(figure.image)) for figure in figures)
    return tuple(one for one in read if len(_WORD.findall(one.seen.text)) >= _FEW)


def with_pictures(page: ParsedPage, read: Sequence[PictureRead]) -> ParsedPage:
    """Return the page with what was read on its pictures at its end.

    A page without a text of its own is one that OCR read.
    """
    if not read:
        return page
    own = Words.unpack(page.words)
    parts, sure = [own], [np.ones(len(own))]
    text, blocks = page.text, list(unpack(page.blocks, len(page.text)))
    for one in read:
        text += "\n\n" if text else ""
        words, start = Words.unpack(one.seen.words), len(text)
        text += with_ordinals(one.seen.text, language_of(one.seen.text))
        boxes = _shown(words.boxes, one.seen.size, one.figure)
        parts.append(Words(words.starts + start, words.ends + start, boxes))
        by_ocr = np.ones(len(words)) if words.certainties is None else words.certainties
        sure.append(np.minimum(by_ocr, _SUREST))
        blocks.append(PageBlock("paragraph", start, len(text)))
    certainties = np.concatenate(sure)
    words = Words(
        np.concatenate([each.starts for each in parts]),
        np.concatenate([each.ends for each in parts]),
        np.concatenate([each.boxes for each in parts]),
        certainties,
    )
    is_only = not page.text.strip()
    return replace(
        page,
        text=text,
        words=words.pack(),
        blocks=pack(blocks),
        text_source="ocr" if is_only else page.text_source,
        confidence=float(certainties.mean()) if is_only and len(certainties) else page.confidence,
        ocr=replace(read[0].seen.how, dpi=page.dpi, unread=0.0),  # the page is more than its picture
    )


def _shown(boxes: np.ndarray, size: tuple[int, int], figure: PageFigure) -> np.ndarray:
    """Return boxes (n, 4) in pixels of a picture of this size as they lie on the image of its page."""
    left, top, wide, high = figure.box
    across, down = wide / max(1, size[0]), high / max(1, size[1])
    return boxes * np.array([across, down, across, down]) + np.array([left, top, 0, 0])
