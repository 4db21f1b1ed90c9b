"""What every command shares: opening the vault, `--json`, questions to the person, and filters."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from docmind import telemetry
from docmind.cli.plain import plain
from docmind.config import Settings
from docmind.errors import CancelledError
from docmind.schema import Filters

if TYPE_CHECKING:
    from docmind.application import DocMind

__all__ = ["confirm", "filtered", "filters_of", "is_asking", "json_option", "opened", "plain", "print_json"]

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
_filters = (
    click.option("--doc", "docs", multiple=True, help="Only this document (id or file name); may be repeated."),
    click.option("--language", "languages", multiple=True, help="Only pages in this language (en, pt, …)."),
    click.option("--tag", "tags", multiple=True, help="Only documents with this tag; may be repeated."),
)


def filtered(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that narrow a search: `docs`, `languages` and `tags`."""
    for option in reversed(_filters):
        command = option(command)
    return command


def filters_of(desk: DocMind, docs: Iterable[str], languages: tuple[str, ...], tags: tuple[str, ...]) -> Filters:
    """What the options of `filtered` say. Raises `NotFoundError` for a document that is not there."""
    doc_ids = tuple(desk.find_document(doc).doc_id for doc in docs)
    return Filters(doc_ids=doc_ids, languages=tuple(language.lower() for language in languages), tags=tags)


def opened() -> DocMind:
    """The vault the settings name, a context; a new one says its recovery code once, on stderr."""
    from docmind.application import DocMind

    settings = Settings.load()
    telemetry.start(settings.log_level)
    is_new = not (settings.data_dir / "vault.json").exists()
    is_chosen = is_new or settings.keys.recovery_code is not None  # which brings a new root key
    ask = (lambda: _ask_passphrase(is_chosen=is_chosen)) if is_asking() else None
    desk = DocMind(settings, ask_passphrase=ask)
    if code := desk.take_recovery_code():
        made = (
            "A new vault was made." if is_new else "The vault has a new key, and its old code opens nothing any more."
        )
        click.echo(
            f"{made} Its recovery code, shown only now: {code}\n"
            "Write it down and keep it away from this machine: it opens the vault when the key is lost.",
            err=True,
        )
    return desk


def is_asking() -> bool:
    """Whether there is somebody to ask. A process that was started without standard input has None there."""
    return sys.stdin is not None and sys.stdin.isatty()


def confirm(question: str, *, refusal: str, yes: bool) -> None:
    """Ask before what cannot be undone; `yes` is consent given before. Raises `CancelledError`, saying `refusal`."""
    if yes:
        return
    if not is_asking():
        raise CancelledError(refusal, hint="Confirm with --yes where nobody can be asked.")
    if not click.confirm(question, err=True):
        raise CancelledError(refusal, hint="Confirm with y, or use --yes.")


def print_json(data: dict[str, Any]) -> None:
    """One object on one line."""
    # A name of any bytes reaches us as surrogates, which no output can take.
    click.echo(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace").decode())


def _ask_passphrase(*, is_chosen: bool) -> str:
    """One that is being chosen is asked for twice: what was mistyped would lock its owner out."""
    what = "Choose a new passphrase for the vault" if is_chosen else "Passphrase of the vault"
    return str(click.prompt(what, hide_input=True, confirmation_prompt=is_chosen, err=True))
