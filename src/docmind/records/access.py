"""Frozen records of programs that may reach the library: long-lived tokens, and files that a program handed in.

Short, because access has few things that cross the facade.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

TokenScope = Literal["read", "full"]
"""Read and search only, or everything that the interface for programs offers."""


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A long-lived token of a program, without its secret.

    `used_at_ms` is exact to a minute, None before the first use.
    """

    token_id: int
    name: str
    scope: TokenScope
    created_at_ms: int
    used_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class NewApiToken:
    """A token that was just made: `secret` is what the program sends. It is shown once and not kept."""

    token: ApiToken
    secret: str = field(repr=False)
