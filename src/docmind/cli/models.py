"""Commands about language models, which write answers, text models, which find meaning, and image models.

`docmind embed` embeds the pages with an image model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from docmind.cli.context import confirm, json_option, opened, plain, print_json
from docmind.cli.help import command, group
from docmind.cli.output import counted_images, counted_pages, inert, print_degraded, terminal_bar
from docmind.config import Settings
from docmind.errors import ConfigError, DocMindError, ExtraMissingError, NotFoundError, VisualModelError
from docmind.model_files import KNOWN_FILES, KNOWN_TEXT, FileSource, file_source
from docmind.records.conversations import ModelInfo, ModelList
from docmind.records.models import EmbeddingProgress, ModelBench, ModelCard, ModelKind, PullProgress, TextModelCard
from docmind.wording import _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind


def _fields_of_pull(now: PullProgress) -> dict[str, Any]:
    from rich.markup import escape

    return {
        "description": escape(inert(now.file or now.name)),
        "completed": now.bytes_done,
        "total": now.bytes_total or None,
    }


def _fields_of_embedding(now: EmbeddingProgress) -> dict[str, Any]:
    left = "" if now.eta_ms is None else _("{time} left").format(time=spoken(now.eta_ms / 1000))
    return {"description": left, "completed": now.pages_done, "total": now.pages_total}


def size_of(number: int) -> str:
    """Format a number of bytes for people, as hubs count them: a megabyte is a million."""
    return f"{number / 1e9:.2f} GB" if number >= 1e9 else f"{max(number / 1e6, 0.1):,.1f} MB"


@command()
@click.argument("docs", nargs=-1)
@click.option("--model", "name", required=True, help="An image model (see `docmind models list`), or its folder.")
@click.option("--force", is_flag=True, help="Also pages that are prepared already.")
@json_option
def embed(docs: tuple[str, ...], name: str, force: bool, as_json: bool) -> None:
    """Prepare page images for search with an image model: of DOCS, or of all documents.

    Ctrl-C keeps what is done. The next run continues there.
    """
    with opened() as desk:
        doc_ids = tuple(desk.find_document(doc).doc_id for doc in docs)
        pages, seconds = desk.visual.estimate(name, doc_ids)
        if pages and not as_json:
            told = _("Preparing {images} with {model}.").format(images=counted_images(pages), model=inert(name))
            time = "" if seconds is None else _("This takes about {time}.").format(time=spoken(seconds))
            click.echo(f"{told} {time}".rstrip(), err=True)
        columns = ("{task.completed}/{task.total}", "BarColumn", "{task.description}")
        with terminal_bar(_fields_of_embedding, *columns, quiet=as_json) as show:
            done = desk.visual.embed(name, doc_ids, force=force, report=show)
    if as_json:
        print_json(plain(done))
        return
    told = _("Prepared: {pages}, in {time}. Skipped: {skipped}. Failed: {failed}.")
    counts = {"pages": counted_pages(done.pages_added), "skipped": done.pages_skipped, "failed": done.pages_failed}
    click.echo(told.format(time=spoken(done.duration_ms / 1000), **counts))


def spoken(seconds: float) -> str:
    """Format a duration for people: `8 s`, `3 min`, `2.5 h`."""
    if seconds < 90:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"


NONE = "none"
_PULL_COLUMNS = ("{task.description}", "BarColumn", "DownloadColumn", "TransferSpeedColumn", "TimeRemainingColumn")


@group()
def models() -> None:
    """Manage language models, text models and image models."""


@models.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the models: in use, available, and to download."""
    with opened() as desk:
        found = desk.models.list(refresh=True)
        texts, cards = desk.text_models(), desk.visual.models()
    if as_json:
        named = [_data(info) for info in found.models]
        names = {part: info and info.name for part, info in (("chosen", found.chosen), ("waiting", found.waiting))}
        print_json({**plain(found), "models": named, **names, "text": [plain(card) for card in texts],
                    "visual": [plain(card) for card in cards]})  # fmt: skip
        return
    click.echo(_("Language models (write answers)"))
    for info in found.models:
        mark = "*" if found.chosen is not None and info.name == found.chosen.name else " "
        where = "  " + _("not on this computer") if info.is_remote else ""
        images = "  " + _("accepts images") if info.takes_images else ""
        click.echo(f"{mark} {inert(info.name)}  {inert(info.url or info.note)}{where}{images}")
    for known, one in KNOWN_FILES.items():
        if all(info.model != one.source.name for info in found.models):
            size = size_of(one.megabytes * 1_000_000)
            click.echo(f"  {known}  {_('to download')}  {size}  {one.licence}\n    {_(one.about)}")
    if found.is_off:
        click.echo(_("No language model is used: answers are quotes."), err=True)
    elif not found.models:
        click.echo(_("No language model was found: answers are quotes."), err=True)
    print_degraded(found.degraded)
    click.echo(_("Text models (find meaning)"))
    for text in texts:
        _print_text_model(text)
    click.echo(_("Image models (search page images)"))
    for card in cards:
        _print_card(card)
    if all(card.state == "missing" for card in cards):
        click.echo(_("No image model is installed. Download one: docmind models pull NAME"), err=True)


@models.command()
@click.argument("name")
@click.option("--url", help="The server's address, where several servers have this model.")
@json_option
def use(name: str, url: str | None, as_json: bool) -> None:
    """Let a language model write the answers. NAME `none` means quotes only."""
    with opened() as desk:
        info = None if name == NONE else _named(name, url, desk.models.list(refresh=True))
        desk.models.choose(info)
    if as_json:
        print_json({"chosen": None if info is None else info.name})
    else:
        told = _("Answers are quotes now.") if info is None else _("{model} writes the answers now.")
        click.echo(told.format(model=inert(info.name) if info is not None else ""))


@models.command()
@click.argument("name")
@json_option
def text(name: str, as_json: bool) -> None:
    """Choose the text model. Then run `docmind reindex`."""
    with opened() as desk:
        desk.choose_text_model(name)
    if as_json:
        print_json({"chosen": name})
    else:
        click.echo(_("{model} is chosen. Rebuild the index with it: docmind reindex").format(model=inert(name)))


@models.command()
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def add(file: Path, as_json: bool) -> None:
    """Add a language model from a GGUF file on this computer.

    The models folder gets a link to the file, or a copy where it is on another disk.
    """
    with opened() as desk:
        info = desk.models.add(file)
    if as_json:
        print_json({"model": _data(info)})
        return
    _print_file(info.name, info.note)


@models.command()
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
def remove(name: str, yes: bool, as_json: bool) -> None:
    """Remove a language model file, and what is left of a stopped download.

    A file that you added from another folder stays where it is.
    """
    model = name.removeprefix("inside/")
    with opened() as desk:
        told = desk.models.removal(model)
        if told:
            question = _("Remove {model}?").format(model=inert(name))
            confirm(f"{question} {inert(told)}", refusal=_("Nothing was removed."), yes=yes)
        is_left = desk.language_files.drop_part(model)
        if told or not is_left:
            desk.models.remove(model)
    if as_json:
        print_json({"removed": name})
    else:
        click.echo(_("{model} was removed.").format(model=inert(name)))


@models.command()
@click.argument("name")
@click.argument("file", default="")
@click.option("--sha256", default="", help="The file's checksum. Needed for an address.")
@click.option("-q", "--quiet", is_flag=True, help="Don't show a progress bar.")
@json_option
def pull(name: str, file: str, sha256: str, quiet: bool, as_json: bool) -> None:
    """Download a model. Ctrl-C pauses; the same command continues.

    NAME is a model from `docmind models list`; or OWNER/NAME with FILE, a GGUF file of that repository; or, with
    --sha256, the https address of a GGUF file.
    """
    with opened() as desk, terminal_bar(_fields_of_pull, *_PULL_COLUMNS, quiet=quiet or as_json) as show:
        if file or sha256 or "/" in name or name in KNOWN_FILES:
            _pull_file(desk, file_source(name, file, sha256), show, as_json=as_json)
            return
        if name in KNOWN_TEXT:
            _pull_text(desk, name, show, as_json=as_json)
            return
        card = next((card for card in desk.visual.models() if card.name == name), None)
        if card is not None and card.state != "present" and not as_json:
            _announce(f"{card.repository} ({_facts(card.licence, card.bytes)})")
        card = desk.visual.pull(name, show)
    if as_json:
        print_json({"model": plain(card)})
        return
    facts = f"{size_of(card.bytes)}, {inert(card.revision[:12])}" if card.revision else size_of(card.bytes)
    click.echo(_("{model} is installed ({facts}).").format(model=card.name, facts=facts))
    _print_next(card)


def _pull_file(desk: DocMind, source: FileSource, show: Callable[[PullProgress], None], *, as_json: bool) -> None:
    """Fetch a GGUF file and say how it is used."""
    if not as_json:
        known = next((one for one in KNOWN_FILES.values() if one.source.file == source.file), None)
        facts = f" ({_facts(known.licence, known.megabytes * 1_000_000)})" if known else ""
        _announce(f"{source.file}{facts}", source.url)
    name = f"inside/{desk.language_files.pull(source, show)}"
    info = next((info for info in desk.models.list(refresh=True).models if info.name == name), None)
    if as_json:
        print_json({"model": {"name": name} if info is None else _data(info)})
        return
    _print_file(name, info.note if info else "")


def _print_file(name: str, note: str) -> None:
    """Print that a language model file is installed, and how to use it."""
    facts = f" ({inert(note)})" if note else ""
    click.echo(
        _("{model} is installed{facts}. Use it: docmind models use {model}").format(model=inert(name), facts=facts)
    )


@models.command()
@click.argument("name", required=False)
@json_option
def bench(name: str | None, as_json: bool) -> None:
    """Measure an image model on this computer. Without NAME, all that are installed."""
    benches: list[ModelBench] = []
    failed: list[DocMindError] = []
    with opened() as desk:
        names = [name] if name else [card.name for card in desk.visual.models() if card.state == "present"]
        for one in names:
            try:
                benches.append(desk.visual.bench(one))
            except (ConfigError, ExtraMissingError, VisualModelError) as error:
                failed.append(error)
                continue
            if not as_json:
                _print_bench(benches[-1])
    if as_json and (benches or not failed):
        print_json({"benches": [plain(bench) for bench in benches]})
    if failed:
        raise failed[0]
    if not benches and not as_json:
        click.echo(_("No image model is installed. Download one: docmind models pull siglip"), err=True)


@models.command()
@click.argument("name")
@json_option
def enable(name: str, as_json: bool) -> None:
    """Use an image model: NAME is its name or its folder."""
    with opened() as desk:
        card = desk.visual.enable(name)
    if as_json:
        print_json({"model": plain(card)})
        return
    _print_next(card)


@models.command()
@click.argument("kind", type=click.Choice(["image", "late"]))
@json_option
def disable(kind: ModelKind, as_json: bool) -> None:
    """Stop using image models of a kind: image (pages as a whole) or late (parts of pages). What they made is kept."""
    with opened() as desk:
        desk.visual.disable(kind)
    if as_json:
        print_json({"disabled": kind})
    else:
        click.echo(_("No model of the kind {kind} is used now. What it made is kept.").format(kind=kind))


def _pull_text(desk: DocMind, name: str, show: Callable[[PullProgress], None], *, as_json: bool) -> None:
    """Fetch a text model, and print what to do next."""
    if not as_json:
        known = KNOWN_TEXT[name]
        _announce(f"{known.repository} ({_facts(known.licence, known.megabytes * 1_000_000)})")
    card = desk.pull_text_model(name, show)
    if as_json:
        print_json({"model": plain(card)})
        return
    click.echo(_("{model} is installed. Use it: docmind models text {model}").format(model=name))


def _announce(what: str, url: str = "") -> None:
    """Print what will be fetched, and from which host, before the download."""
    try:
        host = urlsplit(url or Settings.load().visual.hub_url).hostname
    except ValueError:  # the download refuses it
        host = None
    if host:
        click.echo(_("Downloading {what} from {host}.").format(what=inert(what), host=inert(host)), err=True)


def _facts(licence: str, size: int) -> str:
    return f"{licence}, {_('about {size}').format(size=size_of(size))}" if size else licence


def _print_card(card: ModelCard) -> None:
    """Print a line about a model, and one about what to do where it is not installed."""
    facts = [card.kind, _(card.state)]
    if card.bytes:
        facts.append(size_of(card.bytes))
    if card.seconds_per_page is not None:
        facts.append(_("{seconds} s per page here").format(seconds=f"{card.seconds_per_page:.2g}"))
    if card.pages:
        told = ngettext("{done} of {n} page", "{done} of {n} pages", card.pages_total)
        facts.append(told.format(done=f"{card.pages:,}", n=f"{card.pages_total:,}"))
    if card.licence:
        facts.append(card.licence)
    click.echo(f"{'*' if card.in_use else ' '} {inert(card.name)}  {'  '.join(inert(fact) for fact in facts)}")
    if card.about:
        click.echo(f"    {inert(_(card.about))}")
    if card.state == "broken" or (card.in_use and card.state != "present"):
        click.echo(f"    {inert(card.reason)} {inert(card.hint)}")


def _print_text_model(card: TextModelCard) -> None:
    """Print a line about a text model or a cross-encoder, and one about what to do where it is not usable."""
    facts = [card.kind, _(card.state)]
    if card.dim:
        facts.append(_("{n} dimensions").format(n=f"{card.dim:,}"))
    if card.bytes:
        facts.append(size_of(card.bytes))
    if card.about:
        facts.append(_(card.about))
    click.echo(f"{'*' if card.in_use else ' '} {inert(card.name)}  {'  '.join(inert(fact) for fact in facts)}")
    if card.state != "present":
        click.echo(f"    {inert(card.reason)} {inert(card.hint)}")


def _print_next(card: ModelCard) -> None:
    """Print what a model is used for now, and what is left to do."""
    name = inert(card.name)
    if not card.in_use:
        click.echo(_("It isn't in use yet. Use it: docmind models enable {model}").format(model=name))
        return
    click.echo(_("{model} is in use.").format(model=name))
    if left := card.pages_total - card.pages:
        told = ngettext(
            "{n} page isn't prepared yet. Prepare it: docmind embed --model {model}",
            "{n} pages aren't prepared yet. Prepare them: docmind embed --model {model}",
            left,
        )
        click.echo(told.format(n=f"{left:,}", model=name))


def _print_bench(bench: ModelBench) -> None:
    how = " ".join(part for part in (bench.device, bench.precision) if part)
    told = _("{model}  {page} s per page, {question} ms per question, loaded in {load} s ({how}, {pages})")
    figures = {
        "page": f"{bench.seconds_per_page:.3g}",
        "question": f"{bench.query_ms:.0f}",
        "load": f"{bench.load_s:.1f}",
    }
    click.echo(told.format(model=inert(bench.name), how=inert(how), pages=counted_pages(bench.pages), **figures))


def _named(name: str, url: str | None, found: ModelList) -> ModelInfo:
    """Return the model of this name, with or without its provider. Raises `NotFoundError`."""
    offered = [info for info in found.models if url is None or info.url.rstrip("/") == url.rstrip("/")]
    for fitting in ([info for info in offered if info.name == name], [info for info in offered if info.model == name]):
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            urls = ", ".join(info.url for info in fitting)
            raise NotFoundError(
                _("Several servers have {name!r}: {servers}.").format(name=name, servers=urls),
                hint=_("Choose one with --url."),
            )
    if found.is_off and not found.models:
        raise NotFoundError(_("Language models are off."), hint=_("Unset DOCMIND_LLM__PROVIDER to use one."))
    known = ", ".join(info.name for info in found.models) or _("none")
    told = _("There is no language model {name!r}.").format(name=name)
    raise NotFoundError(told, hint=_("Available: {names}.").format(names=known))


def _data(info: ModelInfo) -> dict[str, object]:
    return {"name": info.name, **plain(info)}
