"""Readers of other packages: what one is, and which are installed.

A package offers a reader as an entry point of the group `docmind.readers`. Its name is the kind of file that it reads,
and the ending of such files: `jwpub = "some_package:JwpubReader"`. The app knows readers by the metadata of packages
and never imports one: a process of its own does (`docmind.reading.plugin_process`). docs/readers.md tells how to write
a reader.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from docmind.errors import ReadingError, WorkerFailedError
from docmind.reading.file_type import has_known_name, is_general
from docmind.reading.formats import engine_of
from docmind.records.documents import Capability, DocumentInfo
from docmind.runtime import Limits, Worker, error_named, licence_of
from docmind.wording import _, ngettext, number_text

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

    from docmind.blocks import Blocks, Losses
    from docmind.config import ReadingSettings

GROUP = "docmind.readers"
_KIND = re.compile("[a-z]{1,8}")
_PATIENCE_S = 20.0  # for a reader to be imported and to say what it reads
_LONGEST_TITLE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContents:
    """What a reader gives of a file: its blocks in reading order, and what its metadata says.

    `facts` may have `title`, `author` and `dated` (a day, as 2024-05-31). With `is_paged` a block `page_break` ends a
    page of the document; otherwise the text flows over sheets.
    """

    blocks: Blocks
    facts: Mapping[str, str] = field(default_factory=dict[str, str])
    is_paged: bool = False


class FilePlugin(Protocol):
    """A reader of another package: a class without arguments, or an object.

    It may also have `magic`, beginnings of the files that it reads, and `suffixes`, further endings of their names.
    """

    title: str
    """What it reads, in plain words: "JW Library publication"."""

    def recognises(self, head: bytes, name: str) -> bool:
        """Return whether a file is one that it reads, by its first 64 KB; not needed where it has `magic`."""
        ...

    def read(self, data: bytes, name: str, losses: Losses) -> FileContents:
        """Read a file; what is seen and not read is counted in `losses`. An error costs this file alone."""
        ...


@dataclass(frozen=True, slots=True)
class InstalledReader:
    """A reader that an installed package offers, by the package's metadata. `trouble` is why it cannot be used."""

    kind: str
    package: str
    version: str
    licence: str
    about: str
    trouble: str = ""


def installed_readers() -> tuple[InstalledReader, ...]:
    """Return the readers of all installed packages, by kind and package. Imports none of them."""
    found = sorted(_declared(), key=lambda point: (point.name, _package(point)))
    return tuple(_described(point, found) for point in found)


def usable_readers(settings: ReadingSettings) -> dict[str, str]:
    """Return the kinds that readers of other packages read now, each with its package, in the order of the setting."""
    chosen = settings.chosen_readers()
    if not chosen:
        return {}
    packages = {one.kind: one.package for one in installed_readers() if not one.trouble}
    return {kind: packages[kind] for kind in chosen if kind in packages}


def reads_more(settings: ReadingSettings) -> frozenset[str]:
    """Return the endings of the names of files that readers of other packages read now, beyond DocMind's own."""
    return frozenset(usable_readers(settings))


def is_for_readers(name: str, settings: ReadingSettings) -> bool:
    """Return whether the name of a file ends in what a reader of another package reads that is on.

    Asks each reader once, in a process of its own, for further endings than its kind.
    """
    return not has_known_name(name) and has_known_name(name, _endings(settings))


def is_better_by_readers(info: DocumentInfo, settings: ReadingSettings) -> bool:
    """Return whether a document was read as an archive or a text and no more, and a reader that is on may know it."""
    name = info.read_as[0] if info.read_as else info.document
    return info.status == "ready" and is_general(info.kind, name) and is_for_readers(name, settings)


def readable_now(documents: int, refused: int) -> str:
    """Return in words how many documents and refused files a reader that is on may read now; "" for none."""
    read = ngettext(
        "{n} document was read as an archive or plain text, and one of these readers may know it.",
        "{n} documents were read as archives or plain text, and one of these readers may know them.",
        documents,
    )
    waiting = ngettext(
        "{n} file was refused, and one of these readers may know it.",
        "{n} files were refused, and one of these readers may know them.",
        refused,
    )
    counted = ((documents, read), (refused, waiting))
    return " ".join(told.format(n=number_text(count)) for count, told in counted if count)


def _endings(settings: ReadingSettings) -> frozenset[str]:
    usable = usable_readers(settings)
    found = set(usable)
    for one in installed_readers():
        if one.kind in usable:
            with contextlib.suppress(ReadingError, WorkerFailedError):  # `reader_capabilities` says why
                found.update(_asked(one.kind, one.package, one.version, settings.memory_mb)[1])
    return frozenset(found)


def entry_point(kind: str) -> EntryPoint:
    """Return the entry point of the reader of a kind. Raises `KeyError`."""
    return _declared()[kind]


def reader_capabilities(settings: ReadingSettings) -> tuple[Capability, ...]:
    """Return each reader of another package: what it reads where it is on, and whether it can be used.

    One that is on is asked in a process of its own what it reads.
    """
    chosen = settings.chosen_readers()
    found = [_capability(one, settings, is_on=one.kind in chosen) for one in installed_readers()]
    missing = sorted(set(chosen) - {one.kind for one in installed_readers()})
    found += [
        Capability(f"reader {kind}", "missing", _("no installed package offers it"), _("Install its package again."))
        for kind in missing
    ]
    return tuple(found)


def _capability(one: InstalledReader, settings: ReadingSettings, *, is_on: bool) -> Capability:
    name = f"reader {one.kind}"
    package = f"{one.package} {one.version}" + (f" ({one.licence})" if one.licence else "")
    if one.trouble:
        return Capability(name, "missing", f"{package}: {one.trouble}", _("Remove its package."))
    if not is_on:
        return Capability(name, "off", package, _("Turn it on in Settings if you trust its package."))
    try:
        title, suffixes = _asked(one.kind, one.package, one.version, settings.memory_mb)
    except (ReadingError, WorkerFailedError) as error:
        return Capability(name, "missing", f"{package}: {error}", _("Turn it off, or update its package."))
    return Capability(name, "present", f"{title} ({', '.join(f'.{each}' for each in suffixes)}), {package}")


@functools.lru_cache(maxsize=64)
def _asked(kind: str, package: str, version: str, memory_mb: int) -> tuple[str, tuple[str, ...]]:
    """Return title and endings of a reader, which says them in a process of its own.

    Raises `ReaderFailedError` or `WorkerFailedError`.
    """
    worker = Worker("docmind.reading.plugin_process:describe", limits_for(memory_mb, int(_PATIENCE_S)))
    try:
        header, _blobs = worker.call({"reader": kind}, timeout_s=_PATIENCE_S)
    finally:
        worker.kill()
    if "error" in header:
        raise error_named(header, ReadingError)
    title, suffixes = header.get("title"), header.get("suffixes")
    if not isinstance(title, str) or not isinstance(suffixes, list):
        raise WorkerFailedError("it did not say what it reads")
    named = (str(each) for each in suffixes[:20])
    return title[:_LONGEST_TITLE], tuple(each for each in named if re.fullmatch("[a-z0-9]{1,12}", each))


def limits_for(memory_mb: int, cpu_s: int) -> Limits:
    """Return the limits of a process that runs a reader of another package."""
    return Limits(memory_mb=memory_mb, cpu_s=cpu_s, file_mb=0, is_confined=True)


def _declared() -> EntryPoints:
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def _package(point: EntryPoint) -> str:
    return str(point.dist.metadata["Name"]) if point.dist is not None else ""


def _described(point: EntryPoint, others: Iterable[EntryPoint]) -> InstalledReader:
    said = point.dist.metadata if point.dist is not None else None
    version = point.dist.version if point.dist is not None else ""
    licence = licence_of(said) if said is not None else ""
    about = next(iter(said.get_all("Summary") or ()), "") if said is not None else ""
    told = (" ".join(each.split())[:80] for each in (version, licence, about))
    return InstalledReader(point.name, _package(point)[:80], *told, trouble=_trouble(point, [*others]))


def _trouble(point: EntryPoint, others: Sequence[EntryPoint]) -> str:
    if not _KIND.fullmatch(point.name):
        return _("its name must be one to eight small letters")
    if engine_of(point.name) or has_known_name(f"a.{point.name}"):
        return _("DocMind reads files of this kind itself")
    if sum(other.name == point.name for other in others) > 1:
        return _("several packages offer a reader of this kind")
    return ""
