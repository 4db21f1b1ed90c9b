"""Commands about documents and the vault: add, list, delete, reindex, status."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from docmind.cli.opening import confirm, is_asking, json_option, opened, plain, print_json
from docmind.cli.telling import counted, inert, progress_bar, tell
from docmind.config import Settings

_REFUSED = 20


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--password-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file of passwords, one a line; each is tried on locked files.",
)
@click.option("--tag", "tags", multiple=True, help="A tag for these documents; may be repeated.")
@json_option
def add(paths: tuple[Path, ...], password_file: Path | None, tags: tuple[str, ...], as_json: bool) -> None:
    """Take files, and whole folders of files, into the vault."""
    from docmind.cli.adding import Adding, read_passwords

    passwords = read_passwords(password_file) if password_file else []
    limit_mb = Settings.load().reading.max_file_mb
    with opened() as desk:
        adding = Adding(desk, paths, passwords, tags, limit_mb, ask=_ask_password if is_asking() else None)
        try:
            with progress_bar(quiet=as_json) as show:
                adding.run(show)
        finally:  # a full disk or Ctrl-C ends it: what was done before is told all the same
            if as_json:
                print_json({"files": [plain(result) for result in adding.results]})
            else:
                for result in adding.results:
                    tell(result)
    if not adding.results and not as_json:
        click.echo("There is nothing to add: no files but hidden ones.", err=True)
    refused = [result for result in adding.results if result.status == "refused"]
    if refused:
        codes = {result.exit_code for result in refused}
        sys.exit(codes.pop() if len(codes) == 1 else _REFUSED)


@click.command("list")
@json_option
def list_(as_json: bool) -> None:
    """The documents in the vault."""
    with opened() as desk:
        documents = desk.documents()
    if as_json:
        print_json({"documents": [plain(info) for info in documents]})
        return
    if not documents:
        click.echo("There are no documents yet. Add some: docmind add FILE…")
    for info in documents:
        language = info.language or "–"
        click.echo(f"{info.doc_id[:12]}  {info.pages:>5} p.  {language:2}  {info.status:8}  {inert(info.document)}")


@click.command()
@click.argument("docs", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def delete(docs: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Delete documents (id, beginning of an id, or file name) for good."""
    with opened() as desk:
        found = {info.doc_id: info for info in map(desk.find_document, docs)}.values()  # each once
        names = ", ".join(inert(info.document) for info in found)
        confirm(f"Delete {names} for good?", refusal="Nothing was deleted.", yes=yes)
        receipts = [desk.delete(info.doc_id) for info in found]
    if as_json:
        print_json({"deleted": [plain(receipt) for receipt in receipts]})
        return
    for receipt in receipts:
        click.echo(
            f"Deleted {inert(receipt.document)}: {counted(receipt.pages, 'page')}, {counted(receipt.nodes, 'passage')},"
            f" {counted(receipt.artifacts, 'sealed file')}."
        )


@click.command()
@json_option
def reindex(as_json: bool) -> None:
    """Make what vectors are missing, and the index anew, with the text model in use."""
    with opened() as desk:
        documents = desk.reindex()
    if as_json:
        print_json({"documents": documents})
    else:
        click.echo(f"The index holds {counted(documents, 'document')}.")


@click.command()
@json_option
def status(as_json: bool) -> None:
    """What is present, what is missing, and the command that adds it."""
    with opened() as desk:
        now = desk.status()
    if as_json:
        print_json(plain(now))
        return
    click.echo(
        f"DocMind {now.version}, vault {now.vault_id}, {counted(now.documents, 'document')}, "
        + counted(now.pages, "page")
    )
    click.echo(f"{now.vault_bytes / 1e6:,.0f} MB used, {now.free_bytes / 1e9:,.1f} GB free")
    for part in now.capabilities:
        click.echo(f"  {part.state:8} {part.name}: {part.detail}" + (f" ({part.hint})" if part.hint else ""))


def _ask_password(name: str) -> str:
    asked = f"Password of {inert(name)} (empty: skip)"
    return str(click.prompt(asked, hide_input=True, default="", show_default=False, err=True))
