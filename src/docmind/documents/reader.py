"""Documents as they are read on screen: words that join when they are copied, and search within one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from docmind.documents.catalog import Catalog
from docmind.documents.line_shapes import quads_at, quads_of
from docmind.documents.words import Words
from docmind.errors import DamagedError, NotFoundError
from docmind.language import folded
from docmind.records.answers import Source
from docmind.records.documents import Box
from docmind.records.reader import Joint, PageWord, PlaceFound, PlacesFound, ReadPage
from docmind.records.search import Quad

LONGEST_SEARCH = 200  # characters of a text that is searched for
_MOST = 500  # places that are returned
_HYPHENS = "-\u2010\u00ad"
_BROKEN = re.compile(rf"(?<=\w)[{_HYPHENS}][ \t]*\n[ \t]*(?=[^\W\d_])")
_ITEM = re.compile(r"[-*\u2022\u2023\u25aa\u25cf\u2013]|\(?[0-9A-Za-z]{1,3}[.)]$")
_WIDE = 0.75  # of a line's usual width: a line that ends before this ends its paragraph


class Reader:
    """Reads pages for a person. Thread-safe, as the catalog is."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def page(self, doc_id: str, page_no: int) -> ReadPage:
        """Return a page with its words. Raises `NotFoundError`, `DamagedError`."""
        page, record = self._catalog.page_view(doc_id, page_no), self._catalog.page(doc_id, page_no)
        words = Words.unpack(record.words)
        joints = _joints(page.text, words)
        read = (PageWord(text, box, joint) for (text, box), joint in zip(page.words, joints, strict=True))
        return ReadPage(page, self._catalog.readable(doc_id).title, tuple(read))

    def quads(self, doc_id: str, page_no: int, boxes: Sequence[Box]) -> tuple[Quad, ...]:
        """Return the shapes of quoted lines, from their boxes. Raises `NotFoundError`, `DamagedError`."""
        return quads_of(Words.unpack(self._catalog.page(doc_id, page_no).words), boxes)

    def cited_quads(self, source: Source) -> tuple[Quad, ...]:
        """Return the shapes of a source's lines; those of its boxes where its page is gone."""
        try:
            return self.quads(source.doc_id, source.page_no, source.boxes)
        except NotFoundError:
            return tuple(((x, y), (x + w, y), (x + w, y + h), (x, y + h)) for x, y, w, h in source.boxes)

    def find(self, doc_id: str, text: str) -> PlacesFound:
        """Return where the document holds this text, whatever its case, its accents and its line breaks.

        Characters beyond `LONGEST_SEARCH` are left out; damaged pages are skipped. Raises `NotFoundError`.
        """
        self._catalog.readable(doc_id)
        wanted = _folded(text[:LONGEST_SEARCH]).strip()
        places: list[PlaceFound] = []
        for page in self._catalog.pages_of(doc_id) if wanted else ():
            if wanted not in _folded(page.text):
                continue
            try:
                words = Words.unpack(page.words)
            except DamagedError:
                self._catalog.note_damage(doc_id, page.page_no)
                continue
            for start, end in _spans(page.text, wanted):
                if len(places) == _MOST:
                    return PlacesFound(tuple(places), is_cut=True)
                places.append(PlaceFound(page.page_no, quads_at(words, start, end)))
        return PlacesFound(tuple(places))


def _folded(text: str) -> str:
    """Return text for comparison: without case, accents, hyphens, and broken lines; white space as one space."""
    return " ".join("".join(map(_plain, _BROKEN.sub("", text))).split())


@cache
def _plain(char: str) -> str:
    if char.isspace():
        return " "
    if char in _HYPHENS:
        return ""
    return folded(char)


def _spans(text: str, wanted: str) -> Iterator[tuple[int, int]]:
    """Yield where `wanted`, which is folded, stands in a text, in order and without overlap."""
    folded: list[str] = []
    origins: list[int] = []  # the place in `text` of each folded character
    broken = {at for match in _BROKEN.finditer(text) for at in range(match.start(), match.end())}
    for at, char in enumerate(text):
        for part in "" if at in broken else _plain(char):
            if part != " " or (folded and folded[-1] != " "):
                folded.append(part)
                origins.append(at)
    whole, begin = "".join(folded), 0
    while (found := whole.find(wanted, begin)) >= 0:
        begin = found + len(wanted)
        yield origins[found], origins[begin - 1] + 1


def _joints(text: str, words: Words) -> list[Joint]:
    """Return what joins each word to the next when it is copied."""
    count = len(words)
    rights = words.boxes[:, 0] + words.boxes[:, 2]
    usual = float(np.percentile(rights, 90)) if count else 0.0
    left = float(np.percentile(words.boxes[:, 0], 5)) if count else 0.0
    joints: list[Joint] = []
    for index in range(count):
        if index + 1 == count:
            joints.append("")
            continue
        start, end = int(words.ends[index]), int(words.starts[index + 1])
        between, word = text[start:end], text[int(words.starts[index]) : start]
        following = text[end : int(words.ends[index + 1])]
        if "\n" not in between:
            joints.append(" " if between or end < start else "")
        elif word[-1:] in _HYPHENS and word[-2:-1].isalpha() and following[:1].islower():
            joints.append("-")
        elif between.count("\n") > 1 or _ITEM.match(following) or rights[index] - left < _WIDE * (usual - left):
            joints.append("\n")
        else:
            joints.append(" ")
    return joints
