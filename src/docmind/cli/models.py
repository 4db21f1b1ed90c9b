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
from docmind.cli.output import counted, inert, tell_degraded, terminal_bar
from docmind.config import Settings
from docmind.errors import ConfigError, DocMindError, ExtraMissingError, NotFoundError, VisualModelError
from docmind.model_files import KNOWN_FILES, KNOWN_TEXT, FileSource, file_source
from docmind.records.conversations import ModelInfo, ModelList
from docmind.records.models import EmbeddingProgress, ModelBench, ModelCard, ModelKind, PullProgress, TextModelCard

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
    left = "" if now.eta_ms is None else f"{spoken(now.eta_ms / 1000)} left"
    return {"description": left, "completed": now.pages_done, "total": now.pages_total}


def size_of(number: int) -> str:
    """Format a number of bytes for people, as hubs count them: a megabyte is a million."""
    return f"{number / 1e9:.2f} GB" if number >= 1e9 else f"{max(number / 1e6, 0.1):,.1f} MB"


@click.command()
@click.argument("docs", nargs=-1)
@click.option(
    "--model", "name", required=True, help="A model that looks at pages (`docmind models list`), or its folder."
)
@click.option("--force", is_flag=True, help="Also pages that the model has seen.")
@json_option
def embed(docs: tuple[str, ...], name: str, force: bool, as_json: bool) -> None:
    """Show pages of DOCS, or of all documents, to a model.

    Ctrl-C keeps what is done; the next run continues there.
    """
    with opened() as desk:
        doc_ids = tuple(desk.find_document(doc).doc_id for doc in docs)
        pages, seconds = desk.visual.estimate(name, doc_ids)
        if pages and not as_json:
            time = "how long that takes here is not known yet" if seconds is None else f"about {spoken(seconds)}"
            click.echo(f"{counted(pages, 'page image')} for {inert(name)}: {time}.", err=True)
        columns = ("{task.completed}/{task.total}", "BarColumn", "{task.description}")
        with terminal_bar(_fields_of_embedding, *columns, quiet=as_json) as show:
            done = desk.visual.embed(name, doc_ids, force=force, report=show)
    if as_json:
        print_json(plain(done))
        return
    failed = f", {done.pages_failed} could not be seen" if done.pages_failed else ""
    click.echo(
        f"{counted(done.pages_added, 'page')} embedded, {done.pages_skipped} skipped{failed}, in"
        f" {spoken(done.duration_ms / 1000)}."
    )


def spoken(seconds: float) -> str:
    """Format a duration for people: `8 s`, `3 min`, `2.5 h`."""
    if seconds < 90:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"


NONE = "none"
_PULL_COLUMNS = ("{task.description}", "BarColumn", "DownloadColumn", "TransferSpeedColumn", "TimeRemainingColumn")


@click.group()
def models() -> None:
    """Manage the models that write answers, find meaning in text, and look at pages."""


@models.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the language models that servers offer now, the text models, and the models that look at pages."""
    with opened() as desk:
        found = desk.models.list(refresh=True)
        texts, cards = desk.text_models(), desk.visual.models()
    if as_json:
        named = [_data(info) for info in found.models]
        names = {part: info and info.name for part, info in (("chosen", found.chosen), ("waiting", found.waiting))}
        print_json({**plain(found), "models": named, **names, "text": [plain(card) for card in texts],
                    "visual": [plain(card) for card in cards]})  # fmt: skip
        return
    click.echo("Language models")
    for info in found.models:
        mark = "*" if found.chosen is not None and info.name == found.chosen.name else " "
        where = "  not on this machine" if info.is_remote else ""
        images = "  accepts images" if info.takes_images else ""
        click.echo(f"{mark} {inert(info.name)}  {inert(info.url or info.note)}{where}{images}")
    for known, one in KNOWN_FILES.items():
        if all(info.model != one.source.name for info in found.models):
            click.echo(f"  {known}  to be fetched  {size_of(one.megabytes * 1_000_000)}  {one.licence}")
            click.echo(f"    {one.about}")
    if found.is_off:
        click.echo("Answers are quotes: no model is used.", err=True)
    elif not found.models:
        click.echo("No language model was found; answers are quotes.", err=True)
    tell_degraded(found.degraded)
    click.echo("Text models")
    for text in texts:
        _tell_text_model(text)
    click.echo("Models that look at pages")
    for card in cards:
        _tell_card(card)
    if all(card.state == "missing" for card in cards):
        click.echo("None of them is here. Fetch one: docmind models pull NAME", err=True)


@models.command()
@click.argument("name")
@click.option("--url", help="The address of its server, where several offer a model of this name.")
@json_option
def use(name: str, url: str | None, as_json: bool) -> None:
    """Use the model NAME (as `docmind models list` shows it) to write answers; `none`: quotes only."""
    with opened() as desk:
        info = None if name == NONE else _named(name, url, desk.models.list(refresh=True))
        desk.models.choose(info)
    if as_json:
        print_json({"chosen": None if info is None else info.name})
    else:
        click.echo("Answers are quotes now." if info is None else f"{inert(info.name)} writes the answers now.")


@models.command()
@click.argument("name")
@json_option
def text(name: str, as_json: bool) -> None:
    """Use the text model NAME to find meaning in this vault, from now on; `docmind reindex` embeds with it."""
    with opened() as desk:
        desk.choose_text_model(name)
    if as_json:
        print_json({"chosen": name})
    else:
        click.echo(f"{inert(name)} finds meaning from now on. Embed the documents with it: docmind reindex")


@models.command()
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def add(file: Path, as_json: bool) -> None:
    """Add the language model in FILE, a GGUF file of this machine, to run inside DocMind.

    The models folder gets a second name for the file, or a copy where it is on another disk.
    """
    with opened() as desk:
        info = desk.models.add(file)
    if as_json:
        print_json({"model": _data(info)})
        return
    click.echo(f"{inert(info.name)} is here ({inert(info.note)}).")
    click.echo(f"Have it write the answers: docmind models use {inert(info.name)}")


@models.command()
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def remove(name: str, yes: bool, as_json: bool) -> None:
    """Remove the GGUF file NAME, fetched or added, from the models folder, and what a stopped download has left of it.

    A file elsewhere that was added is forgotten, and stays where it is.
    """
    model = name.removeprefix("inside/")
    with opened() as desk:
        told = desk.models.removal(model)
        if told:
            question = f"Remove {inert(name)}? {inert(told)}"
            confirm(question, refusal=f"{inert(name)} is not removed without --yes.", yes=yes)
        is_left = desk.language_files.discard(model)
        if told or not is_left:
            desk.models.remove(model)
    if as_json:
        print_json({"removed": name})
    else:
        click.echo(f"{inert(name)} is removed.")


@models.command()
@click.argument("name")
@click.argument("file", default="")
@click.option("--sha256", default="", help="The checksum that the file must have; needed for an address.")
@click.option("-q", "--quiet", is_flag=True, help="No progress bar.")
@json_option
def pull(name: str, file: str, sha256: str, quiet: bool, as_json: bool) -> None:
    """Fetch a model; Ctrl-C keeps what has arrived, and the next try continues there.

    NAME is a model of `docmind models list`; or OWNER/NAME with FILE, a GGUF file of that repository; or, with
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
    commit = f", commit {inert(card.revision[:12])}" if card.revision else ""
    click.echo(f"{card.name} is here ({size_of(card.bytes)}{commit}).")
    _tell_next(card)


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
    click.echo(f"{inert(name)} is here{f' ({inert(info.note)})' if info else ''}.")
    click.echo(f"Have it write the answers: docmind models use {inert(name)}")


@models.command()
@click.argument("name", required=False)
@json_option
def bench(name: str | None, as_json: bool) -> None:
    """Measure a model that looks at pages on this machine; without NAME, all that are here."""
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
                _tell_bench(benches[-1])
    if as_json and (benches or not failed):
        print_json({"benches": [plain(bench) for bench in benches]})
    if failed:
        raise failed[0]
    if not benches and not as_json:
        click.echo("No model that looks at pages is here. Fetch one: docmind models pull siglip", err=True)


@models.command()
@click.argument("name")
@json_option
def enable(name: str, as_json: bool) -> None:
    """Use the model NAME, or the one in the directory NAME, to look at pages."""
    with opened() as desk:
        card = desk.visual.enable(name)
    if as_json:
        print_json({"model": plain(card)})
        return
    _tell_next(card)


@models.command()
@click.argument("kind", type=click.Choice(["image", "late"]))
@json_option
def disable(kind: ModelKind, as_json: bool) -> None:
    """Use no model of this kind: image (one vector a page) or late (late interaction). Its vectors are kept."""
    with opened() as desk:
        desk.visual.disable(kind)
    if as_json:
        print_json({"disabled": kind})
    else:
        click.echo(f"No {kind} model is used now; what it made is kept.")


def _pull_text(desk: DocMind, name: str, show: Callable[[PullProgress], None], *, as_json: bool) -> None:
    """Fetch a text model, and print what to do next."""
    if not as_json:
        known = KNOWN_TEXT[name]
        _announce(f"{known.repository} ({_facts(known.licence, known.megabytes * 1_000_000)})")
    card = desk.pull_text_model(name, show)
    if as_json:
        print_json({"model": plain(card)})
        return
    click.echo(f"{name} is here. Use it: docmind models text {name}")


def _announce(what: str, url: str = "") -> None:
    """Print what will be fetched, and from which host, before the download."""
    try:
        host = urlsplit(url or Settings.load().visual.hub_url).hostname
    except ValueError:  # the download refuses it
        host = None
    if host:
        click.echo(f"Fetching {inert(what)} from {inert(host)}.", err=True)


def _facts(licence: str, size: int) -> str:
    return f"{licence}{f', about {size_of(size)}' if size else ''}"


def _tell_card(card: ModelCard) -> None:
    """Print a line about a model, and one about what to do where it is not installed."""
    facts = [card.kind, card.state]
    if card.bytes:
        facts.append(size_of(card.bytes))
    if card.seconds_per_page is not None:
        facts.append(f"{card.seconds_per_page:.2g} s a page here")
    if card.pages:
        facts.append(f"{card.pages:,} of {counted(card.pages_total, 'page image')}")
    if card.licence:
        facts.append(card.licence)
    click.echo(f"{'*' if card.in_use else ' '} {inert(card.name)}  {'  '.join(inert(fact) for fact in facts)}")
    if card.about:
        click.echo(f"    {inert(card.about)}")
    if card.state == "broken" or (card.in_use and card.state != "present"):
        click.echo(f"    {inert(card.reason)} {inert(card.hint)}")


def _tell_text_model(card: TextModelCard) -> None:
    """Print a line about a text model or a cross-encoder, and one about what to do where it is not usable."""
    facts = [card.kind, card.state]
    if card.dim:
        facts.append(f"{card.dim:,} numbers")
    if card.bytes:
        facts.append(size_of(card.bytes))
    if card.about:
        facts.append(card.about)
    click.echo(f"{'*' if card.in_use else ' '} {inert(card.name)}  {'  '.join(inert(fact) for fact in facts)}")
    if card.state != "present":
        click.echo(f"    {inert(card.reason)} {inert(card.hint)}")


def _tell_next(card: ModelCard) -> None:
    """Print what a model is used for now, and what is left to do."""
    name = inert(card.name)
    if not card.in_use:
        click.echo(f"It is not in use. Use it: docmind models enable {name}")
        return
    what = "words and pictures find pages by what they show" if card.kind == "image" else "words find places on pages"
    click.echo(f"{name} is in use: {what}.")
    if left := card.pages_total - card.pages:
        click.echo(f"{counted(left, 'page image')} to look at. Do it now: docmind embed --model {name}")


def _tell_bench(bench: ModelBench) -> None:
    how = " ".join(part for part in (bench.device, bench.precision) if part)
    click.echo(
        f"{inert(bench.name)}  {bench.seconds_per_page:.3g} s a page, {bench.query_ms:.0f} ms a question, "
        f"loaded in {bench.load_s:.1f} s ({inert(how)}, {counted(bench.pages, 'page')})"
    )


def _named(name: str, url: str | None, found: ModelList) -> ModelInfo:
    """Return the model of this name, with or without its provider. Raises `NotFoundError`."""
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
