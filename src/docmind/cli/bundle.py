"""Commands about bundles: write the library into one encrypted file, check one, take what is in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from docmind.cli.context import json_option, opened, plain, print_json
from docmind.cli.help import group
from docmind.cli.options import passphrase_option, typed_passphrase
from docmind.cli.output import counted_documents, counted_pages, inert, terminal_bar, when
from docmind.records.bundles import BundleInfo, BundleReport
from docmind.wording import _, ngettext

_Passphrase = Path | None

_file = click.argument("file", type=click.Path(path_type=Path))
_passphrase = passphrase_option("--passphrase-file")


@group()
def bundle() -> None:
    """Carry the library to another computer in one encrypted file: documents, conversations, memories."""


@bundle.command()
@_file
@_passphrase
@json_option
def write(file: Path, passphrase_file: _Passphrase, as_json: bool) -> None:
    """Write the library into the new FILE, encrypted with a passphrase that you choose.

    Documents that are not read to their end, and the bin, stay behind. So do settings and followed folders.
    """
    with opened() as desk, _bar(quiet=as_json) as report:
        info = desk.bundles.write(file, _asked(passphrase_file, is_chosen=True), report)
    if as_json:
        print_json({"file": str(file), "bundle": plain(info)})
        return
    click.echo(_("Wrote {file}: {what}.").format(file=inert(str(file)), what=_told(info)))
    for name in info.left_out:
        click.echo(_("Left out, because its stored files are damaged: {name}").format(name=inert(name)), err=True)


@bundle.command()
@_file
@_passphrase
@json_option
def verify(file: Path, passphrase_file: _Passphrase, as_json: bool) -> None:
    """Check every part of FILE, and say what it holds. Nothing is taken from it; no library is needed."""
    from docmind.maintenance import verify_bundle

    with _bar(quiet=as_json) as report:
        info = verify_bundle(file, _asked(passphrase_file), report)
    if as_json:
        print_json({"bundle": plain(info)})
    else:
        click.echo(_("The bundle is whole. It holds {what}.").format(what=_told(info)))
        click.echo(
            _("Written {when} by DocMind {version}.").format(when=when(info.created_at_ms), version=info.version)
        )


@bundle.command()
@_file
@_passphrase
@click.option("--with-erased", is_flag=True, help="Also take documents that were erased from this library.")
@json_option
def read(file: Path, passphrase_file: _Passphrase, with_erased: bool, as_json: bool) -> None:
    """Take what FILE holds and the library lacks. Every part is checked first; nothing is replaced.

    Documents that were erased here stay erased, unless you say otherwise.
    """
    with opened(creates=True) as desk, _bar(quiet=as_json) as report:
        read = desk.bundles.read(file, _asked(passphrase_file), report, with_erased=with_erased)
    if as_json:
        print_json({"read": plain(read)})
        return
    click.echo(_told_read(read))
    for name in read.erased:
        click.echo(_("Left out, because it was erased here: {name}").format(name=inert(name)))
    if not read.is_embedded:
        click.echo(_("Another text model made its vectors. Run `docmind reindex` to search it by meaning."))


def _told(info: BundleInfo) -> str:
    return ", ".join(
        (counted_documents(info.documents), counted_pages(info.pages), *_talks(info.conversations, info.memories))
    )


def _told_read(read: BundleReport) -> str:
    added = ", ".join(
        (counted_documents(read.documents), counted_pages(read.pages), *_talks(read.conversations, read.memories))
    )
    known = ngettext("{n} document was here already.", "{n} documents were here already.", read.known)
    told = _("Added {what}.").format(what=added)
    return f"{told} {known.format(n=read.known)}" if read.known else told


def _talks(conversations: int, memories: int) -> tuple[str, str]:
    return (
        ngettext("{n} conversation", "{n} conversations", conversations).format(n=conversations),
        ngettext("{n} memory", "{n} memories", memories).format(n=memories),
    )


@contextmanager
def _bar(*, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on a terminal; yield the function that a bundle reports to."""
    columns = ("BarColumn", "TimeRemainingColumn")
    with terminal_bar(_fields, *columns, quiet=quiet) as show:
        yield lambda done, whole: show((done, whole))


def _fields(now: tuple[int, int]) -> dict[str, int]:
    return {"completed": now[0], "total": now[1]}


def _asked(file: _Passphrase, *, is_chosen: bool = False) -> str:
    """Return the passphrase of a bundle; a new one is asked for twice."""
    what = _("Passphrase for the bundle") if is_chosen else _("Passphrase of the bundle")
    return typed_passphrase(what, file, missing=_("The bundle's passphrase is missing."), is_chosen=is_chosen)
