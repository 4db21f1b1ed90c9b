"""Values that people and programs give, each with its bounds: one type for a kind of value, used at every door.

A type is an annotation. `docmind.client.decode` checks its bounds where JSON becomes a record, the schemas of REST and
MCP show them, and the facade checks those that an inner layer depends on. `about` describes a field for all doors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sized
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from docmind.errors import ConfigError
from docmind.wording import _, number_text

_SURROGATE = re.compile("[\ud800-\udfff]")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

LARGEST = 2**63 - 1
"""The largest whole number that the database and other programs can hold."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most of a number, of the characters of a text, or of the items of an array or an object."""

    least: float | None = None
    most: float | None = None

    def check(self, value: Any, name: str) -> None:
        """Raise `ConfigError`, which names the value and its bounds, where they are exceeded."""
        size = value if isinstance(value, int | float) else len(value) if isinstance(value, Sized) else None
        if size is None or self.holds(size):
            return
        what = name if isinstance(value, int | float) else _("the length of {name}").format(name=name)
        raise ConfigError(
            _("{what} is {size}; it must be {bounds}.").format(what=what, size=_number(size), bounds=self.shown()),
            hint=_("Choose another value."),
        )

    def holds(self, size: float) -> bool:
        """Return whether a number, or a length, lies within the bounds."""
        return (self.least is None or size >= self.least) and (self.most is None or size <= self.most)

    def shown(self) -> str:
        """Return the bounds in words."""
        if self.most is None:
            return _("{least} or more").format(least=_number(self.least or 0))
        return _("{least} to {most}").format(least=_number(self.least or 0), most=_number(self.most))


class _DraftLength(Bounds):
    """The bounds of a text that is checked, which have sentences of their own."""

    def check(self, value: Any, name: str) -> None:
        check_draft(value)


class _Length(Bounds):
    """The bounds of a question, which have a sentence of their own."""

    def check(self, value: Any, name: str) -> None:
        check_question(value)


@dataclass(frozen=True, slots=True)
class DayBounds(Bounds):
    """A day of the calendar as 2024-03-31, or an empty text."""

    def check(self, value: Any, name: str) -> None:
        """Raise `ConfigError` where the text is neither."""
        if value == "" or (isinstance(value, str) and _DAY.fullmatch(value) and _is_day(value)):
            return
        raise ConfigError(
            _("{name} is no day of the calendar.").format(name=name),
            hint=_("Write it as 2024-03-31, or leave it empty."),
        )

    def shown(self) -> str:
        """Return the form of a day."""
        return "2024-03-31"


LONGEST_QUESTION = 20_000
"""Characters of a question."""
LONGEST_DRAFT = 100_000
"""Characters of a text that is checked against the documents."""
LONGEST_TAG, MOST_TAGS = 60, 64
"""Characters of a tag, and the tags of a document."""

LONGEST_LINE = 2_000
"""Characters of a line that is corrected by hand."""

Question = Annotated[str, _Length(most=LONGEST_QUESTION)]
"""The words of a question or a search."""
Draft = Annotated[str, _DraftLength(1, LONGEST_DRAFT)]
"""A text whose sentences are checked against the documents, plain or Markdown."""
Name = Annotated[str, Bounds(1, 1_000)]
"""A name or an id by which something is looked up."""
Title = Annotated[str, Bounds(most=1_000)]
"""A name or a title that something gets; each is kept up to a length of its own."""
Author = Annotated[str, Bounds(most=300)]
"""Who wrote a document."""
Day = Annotated[str, DayBounds(most=10)]
"""A day of the calendar as 2024-03-31; "" where it is not known."""
FileName = Annotated[str, Bounds(1, 4_096)]
"""The name of a file, which is shown and never opened."""
Address = Annotated[str, Bounds(1, 8_192)]
"""The address of a web page."""
Text = Annotated[str, Bounds(most=100_000)]
"""A text that is kept, such as a fact to remember."""
Secret = Annotated[str, Bounds(most=4_096)]
"""A password."""
Language = Annotated[str, Bounds(most=16)]
"""The code of a language."""
Tag = Annotated[str, Bounds(1, LONGEST_TAG)]
"""A tag of documents, on one line."""
Tags = Annotated[tuple[Tag, ...], Bounds(most=MOST_TAGS)]
"""The tags of one document."""
Ids = Annotated[tuple[Name, ...], Bounds(most=100_000)]
"""Ids of documents and other things."""
Count = Annotated[int, Bounds(1, 1_000)]
"""How many hits or entries, at most."""
Few = Annotated[int, Bounds(0, 100_000)]
"""How many entries, at most; 0 means all where the parameter says so."""
Line = Annotated[str, Bounds(most=LONGEST_LINE)]
"""The text of one line of a page; "" where nothing is written there."""
LineNo = Annotated[int, Bounds(1, 10_000_000)]
"""The number of a line of a page, from 1."""
PageNo = Annotated[int, Bounds(1, 10_000_000)]
"""The number of a page, from 1."""
RowId = Annotated[int, Bounds(0, LARGEST)]
"""The id of a row, or a place in a list."""
Numbers = Annotated[tuple[RowId, ...], Bounds(most=100_000)]
"""Ids of files in the queue."""
Size = Annotated[int, Bounds(0, LARGEST)]
"""A number of bytes."""
Span = Annotated[float, Bounds(0, 3.2e9)]
"""A time in seconds or days: at most a hundred years of seconds."""


def check_question(text: str) -> None:
    """Raise `ConfigError` where a question is longer than any door takes."""
    if len(text) > LONGEST_QUESTION:
        raise ConfigError(
            _("The question has {number} characters; {most} are the most.").format(
                number=number_text(len(text)), most=number_text(LONGEST_QUESTION)
            ),
            hint=_("Ask a shorter one; a long text can be added as a document."),
        )


def check_draft(text: str) -> None:
    """Raise `ConfigError` where there is no text to check, or it is longer than any door takes."""
    if not text.strip():
        raise ConfigError(_("There is no text to check."), hint=_("Give a text of one sentence or more."))
    if len(text) > LONGEST_DRAFT:
        raise ConfigError(
            _("The text has {number} characters; {most} are the most.").format(
                number=number_text(len(text)), most=number_text(LONGEST_DRAFT)
            ),
            hint=_("Check it in parts."),
        )


def about(sentence: str, **more: Any) -> dict[str, Any]:
    """Return the metadata of a field that is given at the doors: a sentence about it, in English, and what `more` says.

    Schemas show the sentence, and the help of the command line shows its translation.
    """
    return {"about": sentence, **more}


def check_fields(record: Any, at: str = "") -> None:
    """Raise `ConfigError` for a field of a record, or of a record in it, that is beyond what its type allows.

    Defaults are not checked: a record is made several times in a search, and most of its fields have them.
    """
    for name, declared, default in _annotations(type(record)):
        if (value := getattr(record, name)) is not default and value != default:
            check(declared, value, f"{at}{name}")


def check(declared: Any, value: Any, name: str) -> None:
    """Raise `ConfigError`, which names the value, where it is beyond the bounds or the choices of its type."""
    plain, bounds = bounds_of(declared)
    for one in bounds:
        one.check(value, name)
    origin, inner = get_origin(plain), get_args(plain)
    if origin is Literal:
        if value not in inner:
            raise not_among(name, inner)
    elif type(None) in inner:
        if value is not None:
            check(next(kind for kind in inner if kind is not type(None)), value, name)
    elif origin is tuple and inner[1:] == (Ellipsis,):
        of_each, of_size = bounds_of(inner[0])
        if of_each is str:  # there may be 100,000 of them
            value = [(n, one) for n, one in enumerate(value) if not all(each.holds(len(one)) for each in of_size)]
        else:
            value = list(enumerate(value))
        for n, one in value:
            check(inner[0], one, f"{name}[{n}]")
    elif isinstance(value, Mapping):
        for key, one in value.items():
            check(inner[0], key, name)
            check(inner[1], one, f"{name}.{key}")
    elif is_dataclass(value):
        check_fields(value, f"{name}.")


def not_among(name: str, choices: Collection[Any]) -> ConfigError:
    """Return the error for a value that is none of these."""
    wanted = " | ".join(map(str, choices))
    return ConfigError(
        _("{at} has a wrong value; expected: {wanted}.").format(at=name, wanted=wanted), hint=_("Choose another value.")
    )


@cache
def _annotations(record: type) -> tuple[tuple[str, Any, Any], ...]:
    hints = get_type_hints(record, include_extras=True)
    return tuple((one.name, hints[one.name], one.default) for one in fields(record))


def or_none(declared: Any) -> Any:
    """Return the type of values that are of this type, or None."""
    return Union[declared, None]  # noqa: UP007 - `|` is not defined for a type with bounds


def bounds_of(declared: Any) -> tuple[Any, tuple[Bounds, ...]]:
    """Return a type without its bounds, and the bounds."""
    if get_origin(declared) is Annotated:
        plain, *rest = get_args(declared)
        return plain, tuple(one for one in rest if isinstance(one, Bounds))
    return declared, ()


def is_sound(value: str | float) -> bool:
    """Return whether a text is Unicode without halves of surrogate pairs, or a number finite and of 64 bits."""
    if isinstance(value, str):
        return value.isascii() or _SURROGATE.search(value) is None
    return math.isfinite(value) if isinstance(value, float) else -LARGEST - 1 <= value <= LARGEST


def _is_day(value: str) -> bool:
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _number(value: float) -> str:
    return number_text(int(value)) if math.isfinite(value) and value == int(value) else str(value)
