"""Commands about the recovery code: show, confirm and replace it."""

from __future__ import annotations

import click

from docmind.cli.context import confirm as ask_first
from docmind.cli.context import is_asking, json_option, opened, print_json, tell_code
from docmind.errors import ConfigError, NotFoundError


@click.group()
def keys() -> None:
    """Show, confirm or replace the recovery code of the vault, which opens it when its key is lost."""


@keys.command()
@json_option
def code(as_json: bool) -> None:
    """Show the recovery code, as long as it was never confirmed."""
    with opened(reminds=False) as desk:
        kept = desk.recovery_code()
    if kept is None:
        raise NotFoundError(
            "The recovery code of this vault was confirmed, so it is kept nowhere any more.",
            hint="`docmind keys new-code` makes another one; the old one opens nothing then.",
        )
    if as_json:
        print_json({"recovery_code": kept})
    else:
        click.echo(kept)


@keys.command()
@click.argument("group", required=False)
@json_option
def confirm(group: str | None, as_json: bool) -> None:
    """Confirm that the code is written down: GROUP is its last group of five.

    It is kept nowhere afterwards.
    """
    with opened(reminds=False) as desk:
        is_kept = desk.recovery_code() is not None
        if is_kept:
            desk.confirm_recovery_code(group if group is not None else _ask_group())
    if as_json:
        print_json({"confirmed": True})
    elif is_kept:
        click.echo("The recovery code is confirmed. DocMind keeps it nowhere any more.")
    else:
        click.echo("The recovery code was confirmed before.")


@keys.command("new-code")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def new_code(yes: bool, as_json: bool) -> None:
    """Make another recovery code; the previous one stops working."""
    with opened(reminds=False) as desk:
        question = "Make a new recovery code? The one you have opens nothing any more then."
        ask_first(question, refusal="The recovery code was not changed.", yes=yes)
        made = desk.new_recovery_code()
    if as_json:
        print_json({"recovery_code": made})
    else:
        tell_code("The old code opens nothing any more.", made)


def _ask_group() -> str:
    if not is_asking():
        raise ConfigError(
            "Nothing was confirmed: the last group of the recovery code is needed.",
            hint="Give it where nobody can be asked: docmind keys confirm GROUP",
        )
    return str(click.prompt("The last group of the recovery code, as you wrote it down", err=True))
