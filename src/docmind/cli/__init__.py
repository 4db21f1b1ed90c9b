"""The command line: the facade's methods as commands, for people and, with `--json`, for programs."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from docmind import __version__, telemetry
from docmind.cli.telling import counted, inert, progress_bar, source_of, tell, tell_degraded, tell_hits, tell_narrow
from docmind.config import Settings
from docmind.errors import CancelledError, ConfigError, DiskFullError, DocMindError
from docmind.schema import Filters

_REFUSED = 20


class _Commands(click.Group):
    """The one place where errors become a sentence on stderr and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DocMindError as error:
            click.echo(f"docmind: {inert(str(error))}\n{inert(error.hint)}", err=True)
            ctx.exit(error.exit_code)
        except (KeyboardInterrupt, click.Abort):  # Ctrl-C, at a question too
            click.echo("\ndocmind: stopped.", err=True)
            ctx.exit(CancelledError.exit_code)
        except BrokenPipeError:  # the reader of our output has gone, `| head` for one
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            click.echo("docmind: There is no room left for the output.\nFree some disk space and try again.", err=True)
            ctx.exit(DiskFullError.exit_code)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="docmind")
def main() -> None:
    """A private document desk on your own machine."""


_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
_filters = (
    click.option("--doc", "docs", multiple=True, help="Only this document (id or file name); may be repeated."),
    click.option("--language", "languages", multiple=True, help="Only pages in this language (en, pt, …)."),
    click.option("--tag", "tags", multiple=True, help="Only documents with this tag; may be repeated."),
)


def _filtered(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_filters):
        command = option(command)
    return command


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--password-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file of passwords, one a line; each is tried on locked files.",
)
@click.option("--tag", "tags", multiple=True, help="A tag for these documents; may be repeated.")
@_json
def add(paths: tuple[Path, ...], password_file: Path | None, tags: tuple[str, ...], as_json: bool) -> None:
    """Take files, and whole folders of files, into the vault."""
    from docmind.cli.adding import Adding, read_passwords

    passwords = read_passwords(password_file) if password_file else []
    limit_mb = Settings.load().reading.max_file_mb
    with _open() as desk:
        adding = Adding(desk, paths, passwords, tags, limit_mb, ask=_ask_password if sys.stdin.isatty() else None)
        try:
            with progress_bar(quiet=as_json) as show:
                adding.run(show)
        finally:  # a full disk or Ctrl-C ends it: what was done before is told all the same
            if as_json:
                _print_json({"files": [_plain(result) for result in adding.results]})
            else:
                for result in adding.results:
                    tell(result)
    if not adding.results and not as_json:
        click.echo("There is nothing to add: no files but hidden ones.", err=True)
    refused = [result for result in adding.results if result.status == "refused"]
    if refused:
        codes = {result.exit_code for result in refused}
        sys.exit(codes.pop() if len(codes) == 1 else _REFUSED)


@main.command("list")
@_json
def list_(as_json: bool) -> None:
    """The documents in the vault."""
    with _open() as desk:
        documents = desk.documents()
    if as_json:
        _print_json({"documents": [_plain(info) for info in documents]})
        return
    if not documents:
        click.echo("There are no documents yet. Add some: docmind add FILE…")
    for info in documents:
        language = info.language or "–"
        click.echo(f"{info.doc_id[:12]}  {info.pages:>5} p.  {language:2}  {info.status:8}  {inert(info.document)}")


@main.command()
@click.argument("question")
@click.option("-k", "k", type=click.IntRange(1, 1000), default=None, help="How many hits.")
@click.option("--per-node", is_flag=True, help="Several hits per page where several places match.")
@_filtered
@_json
def search(
    question: str,
    k: int | None,
    per_node: bool,
    docs: tuple[str, ...],
    languages: tuple[str, ...],
    tags: tuple[str, ...],
    as_json: bool,
) -> None:
    """Find the pages that match QUESTION."""
    with _open() as desk:
        filters = _filters_of(desk, docs, languages, tags)
        found = desk.search(question, k=k, filters=filters, dedup_key="node_id" if per_node else "page_id")
        documents = () if found.hits else desk.documents()  # to say what there is instead
    if as_json:
        _print_json(_plain(found))
        return
    tell_hits(found)
    if not found.hits:
        tell_narrow(documents, filters)


@main.command()
@click.argument("question")
@click.option("-k", "k", type=click.IntRange(1, 1000), default=None, help="How many pages to look at.")
@_filtered
@_json
def ask(
    question: str,
    k: int | None,
    docs: tuple[str, ...],
    languages: tuple[str, ...],
    tags: tuple[str, ...],
    as_json: bool,
) -> None:
    """Answer QUESTION with quotes, each with its page."""
    with _open() as desk:
        filters = _filters_of(desk, docs, languages, tags)
        answer = desk.ask(question, k=k, filters=filters)
        documents = () if answer.found else desk.documents()
    if as_json:
        _print_json(_plain(answer))
        return
    click.echo(inert(answer.answer, keep_lines=True))
    for source in answer.sources:
        click.echo(f"  [{source.n}] {inert(source.document)}, page {source.page_no}")
    tell_degraded(answer.degraded)
    if not answer.found:
        tell_narrow(documents, filters)


@main.command()
@click.argument("doc")
@click.argument("page", type=click.IntRange(1))
@click.option("--image", type=click.Path(path_type=Path, dir_okay=False), help="Write the page image (WebP) there.")
@_json
def show(doc: str, page: int, image: Path | None, as_json: bool) -> None:
    """Show PAGE of DOC (id, beginning of an id, or file name): its text, or its image with --image."""
    with _open() as desk:
        info = desk.find_document(doc)
        view = desk.page(info.doc_id, page)
        if image is not None:
            try:
                image.write_bytes(desk.page_image(info.doc_id, page))
            except OSError as error:
                raise ConfigError(
                    f"{image} cannot be written: {error.strerror}.", hint="Choose another file."
                ) from error
    if as_json:
        _print_json(_plain(view) | {"words": [{"text": text, "box": list(box)} for text, box in view.words]})
        return
    click.echo(f"{inert(view.document)}, page {view.page_no} of {view.pages} ({source_of(view.text_source)})\n")
    click.echo(inert(view.text, keep_lines=True))


@main.command()
@click.argument("docs", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@_json
def delete(docs: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Delete documents (id, beginning of an id, or file name) for good."""
    with _open() as desk:
        found = {info.doc_id: info for info in map(desk.find_document, docs)}.values()  # each once
        if not yes:
            names = ", ".join(inert(info.document) for info in found)
            if not sys.stdin.isatty():
                raise CancelledError("Nothing was deleted.", hint="Confirm with --yes where nobody can be asked.")
            if not click.confirm(f"Delete {names} for good?", err=True):
                raise CancelledError("Nothing was deleted.", hint="Confirm with y, or use --yes.")
        receipts = [desk.delete(info.doc_id) for info in found]
    if as_json:
        _print_json({"deleted": [_plain(receipt) for receipt in receipts]})
        return
    for receipt in receipts:
        click.echo(
            f"Deleted {inert(receipt.document)}: {counted(receipt.pages, 'page')}, {counted(receipt.nodes, 'passage')},"
            f" {counted(receipt.artifacts, 'sealed file')}."
        )


@main.command()
@_json
def reindex(as_json: bool) -> None:
    """Build the index anew from the vault, with the text model in use."""
    with _open() as desk:
        documents = desk.reindex()
    if as_json:
        _print_json({"documents": documents})
    else:
        click.echo(f"The index holds {counted(documents, 'document')}.")


@main.command()
@_json
def status(as_json: bool) -> None:
    """What is present, what is missing, and the command that adds it."""
    with _open() as desk:
        now = desk.status()
    if as_json:
        _print_json(_plain(now))
        return
    click.echo(
        f"DocMind {now.version}, vault {now.vault_id}, {counted(now.documents, 'document')}, "
        + counted(now.pages, "page")
    )
    click.echo(f"{now.vault_bytes / 1e6:,.0f} MB used, {now.free_bytes / 1e9:,.1f} GB free")
    for part in now.capabilities:
        click.echo(f"  {part.state:8} {part.name}: {part.detail}" + (f" ({part.hint})" if part.hint else ""))


def _open() -> Any:
    """The vault the settings name; a new one says its recovery code once, on stderr."""
    from docmind.application import DocMind

    settings = Settings.load()
    telemetry.start(settings.log_level)
    is_new = not (settings.data_dir / "vault.json").exists()
    is_chosen = is_new or settings.keys.recovery_code is not None  # which brings a new root key
    ask = (lambda: _ask_passphrase(is_chosen=is_chosen)) if sys.stdin.isatty() else None
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


def _ask_passphrase(*, is_chosen: bool) -> str:
    """One that is being chosen is asked for twice: what was mistyped would lock its owner out."""
    what = "Choose a new passphrase for the vault" if is_chosen else "Passphrase of the vault"
    return str(click.prompt(what, hide_input=True, confirmation_prompt=is_chosen, err=True))


def _ask_password(name: str) -> str:
    asked = f"Password of {inert(name)} (empty: skip)"
    return str(click.prompt(asked, hide_input=True, default="", show_default=False, err=True))


def _filters_of(desk: Any, docs: Iterable[str], languages: tuple[str, ...], tags: tuple[str, ...]) -> Filters:
    doc_ids = tuple(desk.find_document(doc).doc_id for doc in docs)
    return Filters(doc_ids=doc_ids, languages=tuple(language.lower() for language in languages), tags=tags)


def _plain(record: Any) -> dict[str, Any]:
    from docmind.cli.plain import plain

    return plain(record)


def _print_json(data: dict[str, Any]) -> None:
    # A name of any bytes reaches us as surrogates, which no output can take.
    click.echo(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace").decode())
