"""Capabilities: what is installed, what is missing, and the command or setting that adds it."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from docmind import __version__, index
from docmind.config import Settings
from docmind.embedding import text_model_capability
from docmind.network import network_guard
from docmind.reading import Ocr, find_browser, isolation_capability, pandoc_capability, reader_capabilities
from docmind.records.documents import Capability, StorageKind, StorageUse
from docmind.runtime import can_fork, fork_server_pid, licence_of
from docmind.wording import N_, _, number_text

_KEY_SOURCES = {
    "keyring": N_("the root key is in this computer's keyring"),
    "passphrase": N_("the root key is derived from your passphrase (Argon2id)"),
    "file": N_("the root key is in a file that only you can read, outside the data directory"),
}

NAMES = (
    *(N_("answers"), N_("encryption"), N_("app access"), N_("text model"), N_("ocr"), N_("book pages")),
    *(N_("isolation of readers"), N_("child processes"), N_("network guard"), N_("web search"), N_("index at rest")),
    *(N_("image model"), N_("late interaction on pages")),
)
"""Names of capabilities: the catalogue has them, and `_` looks them up where they are shown."""


def version() -> str:
    return __version__


def licences() -> tuple[tuple[str, str, str], ...]:
    """Return name, version and licence of every installed package that DocMind is built on, by name."""
    found: dict[str, tuple[str, str, str]] = {}
    waiting = ["docmind"]
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:  # an extra that is not installed
            continue
        found[name] = (package.metadata["Name"], package.version, licence_of(package.metadata))
        for wanted in package.requires or ():
            extra = re.search(r"extra == ['\"]([\w-]+)", wanted)
            if extra is None or (name == "docmind" and extra[1] != "test"):
                waiting.append(re.split(r"[^\w.-]", wanted, maxsplit=1)[0])
    return tuple(found[name] for name in sorted(found) if name != "docmind")


def folder_bytes(folder: Path) -> int:
    """Return the disk space of a folder in bytes: blocks, because index files are sparse."""
    total = 0
    for place, _unused, names in os.walk(folder):
        for name in names:
            try:
                stat = os.lstat(os.path.join(place, name))
            except FileNotFoundError:  # a temporary file that has just been renamed
                continue
            total += getattr(stat, "st_blocks", 0) * 512 or stat.st_size
    return total


def storage_use(folder: Path, thumbnails: Collection[str], models: Path) -> tuple[StorageUse, ...]:
    """Return what the disk space of a vault's folder is used for, the largest first, without what is empty.

    `thumbnails` are the ids of artifacts that are thumbnails. `models` is the folder of downloaded models, which is
    counted wherever it is.
    """
    sizes: Counter[StorageKind] = Counter()
    for place, _folders, names in os.walk(folder):
        if Path(place).is_relative_to(models):
            continue
        top = Path(place).relative_to(folder).parts[:1]
        for name in names:
            try:
                stat = os.lstat(os.path.join(place, name))
            except FileNotFoundError:
                continue
            size = getattr(stat, "st_blocks", 0) * 512 or stat.st_size
            sizes[_kind_of(top[0] if top else "", name, thumbnails)] += size
    sizes["models"] = folder_bytes(models)
    return tuple(StorageUse(use, size) for use, size in sizes.most_common() if size)


def _kind_of(folder: str, name: str, thumbnails: Collection[str]) -> StorageKind:
    if folder == "artifacts" and name.endswith(".original.enc"):
        return "originals"
    if folder == "artifacts" and name.endswith(".webp.enc"):
        return "thumbnails" if name.partition(".")[0] in thumbnails else "page images"
    if folder in ("index", "late"):
        return "index"
    return "database" if not folder and name.startswith("vault.db") else "other"


_QUOTES = Capability("answers", "present", N_("No language model · quotes only"))


def of(settings: Settings, key_source: str, answers: Capability = _QUOTES) -> tuple[Capability, ...]:
    """Return every capability; `answers` says what writes them.

    Loads no model; contacts a Qdrant server only where one is configured.
    """
    return (
        Capability("encryption", "present", _KEY_SOURCES[key_source]),
        _app(settings),
        text_model_capability(settings),
        *Ocr(settings.reading).capabilities(),
        _browser(settings.reading.browser),
        pandoc_capability(settings.reading),
        *reader_capabilities(settings.reading),
        isolation_capability(),
        _start_of_children(settings),
        _network(settings),
        *index.capabilities(settings),
        answers,
        _web(settings),
    )


def _app(settings: Settings) -> Capability:
    if not settings.app.token:
        return Capability(
            "app access",
            "off",
            _(
                "anyone who can connect to the app's port, such as other users of this computer, can read and "
                "change this library"
            ),
            _("Set DOCMIND_APP__TOKEN=on, unless a proxy asks who they are and nothing else reaches the port."),
        )
    where = f", on this machine and at {settings.app.origin}" if settings.app.origin else ""
    return Capability(
        "app access", "present", _("only for a browser opened with a link of its own{where}").format(where=where)
    )


def _browser(wanted: str) -> Capability:
    if wanted == "off":
        return Capability("book pages", "off", _("EPUB as plain text"), _("Set DOCMIND_READING__BROWSER=auto."))
    program = find_browser(wanted)
    if program:
        return Capability(
            "book pages", "present", _("EPUB drawn by {program}, without scripts and network").format(program=program)
        )
    return Capability("book pages", "missing", _("EPUB as plain text"), _("Install Chromium, Chrome or Edge."))


def _start_of_children(settings: Settings) -> Capability:
    """Report how child processes are started, and the memory of the process that they are forked from."""
    if settings.processes.start == "spawn":
        return Capability(
            "child processes",
            "off",
            _("each in a fresh interpreter"),
            _("Unset DOCMIND_PROCESSES__START: forked ones start in milliseconds."),
        )
    if not can_fork():
        return Capability("child processes", "missing", _("each in a fresh interpreter; only Linux forks them safely"))
    number = fork_server_pid()
    if number is None:
        return Capability("child processes", "present", _("forked from one process"))
    return Capability(
        "child processes",
        "present",
        _("forked from one process, which takes {memory} MB").format(memory=number_text(_memory_mb(number))),
    )


def _memory_mb(number: int) -> int:
    """Return the memory of a process in MB; 0 where it has just ended."""
    import psutil

    try:
        return round(psutil.Process(number).memory_info().rss / 2**20)
    except psutil.Error:
        return 0


def _network(settings: Settings) -> Capability:
    now = network_guard().state()
    if now.is_held:
        often = "no connection was refused" if not now.refused else f"{now.refused} refused"
        most = max(now.places, key=lambda place: place[1])[0] if now.places else ""
        detail = f"native code reaches this machine alone; {often}{f' (most often {most})' if most else ''}"
        return Capability("network guard", "present", detail)
    if settings.network.strict == "off":
        return Capability(
            "network guard", "off", _("native code is not held back"), _("Set DOCMIND_NETWORK__STRICT=auto.")
        )
    return Capability("network guard", "missing", _("native code is not held back"), now.reason)


def _web(settings: Settings) -> Capability:
    if settings.web.provider == "off":
        return Capability("web search", "off", _("not used"), _("set DOCMIND_WEB__PROVIDER to searxng or brave"))
    where = settings.web.url if settings.web.provider == "searxng" else "Brave"
    return Capability(
        "web search", "present", _("in agent mode, if you allow it for a question, at {where}").format(where=where)
    )
