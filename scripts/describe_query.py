"""Write the table of what can be asked, from `Query` and `Filters`, into docs/api.md.

    python scripts/describe_query.py

A test compares the table with the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from docmind.client import hints_of
from docmind.records.query import Query
from docmind.records.search import Filters
from docmind.records.values import bounds_of

PAGE = Path(__file__).resolve().parent.parent / "docs" / "api.md"
_BEGIN, _END = "| Field | What |", "\n\n"


def table() -> str:
    """Return the table, with a line for each field of a query and of its filters."""
    return "\n".join(
        [
            f"{_BEGIN} Values | Command line | MCP | Asked of |",
            "|---|---|---|---|---|---|",
            *_rows(Query),
            *_rows(Filters),
        ]
    )


def page() -> str:
    """Return docs/api.md with this table in the place of the one before."""
    text = PAGE.read_text("utf-8")
    head, rest = text[: text.index(_BEGIN)], text[text.index(_BEGIN) :]
    return head + table() + rest[rest.index(_END) :]


def _rows(record: type) -> Iterator[str]:
    hints, is_filter = hints_of(record), record is Filters
    for one in fields(record):
        told = one.metadata
        name = told.get("named", one.name)
        option, absent = told.get("option", (f"--{name.replace('_', '-')}",)), told.get("absent", {})
        at = {"cli": " ".join(f"`{each}`" for each in option), "mcp": f"`{name}`"}
        if one.name in ("question", "filters"):
            at |= {"cli": "an argument"} if one.name == "question" else dict.fromkeys(at, "each by itself")
        doors = [absent.get(door, named) for door, named in at.items()]
        only = ", ".join(told["only"]) if "only" in told else "all"
        shown = f"`filters.{one.name}`" if is_filter else f"`{one.name}`"
        unit = told.get("unit", "values" if is_filter and get_origin(bounds_of(hints[one.name])[0]) is tuple else "")
        values = " ".join(filter(None, (_values(hints[one.name]), unit)))
        by = f" At the command line and over MCP: {told['by']}" if "by" in told else ""
        yield f"| {shown} | {told['about']}{by} | {values} | {doors[0]} | {doors[1]} | {only} |"


def _values(declared: Any) -> str:
    """Return the choices or the bounds of a type in words."""
    plain, bounds = bounds_of(declared)
    inner = [kind for kind in get_args(plain) if kind not in (type(None), Ellipsis)]
    if get_origin(plain) is Literal:
        return ", ".join(f"`{choice}`" for choice in inner)
    if plain is bool:
        return "yes or no"
    if bounds:
        return bounds[0].shown()
    return _values(inner[-1]) if inner else ""


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
