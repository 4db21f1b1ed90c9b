"""Records as JSON and back."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Literal, get_args, get_origin

import pytest

from docmind.client import ARRAYS, CALLS, OBJECTS, UNIONS, decode, encode, hints_of, is_box
from docmind.errors import ConfigError
from docmind.records.documents import ArtifactRef, Box, Upload
from docmind.records.search import Filters, Hit, MultimodalHit, MultimodalResult
from docmind.records.values import DayBounds, bounds_of
from each import each_of


def sample(declared: Any, *, is_full: bool) -> Any:
    """Return a value of this type: with `is_full` no field is None and no array empty."""
    declared, bounds = bounds_of(declared)
    if any(isinstance(one, DayBounds) for one in bounds):
        return "2024-03-31"
    origin, inner = get_origin(declared), get_args(declared)
    if declared in (str, int, float, bool):
        return {str: "é\u202e \x00", int: 3, float: 0.1, bool: True}[declared]
    if origin is Literal:
        return inner[-1]
    if origin in UNIONS:
        return None if not is_full and type(None) in inner else sample(inner[0], is_full=is_full)
    if declared is ArtifactRef:
        return ArtifactRef("0a" * 32, ".webp.enc")
    if is_box(declared):
        return Box(1.5, 2.0, 3.0, 4.25)
    if dataclasses.is_dataclass(declared):
        values = {
            name: sample(kind, is_full=is_full and declared not in get_args(kind))  # one that holds itself does so once
            for name, kind in hints_of(declared).items()  # type: ignore[arg-type]
        }
        if is_full and "other" in values:
            values["other"] = sample(declared, is_full=False)
        if {"seen", "supported"} <= values.keys():
            values["seen"] = False
        if "outcome" in values:
            values["outcome"] = "answer" if values["found"] else "not found"
        if "verdict" in values:
            values["verdict"] = "supported" if is_full else "no claim"
        return declared(**values)  # type: ignore[operator]
    if origin in OBJECTS:
        return {sample(inner[0], is_full=is_full): sample(inner[1], is_full=is_full)} if is_full else {}
    assert origin in ARRAYS
    if origin is tuple and inner[1:] != (Ellipsis,):
        return tuple(sample(kind, is_full=is_full) for kind in inner)
    return (sample(inner[0], is_full=is_full),) if is_full else ()


KINDS = {str(kind): kind for call in CALLS for kind in (call.result, *call.given.values())}


@pytest.mark.parametrize("is_full", [True, False])
@each_of("kind", [kind for kind in KINDS.values() if kind not in (None, bytes)])
def test_values_of_all_calls_come_back_equal(kind: Any, is_full: bool) -> None:
    value = sample(kind, is_full=is_full)
    assert decode(kind, json.loads(json.dumps(encode(kind, value), allow_nan=False))) == value


@each_of(
    "kind, data",
    [
        (Filters, {"doc_ids": [], "paths": []}),
        (Filters, {"doc_ids": "abc"}),
        (Filters, []),
        (Box, [1, 2, 3]),
        (ArtifactRef, {"sha256": "0a" * 32}),
        (ArtifactRef, {"sha256": "../etc/passwd", "suffix": ".enc"}),
        (int, True),
        (int, 1.5),
        (str, None),
        (Literal["a", "b"], "c"),
        (int | None, "3"),
    ],
)
def test_data_of_another_form_is_refused(kind: Any, data: Any) -> None:
    with pytest.raises(ConfigError):
        decode(kind, data)


def test_bytes_have_no_form() -> None:
    with pytest.raises(TypeError):
        encode(Upload, Upload("name", b"data"))


def test_a_value_of_a_subclass_has_the_declared_fields() -> None:
    hit = sample(MultimodalHit, is_full=True)
    assert "origins" not in encode(Hit, hit)
    assert "origins" in encode(MultimodalResult, sample(MultimodalResult, is_full=True))["hits"][0]
