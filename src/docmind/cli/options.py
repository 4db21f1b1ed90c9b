"""Options that several commands have: those of questions, made from the fields of `Query` and `Filters`; passphrases.

A value is not checked here: `Query` refuses it, with the sentence that it has at every door. A passphrase is never an
argument, because other users of a machine can read command lines.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click

from docmind.cli.context import is_asking
from docmind.client import Parameter, filter_parameters, parameters
from docmind.errors import ConfigError
from docmind.records.query import Operation
from docmind.records.values import bounds_of
from docmind.wording import _

Decorator = Callable[[Callable[..., None]], Callable[..., None]]
_LONGEST = 4_096  # bytes of a file that is read as a passphrase


def asking(operation: Operation, *, without: Collection[str] = ()) -> Decorator:
    """Add the options of an operation to a command, which gets their values as `given`; the question is an argument."""
    left_out = {"question", *without}
    return _with_options([one for one in parameters(operation, "cli") if one.name not in left_out])


def with_filters(*names: str) -> Decorator:
    """Add the options of these filters to a command, or of all, which gets their values as `given`."""
    return _with_options(list(filter_parameters("cli", names)))


def _with_options(wanted: list[Parameter]) -> Decorator:
    def add(command: Callable[..., None]) -> Callable[..., None]:
        def called(**values: Any) -> None:
            given = {one.name: _value(one, values.pop(one.name)) for one in wanted}
            command(**values, given={name: value for name, value in given.items() if value is not None})

        called.__doc__ = command.__doc__
        called.__name__ = command.__name__
        made: Callable[..., None] = called
        made.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
        for one in reversed(wanted):
            made = _option(one)(made)
        return made

    return add


def _option(one: Parameter) -> Decorator:
    kind = _plain(one.kind)
    how: dict[str, Any] = {"default": None}
    if kind is bool:
        how |= {"default": one.default} if "/" in one.option[0] else {"is_flag": True, "default": one.default}
    elif kind is bytes:
        how |= {"type": click.Path(path_type=Path, dir_okay=False)}
    elif kind in (int, float):
        how |= {"type": Whole() if kind is int else float}
    elif get_origin(kind) is Literal:
        how |= {"metavar": _choices(kind)}
    elif get_origin(kind) is tuple:
        inner = _plain(get_args(kind)[0])
        how |= {"multiple": True, "metavar": _choices(inner) if get_origin(inner) is Literal else None}
    elif kind is str:
        how |= {"metavar": one.name.upper()}
    else:
        how |= {"multiple": True, "metavar": f"{_choices(_plain(get_args(kind)[0]))}=NUMBER"}
    sentences = (one.about, one.by, "May be repeated." if "multiple" in how else "")
    return click.option(*one.option, one.name, help=" ".join(filter(None, sentences)), **how)


class Whole(click.ParamType):
    """A whole number, whose bounds `Query` checks."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number. Raises `click.BadParameter`."""
        try:
            return int(value)
        except ValueError:
            shown = "".join(filter(str.isprintable, str(value)))
            self.fail(_("Give a whole number in place of “{value}”.").format(value=shown), param, ctx)


def _plain(kind: Any) -> Any:
    """Return a type without bounds, and without None."""
    kind = bounds_of(kind)[0]
    others = [inner for inner in get_args(kind) if inner is not type(None)]
    return bounds_of(others[0])[0] if type(None) in get_args(kind) else kind


def _choices(kind: Any) -> str:
    return f"[{'|'.join(get_args(kind))}]"


def _value(one: Parameter, value: Any) -> Any:
    """Return the value of an option; what is given as NAME=NUMBER becomes a mapping, what is left out None."""
    if isinstance(one.default, Mapping):
        pairs = [text.partition("=") for text in value or ()]
        for name, _equals, number in pairs:
            if not number.isdecimal():
                raise ConfigError(
                    _("{name} has no whole number.").format(name=f"{one.option[0]} {name}"[:100]),
                    hint=_("Write it as {example}.").format(example=f"{one.option[0]} text=50"),
                )
        return {name: int(number) for name, _equals, number in pairs} or None
    return None if value in (None, (), "") else value


def passphrase_option(name: str, about: str = "Read the passphrase") -> Decorator:
    """Return an option for a file with a passphrase in its first line; `/dev/stdin` and `/dev/fd/3` are files too."""
    help_text = f"{about} from the first line of this file instead of asking."
    return click.option(name, type=click.Path(path_type=Path), help=help_text)


def typed_passphrase(
    what: str, file: Path | None, *, missing: str, is_chosen: bool = False, option: str = "--passphrase-file"
) -> str:
    """Return the passphrase in the file, else ask for `what` in the terminal without showing it; a new one twice.

    Raises `ConfigError` where the file cannot be read, and with `missing` where nobody can be asked.
    """
    if file is not None:
        try:
            with open(file, encoding="utf-8") as lines:
                return lines.read(_LONGEST).partition("\n")[0].rstrip("\r")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                _("The passphrase can't be read from {file}.").format(file=file),
                hint=_("Give a text file with the passphrase in its first line."),
            ) from error
    if not is_asking():
        raise ConfigError(missing, hint=_("Give it in a file: {option} FILE").format(option=option))
    return str(click.prompt(what, hide_input=True, confirmation_prompt=is_chosen, err=True))
