"""Records as JSON and back, by their annotations.

A field whose metadata has `is_inner` is passed between stages of one process and left out.

A record is an object with a member for each field, a tuple an array, a `Box` an array of four numbers. Bytes have no
JSON form: images, originals and uploads are bodies of their own. `inf` and `nan` have none either.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import types
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from docmind.errors import ConfigError
from docmind.records.values import bounds_of, is_sound
from docmind.wording import _

ARRAYS = (tuple, list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
OBJECTS = (dict, collections.abc.Mapping)
UNIONS = (Union, types.UnionType)


@cache
def hints_of(record: type) -> dict[str, Any]:
    """Return the annotations of a record's fields, with their bounds, in their order."""
    hints = get_type_hints(record, include_extras=True)
    if dataclasses.is_dataclass(record):
        names = [one.name for one in dataclasses.fields(record) if not one.metadata.get("is_inner")]
    else:
        names = record._fields  # type: ignore[attr-defined]
    return {name: hints[name] for name in names}


@cache
def needed_of(record: type) -> frozenset[str]:
    """Return the names of a record's fields without a default."""
    missing = dataclasses.MISSING
    return frozenset(
        one.name
        for one in dataclasses.fields(record)  # type: ignore[arg-type]
        if one.default is missing and one.default_factory is missing
    )


def is_box(declared: Any) -> bool:
    """Tell whether this is a named tuple, which is an array in JSON."""
    return isinstance(declared, type) and issubclass(declared, tuple) and hasattr(declared, "_fields")


def is_binary(declared: Any) -> bool:
    """Tell whether values of this type are bytes, or None: they have no form in JSON."""
    return bytes in (declared, *get_args(declared))


def is_text(declared: Any) -> bool:
    """Tell whether values of this type are texts, or None: in a query they stand as they are."""
    declared = bounds_of(declared)[0]
    if get_origin(declared) in UNIONS:
        return all(is_text(kind) or kind is type(None) for kind in get_args(declared))
    return declared is str or (get_origin(declared) is Literal and isinstance(get_args(declared)[0], str))


def encode(declared: Any, value: Any) -> Any:
    """Return what JSON can represent of a value of this type; of a subclass, the fields of the declared record.

    Raises `TypeError` for bytes and for types that have no JSON form.
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    declared = bounds_of(declared)[0]
    if get_origin(declared) in UNIONS:
        return encode(_member_of(declared, value), value)
    if dataclasses.is_dataclass(declared):
        return {name: encode(hint, getattr(value, name)) for name, hint in hints_of(declared).items()}  # type: ignore[arg-type]
    if is_box(declared):
        return list(value)
    origin, inner = get_origin(declared), get_args(declared)
    if origin in OBJECTS:
        return {name: encode(inner[1], one) for name, one in value.items()}
    if origin in ARRAYS:
        return [encode(kind, one) for kind, one in zip(_kinds(origin, inner, len(value)), value, strict=True)]
    raise TypeError(f"{declared} has no JSON form")


def decode(declared: Any, data: Any, at: str = "value") -> Any:
    """Return the value of this type that the JSON data holds; `at` is its name in errors, empty for a request.

    Raises `ConfigError` for data of another type, for unknown and missing fields, for values beyond their bounds, and
    for what no record may hold: half a surrogate pair, a number that is not finite or has more than 64 bits.
    """
    declared, bounds = bounds_of(declared)
    value = _decoded(declared, data, at)
    for one in bounds:
        one.check(value, at)
    return value


def _decoded(declared: Any, data: Any, at: str) -> Any:
    origin, inner = get_origin(declared), get_args(declared)
    if origin in UNIONS:
        if data is None and type(None) in inner:
            return None
        return decode(_fitting(inner, data, at), data, at)
    if origin is Literal:
        if data not in inner or isinstance(data, bool) != isinstance(inner[0], bool):
            raise _refused(at, " | ".join(map(str, inner)))
        return data
    if dataclasses.is_dataclass(declared):
        return _record(declared, data, at)
    if is_box(declared):
        kinds = tuple(hints_of(declared).values())
        return declared(*_array(kinds, data, at))
    if origin in OBJECTS:
        if not isinstance(data, dict):
            raise _refused(at, "object")
        return {decode(inner[0], name, at): decode(inner[1], one, f"{at}.{name}") for name, one in data.items()}
    if origin in ARRAYS:
        if not isinstance(data, list):
            raise _refused(at, "array")
        return tuple(_array(_kinds(origin, inner, len(data), at), data, at))
    if declared is type(None) and data is None:
        return None
    is_fitting = type(data) is declared or (declared is float and type(data) is int)
    if declared in (str, int, float, bool) and is_fitting:
        if not is_sound(data):
            raise ConfigError(
                _("{at} has a wrong value; expected: {wanted}.").format(at=at, wanted=_SOUND[declared]), hint=_HINT
            )
        return data
    raise _refused(at, getattr(declared, "__name__", str(declared)))


def _record(declared: Any, data: Any, at: str) -> Any:
    if not isinstance(data, dict):
        raise _refused(at or "request", "object")
    hints = hints_of(declared)
    if unknown := sorted(data.keys() - hints.keys()):
        raise ConfigError(
            _("{at} has an unknown field: {name}.").format(at=at or "request", name=ascii(unknown[0])[:100]),
            hint=_("Expected: {names}.").format(names=", ".join(hints)),
        )
    if missing := sorted(needed_of(declared) - data.keys()):
        raise ConfigError(_("{at} lacks a field: {name}.").format(at=at or "request", name=missing[0]), hint=_HINT)
    values = {name: decode(hints[name], one, f"{at}.{name}" if at else name) for name, one in data.items()}
    try:
        return declared(**values)
    except ValueError as error:
        raise ConfigError(f"{at}: {error}.", hint=_HINT) from error


def _array(kinds: tuple[Any, ...], data: Any, at: str) -> list[Any]:
    if not isinstance(data, list) or len(data) != len(kinds):
        raise _refused(at, f"array of {len(kinds)}")
    return [decode(kind, one, f"{at}[{n}]") for n, (kind, one) in enumerate(zip(kinds, data, strict=True))]


def _kinds(origin: Any, inner: tuple[Any, ...], count: int, at: str = "value") -> tuple[Any, ...]:
    if origin is tuple and not (len(inner) == 2 and inner[1] is Ellipsis):
        if len(inner) != count:
            raise _refused(at, f"array of {len(inner)}")
        return inner
    return (inner[0],) * count


def _member_of(declared: Any, value: Any) -> Any:
    """Return the member of a union that the value belongs to; the first record that it is an instance of."""
    for member in get_args(declared):
        kind = bounds_of(member)[0]
        if isinstance(kind, type) and isinstance(value, kind):
            return kind
        if get_origin(kind) in (*ARRAYS, *OBJECTS) and not dataclasses.is_dataclass(value):
            return kind
    raise TypeError(f"{declared} has no JSON form of {type(value).__name__}")


def _fitting(inner: tuple[Any, ...], data: Any, at: str) -> Any:
    """Return the member of a union that the data fits; several records are told apart by nothing, so one at most."""
    for declared in inner:
        kind = bounds_of(declared)[0]
        if kind is type(None):
            continue
        if kind in (str, int, bool) and type(data) is kind:
            return declared
        if kind is float and isinstance(data, int | float) and not isinstance(data, bool):
            return declared
        if (is_box(kind) or get_origin(kind) in ARRAYS) and isinstance(data, list):
            return declared
        if get_origin(kind) in OBJECTS and isinstance(data, dict):
            return declared
        if get_origin(kind) is Literal or (dataclasses.is_dataclass(kind) and isinstance(data, dict)):
            return declared
    raise _refused(at, " | ".join(getattr(kind, "__name__", str(kind)) for kind in inner))


_HINT = "See docs/api.md."
_SOUND = {str: "Unicode text", int: "integer of 64 bits", float: "finite number"}


def _refused(at: str, wanted: str) -> ConfigError:
    return ConfigError(_("{at} has a wrong value; expected: {wanted}.").format(at=at, wanted=wanted), hint=_HINT)
