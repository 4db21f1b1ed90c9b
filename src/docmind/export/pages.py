"""The pages that the answers of a conversation cite, each once, with every quoted word marked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from docmind import marks
from docmind.conversation import Turn
from docmind.escape import one_line
from docmind.schema import Box, Source

Key = tuple[str, str]
"""Which image: its artifact, or else its page, and the size that the boxes are measured in."""


@dataclass(slots=True)
class CitedPage:
    """One page. `image` is None where its document was deleted; `cited` are (question, source) numbers."""

    name: str
    """The picture's place in a bundle."""
    document: str
    page_no: int
    size: tuple[int, int]
    image: bytes | None
    boxes: list[Box] = field(default_factory=list)
    cited: list[tuple[int, int]] = field(default_factory=list)

    def jpeg(self) -> bytes | None:
        """The page with all quoted words marked."""
        return None if self.image is None else marks.marked(self.image, self.boxes, self.size)

    def strip(self, source: Source) -> bytes | None:
        """The part of the page that this source quotes."""
        return None if self.image is None else marks.strip(self.image, source.boxes, self.size)


class Pages:
    """All cited pages in the order in which they are first cited."""

    def __init__(self, turns: Sequence[Turn], image: Callable[[Source], bytes | None]) -> None:
        self._pages: dict[Key, CitedPage] = {}
        for number, turn in enumerate(turns, start=1):
            for source in turn.answer.sources if turn.answer else ():
                page = self._pages.get(_key(source))
                if page is None:
                    name = f"pages/{len(self._pages) + 1:03d}-{_slug(source.document)}-p{source.page_no}.jpg"
                    size = (source.page_width, source.page_height)
                    page = CitedPage(name, source.document, source.page_no, size, image(source))
                    self._pages[_key(source)] = page
                page.boxes += [box for box in source.boxes if box not in page.boxes]
                page.cited.append((number, source.n))

    def __iter__(self) -> Iterator[CitedPage]:
        return iter(self._pages.values())

    def __getitem__(self, source: Source) -> CitedPage:
        return self._pages[_key(source)]


def _key(source: Source) -> Key:
    return source.image_artifact_id or source.page_id, f"{source.page_width}x{source.page_height}"


def _slug(document: str) -> str:
    """A few plain letters of a name."""
    plain = unicodedata.normalize("NFKD", one_line(document).rpartition(".")[0] or document)
    return re.sub(r"[^a-z0-9]+", "-", plain.encode("ascii", "ignore").decode().lower()).strip("-")[:40] or "document"
