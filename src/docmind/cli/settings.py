"""Commands about the settings that are made in DocMind and kept, encrypted, in its library."""

from __future__ import annotations

import shlex
import sys
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from docmind.cli.context import is_asking, json_option, opened, plain, print_json
from docmind.cli.help import group
from docmind.cli.output import inert
from docmind.config import Settings
from docmind.errors import ConfigError
from docmind.records.settings import SettingInfo, SettingSource
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.application import DocMind

_SOURCES: dict[SettingSource, str] = {"environment": N_("set by {variable}"), "app": N_("set here"), "default": ""}
_name = click.argument("name")
_READERS, _NAMED = (
    "reading.readers",
    10,
)  # the readers of other packages; files that are named with a command


def _example() -> str:
    """Return a file of environment variables in which every setting stands once, commented out, with its default."""
    lines = [
        "# Settings of DocMind with their defaults. Remove `# ` before a variable to set it, and load this file into",
        "# the environment: `set -a; . ./docmind.env; set +a`, or EnvironmentFile= of systemd.",
        "# A variable wins over what is set in the app.",
    ]
    for about, members in groupby(Settings.variables(), key=lambda variable: variable.group):
        lines += ["", f"## {about}"]
        for variable in members:
            choices = f" ({', '.join(variable.choices)})" if variable.choices else ""
            lines += [f"# {variable.description}{choices}", f"# {variable.name}={_written(variable.default)}"]
    return "\n".join(lines) + "\n"


def _written(default: Any) -> str:
    """Return a default as a shell reads it; nothing for one that is unset."""
    if default is None or default == "":
        return ""
    return shlex.quote(str(default).lower() if isinstance(default, bool) else str(default))


def _print_example(context: click.Context, _option: click.Parameter, is_example: bool) -> None:
    if is_example:
        click.echo(_example(), nl=False)
        context.exit()


@group()
@click.option(
    "--example",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_example,
    help="Print every setting as an environment variable, with its default.",
)
def settings() -> None:
    """Show or change settings. NAME is one that `docmind settings list` shows, such as llm.url."""


@settings.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the settings that can be made in DocMind, with their values and where these come from."""
    with opened() as desk:
        infos = desk.settings.list()
    if as_json:
        print_json({"settings": [plain(info) for info in infos]})
        return
    for heading, members in groupby(infos, key=lambda info: info.group):
        click.echo(heading)
        for info in members:
            origin = _(_SOURCES[info.source]).format(variable=info.variable)
            click.echo(f"  {info.name:24}  {_shown(info):16}  {origin}".rstrip())


@settings.command()
@_name
@json_option
def get(name: str, as_json: bool) -> None:
    """Show one setting: its value, what is possible, and where the value comes from. Keys are not shown."""
    with opened() as desk:
        info = desk.settings.info(name)
    if as_json:
        print_json(plain(info))
        return
    origin = _(_SOURCES[info.source]).format(variable=info.variable) or _("default")
    click.echo(f"{info.title}: {_shown(info)} ({origin})")
    if info.choices:
        click.echo(_("One of: {names}").format(names=", ".join(info.choices)))
    elif info.least is not None:
        click.echo(
            (_("From {least} up") if info.most is None else _("From {least} to {most}")).format(
                least=f"{info.least:g}", most=f"{info.most:g}" if info.most is not None else ""
            )
        )


@settings.command("set")
@_name
@click.argument("value", required=False)
@json_option
def set_(name: str, value: str | None, as_json: bool) -> None:
    """Set NAME to VALUE. A key is asked for, or read from standard input, where VALUE is left out."""
    with opened(creates=True) as desk:
        if value is None:
            value = _asked(desk.settings.info(name))
        desk.settings.put({name: value})
        info = desk.settings.info(name)
        told = _readable_now(desk) if name == _READERS and not as_json else ""
    _print(info, as_json=as_json)
    if told:
        click.echo(told)


@settings.command()
@_name
@json_option
def unset(name: str, as_json: bool) -> None:
    """Go back to the default of NAME."""
    with opened() as desk:
        desk.settings.unset([name])
        info = desk.settings.info(name)
    _print(info, as_json=as_json)


def _readable_now(desk: DocMind) -> str:
    """Return what readers of other packages may read now that was read or refused without them; "" for nothing."""
    from docmind.reading import is_better_by_readers, is_for_readers, readable_now

    now = desk.settings.now.reading
    if not now.chosen_readers():
        return ""
    documents = [inert(info.document) for info in desk.documents.all() if is_better_by_readers(info, now)]
    refused = [inert(one.document) for one in desk.queue.uploads("failed") if is_for_readers(one.document, now)]
    commands = [f"    docmind reread {shlex.quote(name)}" for name in documents[:_NAMED]]
    commands += [f"    docmind queue retry {shlex.quote(name)}" for name in refused[:_NAMED]]
    return "\n".join(filter(None, [readable_now(len(documents), len(refused)), *commands]))


def _asked(info: SettingInfo) -> str:
    """Return a value that is not on the command line, where other users of the machine could read it."""
    if is_asking():
        return str(click.prompt(info.title, hide_input=info.kind == "secret", err=True))
    value = (sys.stdin.readline() if sys.stdin is not None else "").strip()
    if not value:
        raise ConfigError(
            _("No value was given."), hint=_("Run: docmind settings set {name} VALUE").format(name=info.name)
        )
    return value


def _print(info: SettingInfo, *, as_json: bool) -> None:
    if as_json:
        print_json(plain(info))
    else:
        click.echo(f"{info.name}: {_shown(info)}{'' if info.source == 'app' else _(' (default)')}")


def _shown(info: SettingInfo) -> str:
    if info.kind == "secret":
        return _("hidden") if info.is_set else _("not set")
    if isinstance(info.value, bool):
        return _("on") if info.value else _("off")
    return inert(str(info.value)) if info.value not in (None, "") else _("not set")
