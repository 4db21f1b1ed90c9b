"""Commands about the tokens with which other programs reach the open app."""

from __future__ import annotations

import click

from docmind.cli.context import json_option, plain, print_json, reached
from docmind.cli.help import group
from docmind.cli.output import inert, when
from docmind.records.access import TokenScope
from docmind.wording import _


@group()
def tokens() -> None:
    """Let other programs reach the open app over HTTP: make, list and revoke their tokens."""


@tokens.command("new")
@click.argument("name")
@click.option(
    "--full", is_flag=True, help="Let it also add and change things; without it, it may only read and search."
)
@json_option
def new(name: str, full: bool, as_json: bool) -> None:
    """Make a token for the program NAME, and print it once."""
    scope: TokenScope = "full" if full else "read"
    with reached() as desk:
        made = desk.tokens.new(name, scope=scope)
    if as_json:
        print_json({**plain(made.token), "token": made.secret})
        return
    click.echo(made.secret)
    told = _("Give it to the program, and keep it nowhere else: it is not shown again. {scope}")
    click.echo(told.format(scope=told_scope(made.token.scope)), err=True)


@tokens.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the tokens: what each may do, and when it was last used."""
    with reached() as desk:
        there = desk.tokens.list()
    if as_json:
        print_json({"tokens": [plain(token) for token in there]})
        return
    if not there:
        click.echo(_("There are no tokens."))
    for token in there:
        used = when(token.used_at_ms) if token.used_at_ms is not None else _("never")
        made = _("made {made}, last used {used}").format(made=when(token.created_at_ms), used=used)
        click.echo(f"{inert(token.name)}  {told_scope(token.scope)}  {made}")


@tokens.command()
@click.argument("name")
@json_option
def revoke(name: str, as_json: bool) -> None:
    """Revoke the token of the program NAME; it opens nothing from now on."""
    with reached() as desk:
        gone = desk.tokens.revoke(name)
    if as_json:
        print_json(plain(gone))
    else:
        click.echo(_("The token of {name} is revoked.").format(name=inert(gone.name)))


def told_scope(scope: TokenScope) -> str:
    """Return what a token may do, in words."""
    return _("It may read and search.") if scope == "read" else _("It may read, search, add and change.")
