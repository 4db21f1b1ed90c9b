"""Mutants of a small file: cut, with flipped bytes, with parts left out, doubled and swapped."""

from __future__ import annotations

import random
from collections.abc import Iterator

from docmind.errors import ReadingError
from docmind.reading.file_type import identify
from docmind.reading.formats import Rules, reader
from docmind.records.documents import Upload

_RULES = Rules(max_pages=50, image_side_px=400)


def mutants(data: bytes, count: int, seed: int = 7) -> Iterator[bytes]:
    """Yield this many mutants of a file, always the same."""
    chance = random.Random(seed)
    for number in range(count):
        out = bytearray(data)
        for _change in range(chance.randint(1, 4)):
            at, to = sorted((chance.randrange(len(out) + 1), chance.randrange(len(out) + 1)))
            how = number % 5
            if how == 0:
                del out[max(at, 1) :]
            elif how == 1 and out:
                out[chance.randrange(len(out))] = chance.randrange(256)
            elif how == 2:
                del out[at : min(to, at + 200)]
            elif how == 3:
                out[at:at] = out[at : min(to, at + 200)] * chance.randint(1, 20)
            else:
                part = out[at : min(to, at + 100)]
                place = chance.randrange(len(out) + 1)
                out[place:place] = part
            if not out:
                out = bytearray(data)
        yield bytes(out)


def read_or_refuse(name: str, data: bytes, rules: Rules = _RULES) -> int:
    """Read a file to its last page and return the number of pages; 0 where it is refused."""
    try:
        kind, upload = identify(Upload(name, data))
        opened = reader(kind)(upload, kind, rules)
        for page_no in range(1, opened.pages + 1):
            opened.page(page_no)
    except ReadingError:
        return 0
    return opened.pages
