"""What of an event a log or a trace may hold: numbers, words of fixed lists, and ids.

The list is derived from the types of the records in `docmind.observability.events`: a field of any other type is left
out. Used by `logs` and `traces`, which must not differ in this.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from docmind.observability.events import Event

Told = int | float | bool | str | None | list[dict[str, Any]]
_Tell = Callable[[Any], Told]

_IDS = frozenset({"document_id", "page_id", "kind"})
"""Fields of text that hold an id, or the name of a class."""

_ID = re.compile(r"[A-Za-z0-9_:-]{1,120}")
_DIGITS = 3  # of a number of milliseconds or a share


def _told_id(value: Any) -> Told:
    return value if isinstance(value, str) and _ID.fullmatch(value) else None


def _told_number(value: Any) -> Told:
    return round(value, _DIGITS) if isinstance(value, float) else value


def _tell_of(name: str, kind: Any) -> _Tell | None:
    """Return what makes a value of this type fit to be told; None where it must not be."""
    if kind in (int, float, bool):
        return _told_number
    if get_origin(kind) is Literal:
        words = frozenset(get_args(kind))
        return lambda value: value if value in words else None
    if kind is str and name in _IDS:
        return _told_id
    if get_origin(kind) is tuple and is_dataclass(get_args(kind)[0]):
        inner = told_fields(get_args(kind)[0])
        return lambda values: [{name: tell(getattr(one, name)) for name, tell in inner.items()} for one in values]
    return None


def told_fields(record: Any) -> dict[str, _Tell]:
    """Return the fields of a class of records that may be told, each with what makes its value fit for it."""
    kinds = get_type_hints(record)
    tells = {one.name: _tell_of(one.name, kinds[one.name]) for one in fields(record)}
    return {name: tell for name, tell in tells.items() if tell is not None}


def _name_of(kind: type) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


NAMES: dict[type, str] = {kind: _name_of(kind) for kind in get_args(Event)}
"""The name of each kind of event, such as `ingestion_completed`."""

_FIELDS = {kind: told_fields(kind) for kind in NAMES}


def fields_of(event: Event) -> dict[str, Told]:
    """Return the fields of an event that may be told; a value that is none of its list is None."""
    return {name: tell(getattr(event, name)) for name, tell in _FIELDS[type(event)].items()}
