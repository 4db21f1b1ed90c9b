"""Commands about the recovery code and the keys: show, confirm and replace the code, the passphrase, new keys."""

from __future__ import annotations

from pathlib import Path

import click

from docmind.cli.context import confirm as ask_first
from docmind.cli.context import is_asking, json_option, opened, plain, print_code, print_json
from docmind.cli.help import group
from docmind.cli.options import passphrase_option, typed_passphrase
from docmind.cli.output import inert, terminal_bar
from docmind.errors import ConfigError, NotFoundError
from docmind.maintenance import Keys
from docmind.records.rotation import RotationProgress
from docmind.storage import strength_in_words
from docmind.wording import _, ngettext


@group()
def keys() -> None:
    """Passphrase, keys and recovery code: the code opens the library if the key is lost."""


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


_new_passphrase = passphrase_option("--new-passphrase-file", "Read the new passphrase")
_now_passphrase = passphrase_option("--passphrase-file")


class _Now:
    """The passphrase of the library as it is now, asked for or read at most once."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._typed: str | None = None

    def __call__(self) -> str:
        if self._typed is None:
            missing = _("The passphrase of the library is missing.")
            self._typed = typed_passphrase(_("Passphrase of the library"), self._file, missing=missing)
        return self._typed

    def of(self, keys: Keys) -> str:
        """Return it where the library opens with one that is typed; else nothing, which is refused with the reason."""
        return self() if keys.asks_passphrase else ""


@keys.command()
@_new_passphrase
@click.option("--remove-key-file", is_flag=True, help="Also remove a key file that DOCMIND_KEYS__FILE names.")
@click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
def protect(new_passphrase_file: Path | None, remove_key_file: bool, yes: bool, as_json: bool) -> None:
    """Let a passphrase open the library, in place of the key file or the keyring.

    The key of before is removed, and the library gets a new recovery code.
    """
    with opened(reminds=False) as desk:
        shared = desk.keys.shared_file
        new = "" if desk.keys.fixed_by or desk.keys.source == "passphrase" else _chosen(new_passphrase_file, yes=yes)
        desk.keys.protect(new, removes_shared=remove_key_file)
        is_left, made = desk.keys.is_former_left, desk.keys.recovery_code()
    kept = None if shared is None or remove_key_file else str(shared)
    if as_json:
        told = {"source": "passphrase", "recovery_code": made, "kept_file": kept, "is_former_left": is_left}
        print_json(told)
        return
    click.echo(_("The library now opens with your passphrase."))
    if kept is not None:
        click.echo(
            _("{file} stays, because other libraries may open with it. It no longer opens this one.").format(
                file=inert(kept)
            )
        )
    if is_left:
        click.echo(_("The old key could not be removed yet; the next start tries again."), err=True)
    click.echo(_("Backups made before still open with the old key. `docmind keys rotate` makes a copied key useless."))
    print_code(_("The old code no longer works."), made or "")


@keys.command("passphrase")
@_now_passphrase
@_new_passphrase
@click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
def change_passphrase(
    passphrase_file: Path | None, new_passphrase_file: Path | None, yes: bool, as_json: bool
) -> None:  # fmt: skip
    """Change the passphrase. The library gets a new recovery code."""
    now = _Now(passphrase_file)
    with opened(reminds=False, ask_passphrase=now) as desk:
        given = now.of(desk.keys)
        new = _chosen(new_passphrase_file, yes=yes) if given else ""
        desk.keys.change_passphrase(given, new)
        made = desk.keys.recovery_code()
    if as_json:
        print_json({"source": "passphrase", "recovery_code": made})
        return
    click.echo(_("The passphrase is changed."))
    print_code(_("The old code no longer works."), made or "")


@keys.command()
@_now_passphrase
@click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
def unprotect(passphrase_file: Path | None, yes: bool, as_json: bool) -> None:
    """Let the library open without its passphrase. It gets a new recovery code.

    The key then lies in the keyring of this computer, or in a file that only you can read.
    """
    now = _Now(passphrase_file)
    with opened(reminds=False, ask_passphrase=now) as desk:
        given = now.of(desk.keys)
        if given and not desk.keys.fixed_by:
            question = _("Let the library open without a passphrase, for whoever uses your account?")
            ask_first(question, refusal=_("The library still opens with its passphrase."), yes=yes)
        desk.keys.unprotect(given)
        source, made = desk.keys.source, desk.keys.recovery_code()
    if as_json:
        print_json({"source": source, "recovery_code": made})
        return
    where = _("in the keyring of this computer") if source == "keyring" else _("in a file that only you can read")
    click.echo(_("The library opens without a passphrase. Its key lies {where}.").format(where=where))
    print_code(_("The old code no longer works."), made or "")


def _chosen(file: Path | None, *, yes: bool) -> str:
    """Return a new passphrase, once its strength was told and what happens if it is forgotten."""
    missing = _("The new passphrase is missing.")
    what = _("New passphrase for the library")
    new = typed_passphrase(what, file, missing=missing, is_chosen=True, option="--new-passphrase-file")
    click.echo(strength_in_words(new), err=True)
    question = _("If you forget it, only the recovery code opens the library. Use this passphrase?")
    ask_first(question, refusal=_("Nothing was changed."), yes=yes)
    return new


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
