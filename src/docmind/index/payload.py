"""What may stand beside a vector: ids and labels, never text, images or paths.

Index files are not encrypted and keep what was deleted, so a payload that could be read by a person is refused here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import get_args

from docmind.schema import Modality

LONGEST = 256

_ID = re.compile(rf"[A-Za-z0-9_.:@-]{{1,{LONGEST}}}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SUFFIX = re.compile(r"(\.[a-z0-9]{1,8}){1,2}")
_PHASH = re.compile(r"[0-9a-f]{1,64}")
_LANGUAGE = re.compile(r"([A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2})?")
_PATH = re.compile(r"^(/|\\|~|\.{1,2}[/\\]|[A-Za-z]:[/\\]|file:)|[/\\].*[/\\]|[/\\][^/\\]*\.[A-Za-z0-9]{1,5}$")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{64,}={0,2}")
_HEX = re.compile(r"[0-9a-f]+")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_label(value: object) -> bool:
    if not isinstance(value, str) or not value or len(value) > LONGEST or _PATH.search(value):
        return False
    return not any(not _HEX.fullmatch(run.group()) for run in _BASE64.finditer(value))


def _matches(pattern: re.Pattern[str]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_id(value: object) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None and _is_label(value)


def _is_page_no(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_box(value: object) -> bool:
    return isinstance(value, Sequence) and len(value) == 4 and all(_is_number(side) for side in value)


def _are_tags(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) <= 64 and all(_is_label(tag) for tag in value)


CHECKS: Mapping[str, Callable[[object], bool]] = {
    "doc_id": _is_id,
    "page_no": _is_page_no,
    "page_id": _is_id,
    "modality": lambda value: value in get_args(Modality),
    "node_id": _is_id,
    "image_artifact_id": _matches(_SHA256),
    "image_artifact_suffix": _matches(_SUFFIX),
    "thumbnail_artifact_id": _matches(_SHA256),
    "thumbnail_artifact_suffix": _matches(_SUFFIX),
    "phash": _matches(_PHASH),
    "bbox": _is_box,
    "language": _matches(_LANGUAGE),
    "tags": _are_tags,
}
"""Every key a payload may have, and what its value must look like."""

KEYWORDS = ("doc_id", "modality", "language", "tags")
"""The keys that filters look at; engines keep an index of each."""


def check_payload(payload: Mapping[str, object]) -> None:
    """Raise `ValueError` where a key is unknown, a value is not what it must be, or `doc_id` is missing.

    The message names the key and never repeats the value.
    """
    if "doc_id" not in payload:
        raise ValueError("a payload needs a doc_id")
    for key, value in payload.items():
        check = CHECKS.get(key)
        if check is None:
            raise ValueError(f"a payload has no key {key[:40]!r}; it may have {', '.join(CHECKS)}")
        if not check(value):
            raise ValueError(f"the payload's {key} is not what it must be: thin, short, no path, no encoded bytes")
