"""Columns of `vault.db` that hold more than a plain value: a bad one costs its row, not the loop over all rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any

from docmind.errors import DamagedError
from docmind.records.documents import ArtifactRef, OcrReading
from docmind.records.values import is_sound
from docmind.wording import _

_NAME = re.compile(r"[A-Za-z0-9 ._+/-]{0,200}")


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


def stored_ocr(ocr: OcrReading | None) -> str:
    """Return how OCR read a page as JSON; an empty text where it did not."""
    return "" if ocr is None else json.dumps(asdict(ocr))


def ocr_of(raw: str) -> OcrReading | None:
    """Return what `stored_ocr` made; attributes that this version does not know are left out. Raises `DamagedError`."""
    if not raw:
        return None
    try:
        found: dict[str, Any] = json.loads(raw)
        known = {one.name: found[one.name] for one in fields(OcrReading) if one.name in found}
        if not all(_is_plain(value) for value in known.values()):
            raise ValueError("not a name and not a number")
        return OcrReading(**known)
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedError(_("How a page was read can't be told: vault.db is damaged there.")) from error


def _is_plain(value: object) -> bool:
    if isinstance(value, str):
        return _NAME.fullmatch(value) is not None
    return not isinstance(value, bool) and isinstance(value, int | float) and is_sound(value) and value >= 0
