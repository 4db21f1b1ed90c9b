"""Commands whose help is shown whole and in the user's language, and numbers that are explained in words."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

import click

from docmind.wording import _, speak, system_language


class Command(click.Command):
    """A command whose help texts are looked up in the catalogue as they are shown."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usage line."""
        formatter.write_usage(ctx.command_path, " ".join(self.collect_usage_pieces(ctx)), prefix=_("Usage: "))

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help text."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(_translated(self))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        with formatter.section(_("Options")):
            options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
            formatter.write_dl([record for one in options if (record := _record(one, ctx))])

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the first sentence of the help text, whole."""
        return _translated(self).partition("\n\n")[0].replace("\n", " ").partition(". ")[0].rstrip(".") + "."


class Group(Command, click.Group):
    """A group of such commands."""

    command_class = Command
    group_class = type

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the language of the system before anything is shown."""
        speak(system_language(os.environ))
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, then the commands with a sentence each."""
        super().format_options(ctx, formatter)
        with formatter.section(_("Commands")):
            rows = [(name, self.commands[name].get_short_help_str()) for name in self.list_commands(ctx)]
            formatter.write_dl(rows)


class Number(click.IntRange):
    """A whole number within limits; another value is refused by naming them."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number.

        Raises `click.BadParameter`.
        """
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            if self.max is None:
                wanted = _("Give a whole number, {least} or more, in place of “{value}”.")
            else:
                wanted = _("Give a whole number from {least} to {most}, in place of “{value}”.")
            told = wanted.format(least=self.min, most=self.max, value="".join(filter(str.isprintable, str(value))))
            self.fail(told, param, ctx)


def command(name: str | None = None, **attributes: Any) -> Callable[[Callable[..., Any]], Command]:
    """Make a command of a function, as `click.command`."""
    return click.command(name, cls=Command, **attributes)


def group(name: str | None = None) -> Callable[[Callable[..., Any]], Group]:
    """Make a group of a function, as `click.group`."""
    return click.group(name, cls=Group)


def _translated(command: click.Command) -> str:
    text = inspect.cleandoc(command.help or "")
    return _(text) if text else ""


def _record(option: click.Option, ctx: click.Context) -> tuple[str, str] | None:
    """Return the line of an option: its names, and its help text with what click adds to it."""
    record = option.get_help_record(ctx)
    if record is None or not option.help:
        return record
    return record[0], record[1].replace(option.help, _(option.help), 1)
