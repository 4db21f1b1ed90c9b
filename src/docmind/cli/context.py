"""Helpers of all commands: opening the vault, `--json`, questions to the user, filters."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docmind.access import find_owner
from docmind.api.sharing import Sharing
from docmind.config import Settings
from docmind.errors import CancelledError, ConfigError, ExtraMissingError, VaultBusyError
from docmind.network import network_guard
from docmind.observability import start_logs, start_traces
from docmind.records.documents import Box
from docmind.records.models import ModelKind
from docmind.records.search import Degraded, ListName
from docmind.storage import AskPassphrase, check_library, once_free
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.access import RunningApp
    from docmind.application import DocMind
    from docmind.client import Client


_GIVES_WAY_S = 5
"""The longest wait for another command that has the library open."""
_START_S = 120.0  # a command's wait for the start of a model
_INNER = frozenset({"nearest_cosine"})  # passed between stages, of no use to other programs


def plain(record: Any) -> dict[str, Any]:
    """Convert a record to a JSON dict: boxes as `[x, y, w, h]`, timings as an object."""
    shown = [one.name for one in fields(record) if one.name not in _INNER and not one.metadata.get("is_inner")]
    made = {name: _value(getattr(record, name)) for name in shown}
    if "timings_ms" in made:
        made["timings_ms"] = {name: round(ms, 2) for name, ms in made["timings_ms"]}
    return made


def _value(value: Any) -> Any:
    if isinstance(value, Box):
        return list(value)
    if isinstance(value, tuple | list):
        return [_value(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _value(item) for name, item in value.items()}
    return plain(value) if is_dataclass(value) else value


__all__ = [
    "check_text_model",
    "confirm",
    "is_asking",
    "json_option",
    "no_json_option",
    "opened",
    "plain",
    "print_code",
    "print_json",
    "print_starting",
    "reached",
]

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def _refuse_json(ctx: click.Context, _parameter: click.Parameter, is_given: bool) -> None:
    if is_given:
        raise ConfigError(
            _("`{command}` runs until it is ended, and has no JSON.").format(command=ctx.command_path),
            hint=_("Leave out --json."),
        )


no_json_option = click.option(
    "--json", is_flag=True, hidden=True, expose_value=False, is_eager=True, callback=_refuse_json
)
"""The option of a command that serves something and prints no result: it is refused in a sentence."""


@contextmanager
def opened(
    *,
    creates: bool = False,
    reminds: bool = True,
    accept: bool = False,
    read_only: bool = False,
    ask_passphrase: AskPassphrase | None = None,
) -> Iterator[DocMind]:
    """Open the configured vault. Only a command that `creates` makes one where there is none.

    Other processes of the user are answered meanwhile. The recovery code of a new vault, or of one that a recovery code
    opened, is printed on stderr; later commands remind there until it is confirmed, unless `reminds` is False. `accept`
    continues with a vault that lacks acknowledged changes; `read_only` changes nothing in it. `ask_passphrase` returns
    the passphrase in place of the question for it.

    Raises `VaultError` where there is no vault, and `VaultBusyError`, which names the app where that is open.
    """
    settings = _started(creates=creates)
    desk = _owned(
        settings, _Waiting(settings.data_dir), reminds=reminds, accept=accept, read_only=read_only, ask=ask_passphrase
    )
    with desk, _shared(desk, settings):
        yield desk


@contextmanager
def reached(*, creates: bool = False, wait_s: float = _GIVES_WAY_S) -> Iterator[DocMind | Client]:
    """Open the configured vault as `opened` does, or reach the app or the command that has it open.

    `wait_s` is the longest wait for one that has it open and does not answer.
    """
    settings = _started(creates=creates)
    desk = _owned(settings, _Reaching(settings.data_dir, wait_s))
    with desk, _shared(desk, settings):
        yield desk


def _started(*, creates: bool) -> Settings:
    """Return the settings, with the log and the guard of the network as they say. Raises `VaultError` as `opened`."""
    settings = _patient(Settings.load())
    if not creates:
        check_library(settings.data_dir)
    start_logs(settings, is_command=True)
    network_guard().hold(settings.network.strict)
    start_traces(settings)
    return settings


class _Waiting:
    """What a command does before each wait for the library: it says so once, and does not wait for the app."""

    def __init__(self, data_dir: Path, wait_s: float = _GIVES_WAY_S) -> None:
        self.wait_s = wait_s
        self._data_dir = data_dir
        self._is_told = False

    def __call__(self) -> Any:
        owner = find_owner(self._data_dir)
        if owner is not None and (other := self._instead(owner)) is not None:
            return other
        if not self._is_told:
            told = _("Another command of DocMind uses the library; waiting for it for at most {seconds} seconds.")
            click.echo(told.format(seconds=round(self.wait_s)), err=True)
            self._is_told = True
        return None

    def _instead(self, owner: RunningApp) -> Any:
        if owner.is_app:
            raise VaultBusyError(
                _("DocMind is open in the browser; commands work while it is closed."),
                hint=_("Use the app (`docmind open` shows it), or end it with Ctrl-C in its terminal and try again."),
            )


class _Reaching(_Waiting):
    def _instead(self, owner: RunningApp) -> Any:
        from docmind.client import Client

        return Client(owner)


def _owned(
    settings: Settings,
    waiting: _Waiting,
    *,
    reminds: bool = True,
    accept: bool = False,
    read_only: bool = False,
    ask: AskPassphrase | None = None,
) -> Any:
    """Open the vault, or return what `waiting` has in its place; tell about its recovery code."""
    from docmind.application import DocMind

    is_new = not (settings.data_dir / "vault.json").exists()
    is_chosen = is_new or settings.keys.recovery_code is not None  # the code brings a new root key
    if ask is None and is_asking():
        ask = lambda: _ask_passphrase(is_chosen=is_chosen)  # noqa: E731
    desk = once_free(
        lambda: DocMind(settings, ask_passphrase=ask, read_only=read_only, accept=accept), waiting.wait_s, waiting
    )
    if not isinstance(desk, DocMind):
        return desk
    code = desk.keys.recovery_code()
    if code and is_chosen:
        made = (
            _("A new library was created.")
            if is_new
            else _("The library has a new key, and the old recovery code no longer works.")
        )
        print_code(made, code)
    elif code and reminds:
        click.echo(
            _(
                "The recovery code of this library isn't confirmed yet. See it with `docmind keys code`; "
                "confirm it with `docmind keys confirm`."
            ),
            err=True,
        )
    return desk


@contextmanager
def _shared(desk: DocMind | Client, settings: Settings) -> Iterator[None]:
    """Answer other processes of the user while the library is open here; at the end, what they have asked already."""
    from docmind.application import DocMind

    if not isinstance(desk, DocMind) or desk.is_read_only:
        yield
        return
    sharing = Sharing(settings.data_dir, desk)
    try:
        yield
    finally:
        sharing.close(lambda: click.echo(_("Answering another command first; Ctrl-C ends this at once."), err=True))


def _patient(settings: Settings) -> Settings:
    """Return settings under which a command waits for a model to start: nothing has started it before."""
    if "start_timeout_s" in settings.retrieve.model_fields_set:
        return settings
    retrieve = settings.retrieve.model_copy(update={"start_timeout_s": _START_S})
    return settings.model_copy(update={"retrieve": retrieve})


def print_starting(desk: DocMind | Client, lists: Collection[ListName]) -> None:
    """Tell on stderr that a search of these lists, or of all, starts a model first; an open app has its own running."""
    from docmind.application import DocMind

    kinds: dict[ListName, ModelKind] = {"image": "image", "visual": "late"}
    if isinstance(desk, DocMind) and not all(
        desk.page_search.is_ready(kind) for name, kind in kinds.items() if not lists or name in lists
    ):
        click.echo(_("Starting the model for page images."), err=True)


def check_text_model(desk: DocMind | Client, degraded: Iterable[Degraded]) -> None:
    """Raise `ExtraMissingError` where a search went without its text model because that is not installed.

    For results that are empty: they would say that the documents have no answer.
    """
    if any(part.stage == "dense" for part in degraded):
        for part in desk.status().capabilities:
            if (part.name, part.state) == ("text model", "missing"):
                raise ExtraMissingError(part.detail, hint=part.hint)


def print_code(why: str, code: str) -> None:
    """Print a new recovery code on stderr, with what to do with it."""
    click.echo(
        _(
            "{why} Its recovery code: {code}\n"
            "Write it down and keep it away from this computer: it opens the library if the key is lost. "
            "Then run: docmind keys confirm"
        ).format(why=why, code=code),
        err=True,
    )


def is_asking() -> bool:
    """Tell whether a user can be asked. A process started without standard input has None there."""
    return sys.stdin is not None and sys.stdin.isatty()


def confirm(question: str, *, refusal: str, yes: bool) -> None:
    """Ask before what cannot be undone; `yes` is prior consent.

    Raises `CancelledError` with `refusal`.
    """
    if yes:
        return
    if not is_asking():
        raise CancelledError(refusal, hint=_("Add --yes to confirm without a question."))
    if not click.confirm(question, err=True):
        raise CancelledError(refusal, hint=_("Answer y to confirm, or add --yes."))


def print_json(data: dict[str, Any]) -> None:
    """Print one object on one line."""
    # A name of arbitrary bytes arrives as surrogates, which no output accepts.
    click.echo(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace").decode())


def _ask_passphrase(*, is_chosen: bool) -> str:
    """Ask for the passphrase, twice for a new one: a typing error would lock its owner out."""
    what = _("New passphrase for the library") if is_chosen else _("Passphrase of the library")
    return str(click.prompt(what, hide_input=True, confirmation_prompt=is_chosen, err=True))
