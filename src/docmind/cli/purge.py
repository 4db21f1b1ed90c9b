"""Commands that erase a document for good, and that check the receipts of erasures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docmind.cli.context import confirm, json_option, opened, plain, print_json
from docmind.cli.help import command, group
from docmind.cli.output import counted_pages, inert, when
from docmind.cli.threads import write_whole
from docmind.errors import ConfigError, NotFoundError
from docmind.records.documents import with_inside
from docmind.wording import _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.records.documents import ErasureReceipt

_LARGEST = 1 << 20  # bytes of a file that is read as a receipt


@command()
@click.argument("doc")
@click.option("--now", is_flag=True, help="Erase a document that is not in the bin.")
@click.option("--keep-quotes", is_flag=True, help="Leave its quotes in conversations as they are.")
@click.option("--memories", is_flag=True, help="Forget memories that stand in it or name it.")
@click.option("--snapshots", is_flag=True, help="Erase it from snapshots too, even where only they have it.")
@click.option("--receipt", "file", type=click.Path(path_type=Path), help="Save the signed receipt to this new file.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def purge(
    doc: str,
    now: bool,
    keep_quotes: bool,
    memories: bool,
    snapshots: bool,
    file: Path | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Erase a document of the bin for good, everywhere, and check that nothing is left.

    Its pages, its original, its place in the index and its quotes in conversations are erased, the library is
    compacted, and all of its files are searched for the document's text.
    """

    def tell(step: str, number: int, total: int) -> None:
        if not as_json:
            click.echo(f"{number}/{total} {_(step)}", err=True)

    with opened() as desk:
        doc_id, name = _found(desk, doc, now=now, snapshots=snapshots)
        if file is not None and file.exists():
            raise ConfigError(_("{file} already exists.").format(file=file), hint=_("Choose another file."))
        what = _("Erase {document} for good? This can't be undone.").format(
            document=with_inside(inert(name), desk.documents.inside([doc_id]))
        )
        held = len(desk.snapshots.kept_in(doc_id))
        if held and not snapshots:
            told = ngettext(
                "{n} snapshot holds it and keeps it. Add --snapshots to erase it there too.",
                "{n} snapshots hold it and keep it. Add --snapshots to erase it there too.",
                held,
            )
            click.echo(told.format(n=held), err=True)
        confirm(what, refusal=_("Nothing was erased."), yes=yes)
        receipt, *inside = desk.erasures.erase(
            [doc_id], conversations=not keep_quotes, memories=memories, snapshots=snapshots, progress=tell
        )
        if file is not None and receipt.is_finished:
            write_whole(file, desk.erasures.text_of(receipt).encode(), over=False)
    if as_json:
        print_json({"receipt": plain_receipt(receipt), "inside": [plain_receipt(one) for one in inside]})
        return
    print_receipts([receipt, *inside])
    if receipt.is_finished:
        _print(receipt)
        if file is not None:
            click.echo(_("The receipt is in {file}.").format(file=file))


@group("receipt")
def receipts_() -> None:
    """List and check the receipts of erased documents."""


@receipts_.command("list")
@json_option
def list_receipts(as_json: bool) -> None:
    """List the receipts that the library keeps, the newest first."""
    with opened() as desk:
        receipts = desk.erasures.receipts()
    if as_json:
        print_json({"receipts": [plain_receipt(receipt) for receipt in receipts]})
        return
    if not receipts:
        click.echo(_("No document was erased."))
    for receipt in receipts:
        click.echo(f"{receipt.doc_id[:12]}  {when(receipt.erased_at_ms)}  {counted_pages(receipt.pages)}")


@receipts_.command("save")
@click.argument("doc")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The new file to write.")
@json_option
def save_receipt(doc: str, output: Path, as_json: bool) -> None:
    """Save the receipt of an erased document (id, or the beginning of one) to a file."""
    with opened() as desk:
        found = [one for one in desk.erasures.receipts() if len(doc) >= 4 and one.doc_id.startswith(doc)]
        if not found:
            raise NotFoundError(
                _("There is no receipt of {doc}.").format(doc=inert(doc)),
                hint=_("Run `docmind receipt list` to see the receipts."),
            )
        write_whole(output, desk.erasures.text_of(found[0]).encode(), over=False)
    if as_json:
        print_json({"file": str(output), "receipt": plain_receipt(found[0])})
    else:
        click.echo(_("The receipt is in {file}.").format(file=output))


@receipts_.command("verify")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def verify_receipt(file: Path, as_json: bool) -> None:
    """Check that this library wrote a receipt, and that it was not changed since."""
    try:
        with file.open("rb") as stream:
            data = stream.read(_LARGEST)
    except OSError as error:
        raise NotFoundError(
            _("{file} can't be read: {reason}.").format(file=file, reason=error.strerror),
            hint=_("Give the path of a receipt that was saved."),
        ) from error
    with opened() as desk:
        receipt = desk.erasures.verify(data)
    if as_json:
        print_json({"receipt": plain_receipt(receipt), "is_genuine": True})
        return
    click.echo(_("The receipt is genuine: this library wrote it, and it was not changed."))
    click.echo(f"{receipt.doc_id}  {when(receipt.erased_at_ms)}")
    _print(receipt)


def plain_receipt(receipt: ErasureReceipt) -> dict[str, Any]:
    """Convert a receipt to a JSON dict."""
    counts = {"erased": dict(receipt.erased), "found": dict(receipt.found)}
    return {**plain(receipt), **counts, "is_finished": receipt.is_finished, "is_clean": receipt.is_clean}


def print_receipts(receipts: Iterable[ErasureReceipt]) -> None:
    """Print what was deleted permanently."""
    from docmind.maintenance import told

    for receipt in receipts:
        named = _("{name} was erased ({pages}).")
        click.echo(named.format(name=inert(receipt.document), pages=counted_pages(receipt.pages)))
        if not receipt.is_clean:
            click.echo(told(receipt), err=True)


def _print(receipt: ErasureReceipt) -> None:
    from docmind.maintenance import told

    if receipt.is_clean:
        click.echo(told(receipt))
    erased = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in receipt.erased if number)
    click.echo(_("Erased: {erased}").format(erased=erased))
    found = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in receipt.found)
    click.echo(_("Found afterwards: {found}").format(found=found))


def _found(desk: DocMind, doc: str, *, now: bool, snapshots: bool) -> tuple[str, str]:
    """Return id and name of the document to erase."""
    try:
        info = desk.documents.find_binned(doc)
    except NotFoundError:
        with_now = _("Move it to the bin with `docmind delete`, or erase it at once with --now.")
        try:
            info = desk.documents.find(doc)
        except NotFoundError:
            if not snapshots:
                raise
            return desk.snapshots.find_document(doc)
        if now:
            return info.doc_id, info.document
        raise ConfigError(
            _("{document} is not in the bin.").format(document=inert(info.document)), hint=with_now
        ) from None
    return info.doc_id, info.document
