"""Commands about language models: list them, use one."""

from __future__ import annotations

import click

from docmind.cli.opening import json_option, opened, plain, print_json
from docmind.cli.telling import inert, tell_degraded
from docmind.conversation import ModelInfo, ModelList
from docmind.errors import NotFoundError

NONE = "none"


@click.group()
def models() -> None:
    """The language models that may write answers."""


@models.command("list")
@json_option
def list_(as_json: bool) -> None:
    """The models that servers on this machine, or the one that was set, offer now."""
    with opened() as desk:
        found = desk.models.list(refresh=True)
    if as_json:
        named = [_data(info) for info in found.models]
        chosen = None if found.chosen is None else found.chosen.name
        print_json({**plain(found), "models": named, "chosen": chosen})
        return
    for info in found.models:
        mark = "*" if found.chosen is not None and info.name == found.chosen.name else " "
        where = "  not on this machine" if info.is_remote else ""
        click.echo(f"{mark} {inert(info.name)}  {inert(info.url)}{where}")
    if found.is_off:
        click.echo("Answers are quotes: no model is used.", err=True)
    elif not found.models:
        click.echo("No language model was found; answers are quotes.", err=True)
    tell_degraded(found.degraded)


@models.command()
@click.argument("name")
@click.option("--url", help="The address of its server, where several offer a model of this name.")
@json_option
def use(name: str, url: str | None, as_json: bool) -> None:
    """Let the model NAME (as `docmind models list` shows it) write answers; `none`: quotes only."""
    with opened() as desk:
        info = None if name == NONE else _named(name, url, desk.models.list(refresh=True))
        desk.models.choose(info)
    if as_json:
        print_json({"chosen": None if info is None else info.name})
    else:
        click.echo("Answers are quotes now." if info is None else f"{inert(info.name)} writes the answers now.")


def _named(name: str, url: str | None, found: ModelList) -> ModelInfo:
    """The one of this name, or of this name without its provider. Raises `NotFoundError`."""
    offered = [info for info in found.models if url is None or info.url.rstrip("/") == url.rstrip("/")]
    for fitting in ([info for info in offered if info.name == name], [info for info in offered if info.model == name]):
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            urls = ", ".join(info.url for info in fitting)
            raise NotFoundError(f"Several servers offer {name!r}: {urls}.", hint="Say which with --url.")
    if found.is_off and not found.models:
        raise NotFoundError("Language models are switched off.", hint="Unset DOCMIND_LLM__PROVIDER to use one.")
    known = ", ".join(info.name for info in found.models) or "none"
    raise NotFoundError(f"There is no language model {name!r}.", hint=f"There are: {known}.")


def _data(info: ModelInfo) -> dict[str, object]:
    return {"name": info.name, **plain(info)}
