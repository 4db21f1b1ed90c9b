"""Columns of `vault.db` that hold more than a plain value: a bad one costs its row, not the loop over all rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from docmind.errors import DamagedError
from docmind.records.documents import ArtifactRef
from docmind.wording import _


def texts_of(raw: str) -> tuple[str, ...]:
    """Return the texts of a JSON array. Raises `DamagedError` where it is none."""
    try:
        found = json.loads(raw)
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedError(_("A list in vault.db can't be read.")) from error
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise DamagedError(_("A list in vault.db can't be read."))
    return tuple(found)


def readable_texts(raw: str) -> tuple[str, ...]:
    """Return the texts of a JSON array; none where it cannot be read."""
    try:
        return texts_of(raw)
    except DamagedError:
        return ()


def artifact_of(sha256: str, suffix: str) -> ArtifactRef:
    """Return the reference that two columns hold. Raises `DamagedError` where they hold none."""
    try:
        return ArtifactRef(sha256, suffix)
    except (ValueError, TypeError) as error:
        raise DamagedError(_("A row of vault.db names a file that can't be.")) from error


def readable_artifacts(pairs: Iterable[Sequence[str]]) -> list[ArtifactRef]:
    """Return the references in pairs of columns, each once, without those that cannot be read."""
    found: dict[ArtifactRef, None] = {}
    for sha256, suffix in pairs:
        try:
            found[artifact_of(sha256, suffix)] = None
        except DamagedError:
            continue
    return list(found)
