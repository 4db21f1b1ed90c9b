"""Page images that go with a question to a model that accepts them: which pages, how large, and what they cost.

An image exists in memory only, from its sealed file to the request; conversations store the places of its page.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from docmind.answers import Passage
from docmind.config import LLMSettings
from docmind.conversations.prompts import named
from docmind.conversations.retrieval import whole_page
from docmind.conversations.run_context import PageKey, Picture, RunContext
from docmind.conversations.state import State
from docmind.documents import Catalog, PageRecord
from docmind.errors import DamagedError, ImagesRefusedError, NotFoundError
from docmind.reading import PagePictures
from docmind.records.documents import ArtifactRef
from docmind.records.search import Degraded, Hit, PageHit
from docmind.rich_text import highlight
from docmind.wording import _

STAGE = "page images"
"""The stage that is reported where images could not be sent."""

MOST = 8  # images of a run: what a model writes names them by one digit

_PATCH = 28  # pixels: vision models of today take one token for a square of 14 to 32
_SHARE = 2  # images take at most one part in so many of the room for a question


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
    records: dict[PageKey, PageRecord],
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
            degraded.append(
                Degraded(
                    STAGE,
                    _("the model's context has room for {number} of {number2} images").format(
                        number=len(pictures), number2=len(hits)
                    ),
                )
            )
            break
        left -= tokens
        label = f'page {hit.page_no} of "{named(hit.document)}"'
        pictures.append(Picture((hit.doc_id, hit.page_no), label, tokens, jpeg))
    return pictures, degraded


class PageImages:
    """The choice of the page images that a language model gets. Thread-safe: those of a run are in its `RunContext`."""

    def __init__(self, settings: LLMSettings, *, catalog: Catalog, pictures: PagePictures) -> None:
        self._settings, self._catalog, self._pictures = settings, catalog, pictures

    def may_see(self, context: RunContext) -> bool:
        """Return whether the model of a run gets page images."""
        model = context.model
        return (
            model is not None and bool(model.info.takes_images) and not context.is_blind and self._settings.images > 0
        )

    def attach(self, state: State, context: RunContext, room: int) -> None:
        """Set the images of the first pages in `context`: of the sources, and of pages found by their look."""
        context.pictures = []
        if not self.may_see(context):
            return
        at = time.perf_counter()
        resolved, found = state["asked"], context.search
        first = list(found.hits[:1]) if resolved is not None and resolved["page"] and found is not None else []
        hits = choose([*first, *(passage.hit for passage in context.passages)], context.looks, self._settings.images)
        self._add(hits, context, room)
        context.lasted("page images", at)

    def attach_wordless(self, hits: Sequence[Hit], context: RunContext, room: int) -> None:
        """Set the images of the first of these pages, which have hardly any words, in `context`."""
        context.pictures = []
        if self.may_see(context):
            self._add(hits[: self._settings.images], context, room)

    def attach_further(self, context: RunContext, room: int) -> list[tuple[int, Picture]]:
        """Add images of pages that tools found to those in `context`, and return the new ones with their numbers.

        At most as many as go with a question are added at a time, and `MOST` in a run; all of a run take half of
        `room`.
        """
        found, context.found = context.found, []
        count = min(self._settings.images, MOST - len(context.pictures))
        left = room - _SHARE * sum(picture.tokens for picture in context.pictures)
        if not self.may_see(context) or count <= 0 or left <= 0:
            return []
        at = time.perf_counter()
        known = {picture.place for picture in context.pictures}
        hits = choose([hit for hit in found if (hit.doc_id, hit.page_no) not in known], [], count)
        further = self._add(hits, context, left)
        context.lasted("page images", at)
        return list(enumerate(further, len(context.pictures) - len(further) + 1))

    def _add(self, hits: Sequence[PageHit], context: RunContext, room: int) -> list[Picture]:
        records = self._catalog.pages((hit.doc_id, hit.page_no) for hit in hits)
        added, degraded = pictures_of(hits, records, self._pictures.get, side=self._settings.image_side_px, room=room)
        context.degraded += degraded
        context.pictures += added
        return added


def blind(context: RunContext, error: ImagesRefusedError) -> None:
    """Send no more images in this run, and report why."""
    context.is_blind, context.pictures = True, []
    context.degraded.append(Degraded(STAGE, _("{error} The question was sent again without them.").format(error=error)))


def seen(catalog: Catalog, places: Sequence[Sequence[Any]]) -> dict[int, Passage]:
    """Return the pages whose images a model saw, by their numbers, without those that were deleted since."""
    records = catalog.pages((doc_id, page_no) for doc_id, page_no in places)
    found = {}
    for number, (doc_id, page_no) in enumerate(places, 1):
        record, name = records.get((doc_id, page_no)), catalog.name_and_title(doc_id)
        if record is not None and name is not None:
            found[number] = Passage(whole_page(record, name[0]), record, 0, len(record.text))
    return found
