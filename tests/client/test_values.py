"""Bounds of the values that programs give."""

from __future__ import annotations

from typing import Any

import pytest

from docmind.api.openapi import schema_of
from docmind.client import decode
from docmind.errors import ConfigError
from docmind.records.search import Filters
from docmind.records.values import LARGEST, Count, PageNo, Question, RowId, Span, Tag, Tags
from each import each_of


@each_of(
    "kind, data",
    [
        (str, "caf\ud8e9"),
        (str, "\udfff"),
        (int, LARGEST + 1),
        (int, -LARGEST - 2),
        (int, 10**400),
        (float, float("inf")),
        (float, float("nan")),
        (float, 10**400),
        (Count, 0),
        (Count, -1),
        (Count, 1_001),
        (Count | None, -1),
        (PageNo, 0),
        (RowId, -1),
        (Span | None, -0.5),
        (Tag, ""),
        (Tag, "t" * 61),
        (Tags, ["t"] * 65),
        (Tags, ["good", ""]),
        (Question, "q" * 20_001),
        (Filters, {"doc_ids": ["\ud800"]}),
        (Filters, {"tags": [""]}),
        (dict[str, int], {"\ud800": 1}),
    ],
)
def test_what_is_beyond_its_bounds_is_refused_where_it_comes_in(kind: Any, data: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        decode(kind, data, "given")
    assert ("The question" if kind is Question else "given") in str(caught.value)
    str(caught.value).encode()  # the sentence itself can be sent


@each_of(
    "kind, data",
    [
        (str, "😀 \x00 \u202e"),
        (int, LARGEST),
        (int, -LARGEST - 1),
        (float, 3),
        (Count, 1),
        (Count, 1_000),
        (Count | None, None),
        (Tags, ("t" * 60,) * 64),
        (Question, "q" * 20_000),
    ],
)
def test_what_is_within_its_bounds_is_taken(kind: Any, data: Any) -> None:
    given = list(data) if isinstance(data, tuple) else data
    assert decode(kind, given) == data


def test_the_refusal_names_value_and_bounds() -> None:
    with pytest.raises(ConfigError, match=r"^k is -1; it must be 1 to 1,000\.$"):
        decode(Count, -1, "k")
    with pytest.raises(ConfigError, match=r"^the length of tags is 65; it must be 0 to 64\.$"):
        decode(Tags, ["t"] * 65, "tags")


def test_a_schema_shows_the_bounds() -> None:
    assert schema_of(Count, {}) == {"type": "integer", "minimum": 1, "maximum": 1_000}
    assert schema_of(Tags, {}) == {
        "type": "array", "maxItems": 64, "items": {"type": "string", "minLength": 1, "maxLength": 60}
    }  # fmt: skip
