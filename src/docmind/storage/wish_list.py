"""Extras that the user wants installed: `scripts/run_app.py` installs them at its next start, since the app cannot.

What the app starts is under its network guard, so that pip would reach nobody. The launcher says in a variable where
the wishes are written; without it, DocMind was started in another way and nobody would read them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from docmind.storage.files import read_own, write_private

VARIABLE = "RUN_APP_WISHES"


def can_wish() -> bool:
    """Return whether the launcher reads wishes at its next start."""
    return bool(os.environ.get(VARIABLE))


def wishes() -> tuple[str, ...]:
    """Return the names of the extras that will be installed at the next start."""
    if not can_wish():
        return ()
    try:
        told = json.loads(read_own(Path(os.environ[VARIABLE])))
    except (OSError, ValueError, RecursionError):  # there are none, or nothing that the launcher would take
        return ()
    return tuple(one for one in told if isinstance(one, str)) if isinstance(told, list) else ()


def wish(extra: str, *, is_wanted: bool = True) -> None:
    """Add an extra to the wishes, or take it back. Raises `VaultError` where the launcher's file cannot be written."""
    if can_wish():
        others = [one for one in wishes() if one != extra]
        kept = json.dumps([*others, extra] if is_wanted else others)
        write_private(Path(os.environ[VARIABLE]), kept.encode(), replace=True)
