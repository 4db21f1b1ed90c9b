"""Records of what tried to reach other machines, and of what was allowed to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from docmind.wording import N_

Purpose = Literal[
    "language model", "text model", "model download", "web search", "web page", "index", "traces", "other"
]
"""What a connection that a setting allows is for."""

Part = Literal["python", "native", "children"]
"""What tried: DocMind's own requests, any other code of its process or of a program started from it, or a child."""

PARTS: dict[Part, str] = {
    "python": N_("DocMind's own requests"),
    "native": N_("other code"),
    "children": N_("child processes"),
}
"""What each part is called."""

PURPOSES: dict[Purpose, str] = {
    "language model": N_("language model"),
    "text model": N_("text model"),
    "model download": N_("model download"),
    "web search": N_("web search"),
    "web page": N_("web page"),
    "index": N_("index"),
    "traces": N_("traces"),
    "other": N_("other"),
}
"""What each purpose is called."""


@dataclass(frozen=True, slots=True)
class RefusedPlace:
    """An address that was refused, and how often.

    `place` is `host:port` where both are known, a host, a name service or an address family; empty for all that are not
    named one by one. Its characters are printable ASCII.
    """

    place: str
    part: Part
    count: int


@dataclass(frozen=True, slots=True)
class AllowedPlace:
    """A host beyond this machine that a setting allowed, what it was contacted for, and how often."""

    place: str
    purpose: Purpose
    count: int


@dataclass(frozen=True, slots=True)
class NetworkLedger:
    """Attempts to reach other machines since DocMind was started: refused ones, and those that settings allowed.

    `is_guarded` tells whether native code is watched; where it is not, `reason` says why.
    """

    since_ms: int
    refused: tuple[RefusedPlace, ...] = ()
    allowed: tuple[AllowedPlace, ...] = ()
    is_guarded: bool = False
    reason: str = ""

    @property
    def attempts(self) -> int:
        """The number of refused attempts."""
        return sum(place.count for place in self.refused)
