"""Records as plain data, for JSON."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from docmind.schema import Box

_INNER = frozenset({"nearest_cosine"})  # what one stage tells the next, and no program outside


def plain(record: Any) -> dict[str, Any]:
    """One record as a dict of what JSON can hold: boxes as `[x, y, w, h]`, timings as an object."""
    made = {field.name: _value(getattr(record, field.name)) for field in fields(record) if field.name not in _INNER}
    if "timings_ms" in made:
        made["timings_ms"] = {name: round(ms, 2) for name, ms in made["timings_ms"]}
    return made


def _value(value: Any) -> Any:
    if isinstance(value, Box):
        return list(value)
    if isinstance(value, tuple | list):
        return [_value(item) for item in value]
    return plain(value) if is_dataclass(value) else value
