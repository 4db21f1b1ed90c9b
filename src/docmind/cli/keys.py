"""Commands about the recovery code and the keys: show, confirm and replace the code, rotate the keys."""

from __future__ import annotations

import click

from docmind.cli.context import confirm as ask_first
from docmind.cli.context import is_asking, json_option, opened, plain, print_code, print_json
from docmind.cli.help import group
from docmind.cli.output import inert, terminal_bar
from docmind.errors import ConfigError, NotFoundError
from docmind.records.rotation import RotationProgress
from docmind.wording import _, ngettext


@group()
def keys() -> None:
    """Recovery code and keys: the code opens the library if the key is lost."""


@keys.command()
@json_option
def code(as_json: bool) -> None:
    """Show the recovery code until it is confirmed."""
    with opened(reminds=False) as desk:
        kept = desk.keys.recovery_code()
    if kept is None:
        raise NotFoundError(
            _("The recovery code is confirmed, so DocMind no longer keeps it."),
            hint=_("`docmind keys new-code` makes a new one; the old one then stops working."),
        )
    if as_json:
        print_json({"recovery_code": kept})
    else:
        click.echo(kept)


@keys.command()
@click.argument("group", required=False)
@json_option
def confirm(group: str | None, as_json: bool) -> None:
    """Confirm that you wrote the code down. GROUP is its last five characters.

    DocMind then no longer keeps it.
    """
    with opened(reminds=False) as desk:
        is_kept = desk.keys.recovery_code() is not None
        if is_kept:
            desk.keys.confirm_recovery_code(group if group is not None else _ask_group())
    if as_json:
        print_json({"confirmed": True})
    elif is_kept:
        click.echo(_("The recovery code is confirmed. DocMind no longer keeps it."))
    else:
        click.echo(_("The recovery code is confirmed already."))


@keys.command("new-code")
@click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
def new_code(yes: bool, as_json: bool) -> None:
    """Make a new recovery code. The old one stops working."""
    with opened(reminds=False) as desk:
        question = _("Make a new recovery code? The old one stops working.")
        ask_first(question, refusal=_("The recovery code was not changed."), yes=yes)
        made = desk.keys.new_recovery_code()
    if as_json:
        print_json({"recovery_code": made})
    else:
        print_code(_("The old code no longer works."), made)


@keys.command()
@click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
def rotate(yes: bool, as_json: bool) -> None:
    """Encrypt the whole library again with new keys. It gets a new recovery code.

    Passphrase, keyring or key file stay as they are. What was interrupted goes on.
    """
    with opened(reminds=False) as desk:
        if not desk.rotation.is_unfinished:
            question = _("Encrypt everything again with new keys? The library gets a new recovery code.")
            ask_first(question, refusal=_("The keys were not changed."), yes=yes)
        columns = ("{task.description}", "BarColumn", "TimeRemainingColumn")
        with terminal_bar(_fields_of, *columns, quiet=as_json) as tell:
            report = desk.rotate_keys(tell)
        made = desk.keys.recovery_code()
    if as_json:
        print_json({"rotation": plain(report), "recovery_code": made})
        return
    files = ngettext("{n} file", "{n} files", report.files).format(n=f"{report.files:,}")
    click.echo(_("Everything has new keys. {files} encrypted again in {seconds} s.").format(
        files=files, seconds=round(report.seconds)
    ))  # fmt: skip
    for name in report.damaged:
        click.echo(_("Damaged, so it keeps its old key: {name}").format(name=inert(name)), err=True)
    if made is not None:
        print_code(_("The old code no longer works."), made)


def _fields_of(now: RotationProgress) -> dict[str, object]:
    return {"description": _(now.step), "completed": now.done, "total": now.total or None}


def _ask_group() -> str:
    if not is_asking():
        raise ConfigError(
            _("The last five characters of the recovery code are missing."),
            hint=_("Give them: docmind keys confirm GROUP"),
        )
    return str(click.prompt(_("Last five characters of the recovery code, as you wrote it down"), err=True))
