"""Commands about what a person sets on documents: names, tags, collections, the bin, and fetching originals."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docmind.cli.context import confirm, json_option, plain, print_json, reached
from docmind.cli.help import command, group
from docmind.cli.output import counted_documents, inert
from docmind.cli.purge import plain_receipt, print_receipts
from docmind.cli.threads import write_whole
from docmind.documents import EDITED
from docmind.errors import ConfigError, NotFoundError
from docmind.records.documents import beneath_parents, with_inside
from docmind.wording import _, number_text

if TYPE_CHECKING:
    from docmind.application import DocMind
    from docmind.client import Client
    from docmind.records.documents import Collection

_docs = click.argument("docs", nargs=-1, required=True)


def _edited(work: Callable[..., None]) -> Callable[..., None]:
    """Add an option for each attribute that a person sets as a text, besides the name."""
    for column in reversed(EDITED):
        if column.name != "document":
            work = click.option(f"--{column.name}", help=column.about)(work)
    return work


@command()
@click.argument("doc")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The file to write; - for stdout.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@json_option
def get(doc: str, output: Path, force: bool, as_json: bool) -> None:
    """Write the original of a document to a file, byte for byte."""
    is_stdout = str(output) == "-"
    if is_stdout and as_json:
        raise ConfigError(
            _("The file and JSON cannot both go to stdout."), hint=_("Give a file to -o, or leave out --json.")
        )
    with reached() as desk:
        info = desk.documents.find(doc)
        data, name = desk.documents.original(info.doc_id), desk.documents.original_name(info.doc_id)
    if is_stdout:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    target = output / name if output.is_dir() else output
    if os.path.lexists(target) and not force:
        raise ConfigError(
            _("{target} exists already.").format(target=target),
            hint=_("Give another name to -o, or --force to replace it."),
        )
    write_whole(target, data, over=force)
    if as_json:
        print_json({"file": str(target), "doc_id": info.doc_id, "bytes": len(data)})
    else:
        click.echo(
            _("Wrote {target} ({count} bytes). This copy is not encrypted.").format(
                target=inert(str(target)), count=number_text(len(data))
            )
        )


@command()
@click.argument("doc")
@click.argument("document", metavar="[NAME]", required=False)
@_edited
@json_option
def rename(doc: str, as_json: bool, **values: str | None) -> None:
    """Change the name of a document in the library, its title, or another fact."""
    if all(value is None for value in values.values()):
        raise ConfigError(_("There is nothing to change."), hint=_("Give a new name, or an option such as --title."))
    with reached() as desk:
        info = desk.documents.edit(desk.documents.find(doc).doc_id, **values)
    if as_json:
        print_json({"document": plain(info)})
    else:
        told = f" ({inert(info.shown_title)})" if info.shown_title else ""
        click.echo(f"{info.doc_id[:12]}  {inert(info.document)}{told}")


@command()
@_docs
@click.option("--add", "added", multiple=True, help="A tag to add; may be repeated.")
@click.option("--remove", "removed", multiple=True, help="A tag to remove; may be repeated.")
@click.option("--language", help="Set the language of the documents (en, pt, …); an empty one detects it again.")
@json_option
def tag(
    docs: tuple[str, ...], added: tuple[str, ...], removed: tuple[str, ...], language: str | None, as_json: bool
) -> None:
    """Add tags to documents, remove tags from them, or set their language."""
    if not (added or removed) and language is None:
        raise ConfigError(_("There is nothing to change."), hint=_("Give --add, --remove or --language."))
    with reached() as desk:
        doc_ids = _found(desk, docs)
        if added or removed:
            desk.documents.tag(doc_ids, add=added, remove=removed)
        if language is not None:
            desk.documents.set_language(doc_ids, language)
        documents = [desk.documents.get(doc_id) for doc_id in doc_ids]
    if as_json:
        print_json({"documents": [plain(info) for info in documents]})
        return
    for info in documents:
        click.echo(f"{inert(info.document)}: {inert(', '.join(info.tags)) or _('no tags')}, {info.language or '–'}")


@group()
def collection() -> None:
    """Manage collections: named groups of documents. A document can be in several."""


@collection.command("list")
@json_option
def list_collections(as_json: bool) -> None:
    """List the collections, with the number of their documents."""
    with reached() as desk:
        known = desk.documents.collections()
    if as_json:
        print_json({"collections": [plain(one) for one in known]})
        return
    if not known:
        click.echo(_("There are no collections yet. Make one: docmind collection add NAME DOC…"))
    for one in known:
        click.echo(_line(one))


@collection.command("add")
@click.argument("name")
@click.argument("docs", nargs=-1)
@json_option
def add_to_collection(name: str, docs: tuple[str, ...], as_json: bool) -> None:
    """Put documents into a collection, which is created if there is none of this name."""
    with reached() as desk:
        doc_ids = _found(desk, docs)
        try:
            known = desk.documents.collection(name)
        except NotFoundError:
            known = desk.documents.new_collection(name, doc_ids)
        else:
            desk.documents.collect(known.collection_id, doc_ids)
        now = desk.documents.collection(known.collection_id)
    _print_collection(now, as_json=as_json)


@collection.command("remove")
@click.argument("name")
@_docs
@json_option
def remove_from_collection(name: str, docs: tuple[str, ...], as_json: bool) -> None:
    """Take documents out of a collection; they stay in the library."""
    with reached() as desk:
        known = desk.documents.collection(name)
        desk.documents.collect(known.collection_id, _found(desk, docs), leave=True)
        now = desk.documents.collection(known.collection_id)
    _print_collection(now, as_json=as_json)


@collection.command("rename")
@click.argument("name")
@click.argument("new_name")
@json_option
def rename_collection(name: str, new_name: str, as_json: bool) -> None:
    """Rename a collection."""
    with reached() as desk:
        now = desk.documents.rename_collection(desk.documents.collection(name).collection_id, new_name)
    _print_collection(now, as_json=as_json)


@collection.command("delete")
@click.argument("name")
@json_option
def delete_collection(name: str, as_json: bool) -> None:
    """Delete a collection; its documents stay in the library."""
    with reached() as desk:
        gone = desk.documents.remove_collection(desk.documents.collection(name).collection_id)
    if as_json:
        print_json({"deleted": plain(gone)})
    else:
        click.echo(_("Deleted the collection {name}; its documents stay.").format(name=inert(gone.name)))


@group("bin")
def bin_() -> None:
    """Manage the bin: deleted documents, until they are restored or deleted permanently."""


@bin_.command("list")
@json_option
def list_bin(as_json: bool) -> None:
    """List the documents in the bin, the last deleted first."""
    with reached() as desk:
        documents = desk.documents.binned()
    if as_json:
        print_json({"documents": [plain(info) for info in documents]})
        return
    if not documents:
        click.echo(_("The bin is empty."))
    for info, depth in beneath_parents(documents):
        click.echo(f"{info.doc_id[:12]}  {info.pages:>5} {_('p.')}  {'  ' * depth}{inert(info.document)}")


@bin_.command()
@_docs
@json_option
def restore(docs: tuple[str, ...], as_json: bool) -> None:
    """Put documents back into the library; they are not read again."""
    with reached() as desk:
        doc_ids = list(dict.fromkeys(desk.documents.find_binned(doc).doc_id for doc in docs))
        desk.documents.restore(doc_ids)
        documents = [desk.documents.get(doc_id) for doc_id in doc_ids]
    if as_json:
        print_json({"restored": [plain(info) for info in documents]})
        return
    for info in documents:
        click.echo(_("Restored {document}.").format(document=inert(info.document)))


@bin_.command()
@click.argument("docs", nargs=-1)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def empty(docs: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Delete the documents in the bin permanently; without DOCS, all of them."""
    with reached() as desk:
        found = [desk.documents.find_binned(doc) for doc in docs] if docs else desk.documents.binned()
        doc_ids = list(dict.fromkeys(info.doc_id for info in found))
        if doc_ids:
            what = _("Delete {counted_documents} permanently?").format(
                counted_documents=with_inside(counted_documents(len(doc_ids)), desk.documents.inside(doc_ids))
            )
            confirm(what, refusal=_("Nothing was deleted."), yes=yes)
        receipts = desk.erasures.erase(doc_ids)
    if as_json:
        print_json({"deleted": [plain_receipt(receipt) for receipt in receipts]})
    elif not receipts:
        click.echo(_("The bin is empty."))
    else:
        print_receipts(receipts)


def _found(desk: DocMind | Client, docs: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(desk.documents.find(doc).doc_id for doc in docs))


def _print_collection(now: Collection, *, as_json: bool) -> None:
    if as_json:
        print_json({"collection": plain(now)})
    else:
        click.echo(_line(now))


def _line(one: Collection) -> str:
    return f"{inert(one.name)}: {counted_documents(one.documents)}"
