"""Page images that go with a question to a model that accepts them: which pages, how large, and what they cost.

An image exists in memory only, from its sealed file to the request; conversations store the places of its page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from docmind.conversations.prompts import named
from docmind.documents import PageRecord
from docmind.errors import DamagedError, NotFoundError
from docmind.records.documents import ArtifactRef
from docmind.records.search import Degraded, PageHit
from docmind.rich_text import highlight

Place = tuple[str, int]
"""A page: its document's id and its number."""

STAGE = "page images"
"""The stage that is reported where images could not be sent."""

_PATCH = 28  # pixels: vision models of today take one token for a square of 14 to 32
_SHARE = 2  # images take at most one part in so many of the room for a question


@dataclass(frozen=True, slots=True)
class Picture:
    """The image of one page as it is sent: a JPEG file, and about how many tokens a model needs for it."""

    place: Place
    label: str
    tokens: int
    jpeg: bytes = field(repr=False)


def choose(first: Sequence[PageHit], looks: Sequence[PageHit], count: int) -> list[PageHit]:
    """Return up to `count` pages, each once: those of the sources, best first, then those found by their look.

    Where there is any page that was found by its look alone, the best one has a place, because nothing else of it can
    be shown to a model.
    """
    pages = {(hit.doc_id, hit.page_no): hit for hit in reversed(first)}
    best = [pages[place] for place in dict.fromkeys((hit.doc_id, hit.page_no) for hit in first)]
    alone = [hit for hit in looks if (hit.doc_id, hit.page_no) not in pages]
    kept = best[: count - 1] if alone else best[:count]
    return [*kept, *alone[: count - len(kept)]]


def pictures_of(
    hits: Sequence[PageHit],
    records: dict[Place, PageRecord],
    image: Callable[[ArtifactRef], bytes],
    *,
    side: int,
    room: int,
) -> tuple[list[Picture], list[Degraded]]:
    """Return the images of these pages, `side` pixels long at most, and what could not be sent.

    They take at most half of `room` tokens; the last ones are left out. So is a page that was deleted since the search,
    and one whose image is damaged.
    """
    pictures: list[Picture] = []
    degraded: list[Degraded] = []
    left = room // _SHARE
    for hit in hits:
        record = records.get((hit.doc_id, hit.page_no))
        if record is None:
            continue
        try:
            jpeg, (width, height) = highlight.reduced(image(record.image), side)
        except NotFoundError:  # deleted since
            continue
        except DamagedError as error:
            degraded.append(Degraded(STAGE, str(error)))
            continue
        tokens = -(-width // _PATCH) * -(-height // _PATCH)
        if tokens > left:
            degraded.append(Degraded(STAGE, f"the model's context has room for {len(pictures)} of {len(hits)} images"))
            break
        left -= tokens
        label = f'page {hit.page_no} of "{named(hit.document)}"'
        pictures.append(Picture((hit.doc_id, hit.page_no), label, tokens, jpeg))
    return pictures, degraded
