"""How searches of pages reach the index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from docmind.config import DatabaseSettings
from docmind.index.blind import Blind
from docmind.index.engine import IndexEngine
from docmind.mirror import Mirror
from docmind.schema import Filters


class Found(Protocol):
    """The index and its mirror, up to date."""

    @property
    def index(self) -> IndexEngine: ...

    @property
    def mirror(self) -> Mirror: ...


@dataclass(frozen=True, slots=True)
class Finder:
    """How the index is reached: `ready` brings it up to date, `heal` builds it anew after it failed."""

    ready: Callable[[], Found]
    heal: Callable[[], Found]
    blind: Blind
    names: DatabaseSettings
    late_above: int | None = None
    """Where the index holds the multivectors of pages: above how many pages it is asked for them. Else None."""

    def mirror(self) -> Mirror:
        """The mirror, with the index up to date."""
        return self.ready().mirror

    def narrowed(self, filters: Filters) -> Filters:
        """Filters as the index knows them."""
        return replace(filters, tags=tuple(self.blind.tag(tag) for tag in filters.tags))
