"""The parameters of a query at a door for people or assistants, where documents and the like are given by name.

The command line and MCP take the same parameters, which are the fields of `Query` and, in place of `filters`, those of
`Filters`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any

from docmind.client.codec import hints_of
from docmind.records.query import Operation, Query, default_of, fields_for
from docmind.records.search import Filters
from docmind.records.values import Title

_IDS: Mapping[str, Callable[[Any, str], str]] = {
    "doc_ids": lambda library, name: library.documents.find(name).doc_id,
    "collections": lambda library, name: library.documents.collection(name).collection_id,
    "snapshots": lambda library, name: library.snapshots.find(name).snapshot_id,
    "languages": lambda _library, code: code.lower(),
    "kinds": lambda _library, kind: kind.lower(),
}
"""What a filter holds of what is given, where it is not the same. A library is a facade or a client."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its name, its type with bounds, its default, and sentences about it; `by` says by what name.

    `option` has its names on the command line.
    """

    name: str
    kind: Any
    default: Any
    about: str
    by: str = ""
    option: tuple[str, ...] = ()


def parameters(operation: Operation, door: str) -> tuple[Parameter, ...]:
    """Return the parameters of an operation at a door, in their order."""
    hints, found = hints_of(Query), list[Parameter]()
    for one in fields_for(operation, door=door):
        if one.name == "filters":
            found += filter_parameters(door)
        else:
            found.append(_parameter(one, hints[one.name], default_of(one)))
    return tuple(found)


def filter_parameters(door: str, names: Collection[str] = ()) -> tuple[Parameter, ...]:
    """Return the parameters that narrow a search at a door, or those of these fields of `Filters`."""
    hints = hints_of(Filters)
    return tuple(
        _parameter(one, *((Title, "") if one.metadata.get("is_single") else (hints[one.name], default_of(one))))
        for one in fields(Filters)
        if door not in one.metadata.get("absent", ()) and (not names or one.name in names)
    )


def query_of(library: Any, given: Mapping[str, Any]) -> Query:
    """Return the query of these parameters, by their names at the door; what is not among them is left out.

    Raises `NotFoundError` for a document, a collection or a snapshot that is not there, and `ConfigError` as `Query`.
    """
    values = {one.name: given[one.name] for one in fields(Query) if one.name in given}
    return Query(**values, filters=filters_of(library, given))


def filters_of(library: Any, given: Mapping[str, Any]) -> Filters:
    """Return the filters of these parameters. Raises `NotFoundError` as `query_of`."""
    values = dict[str, Any]()
    for one in fields(Filters):
        value = given.get(one.metadata.get("named", one.name)) or ()
        many = (value,) if isinstance(value, str) and default_of(one) == () else value
        if (id_of := _IDS.get(one.name)) is not None:
            many = tuple(id_of(library, name) for name in many)
        if many:
            values[one.name] = tuple(many) if default_of(one) == () else many
    return Filters(**values)


def _parameter(one: Any, kind: Any, default: Any) -> Parameter:
    told = one.metadata
    name = told.get("named", one.name)
    option = told.get("option", (f"--{name.replace('_', '-')}",))
    return Parameter(name, kind, default, told["about"], told.get("by", ""), option)
