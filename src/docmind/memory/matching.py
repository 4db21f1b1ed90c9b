"""Which items a store operation means: namespaces as they are stored, and filters on values.

A namespace is stored as a JSON array, so no label can be taken for two: `("a", "b")` is `["a","b"]` and
`('a","b',)` is `["a\\",\\"b"]`. All namespaces under a prefix lie in one range of that order.
"""

from __future__ import annotations

import json
from typing import Any

from langgraph.store.base import MatchCondition

Namespace = tuple[str, ...]


def encode(namespace: Namespace) -> str:
    """One namespace as ASCII text."""
    return json.dumps(list(namespace), separators=(",", ":"))


def decode(text: str) -> Namespace:
    """The namespace that `encode` made this of."""
    return tuple(json.loads(text))


def under(prefix: Namespace) -> tuple[str, tuple[str, ...]]:
    """The SQL condition on `namespace`, and its parameters, for a prefix and everything below it."""
    if not prefix:
        return "1", ()
    exact = encode(prefix)
    return "(namespace = ? OR (namespace > ? AND namespace < ?))", (exact, f"{exact[:-1]},", f"{exact[:-1]}-")


def meets(namespace: Namespace, condition: MatchCondition) -> bool:
    """Whether a namespace begins, or ends, with a path in which `*` stands for any label."""
    path = condition.path
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"namespaces are matched by prefix or suffix, not by {condition.match_type}")
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


def passes(value: dict[str, Any], wanted: dict[str, Any] | None) -> bool:
    """Whether a stored value passes a filter: each named field equal, or as its operators say."""
    return all(_equals(value.get(name), expected) for name, expected in (wanted or {}).items())


def _equals(value: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        if any(str(name).startswith("$") for name in expected):
            return all(_compares(value, name, operand) for name, operand in expected.items())
        return isinstance(value, dict) and all(_equals(value.get(name), inner) for name, inner in expected.items())
    if isinstance(expected, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(expected)
            and all(_equals(mine, theirs) for mine, theirs in zip(value, expected, strict=True))
        )
    return bool(value == expected)


def _compares(value: Any, operator: str, operand: Any) -> bool:
    if operator == "$eq":
        return bool(value == operand)
    if operator == "$ne":
        return bool(value != operand)
    if operator not in ("$gt", "$gte", "$lt", "$lte"):
        raise ValueError(f"a filter has no operator {operator}; there are $eq, $ne, $gt, $gte, $lt, $lte")
    try:
        left, right = float(value), float(operand)
    except (TypeError, ValueError):
        return False  # what is missing, or no number, is neither more nor less
    if operator == "$gt":
        return left > right
    if operator == "$gte":
        return left >= right
    return left < right if operator == "$lt" else left <= right
