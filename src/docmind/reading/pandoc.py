"""The program pandoc, which reads LaTeX, Org and reStructuredText where it is installed: where it is, and which one."""

from __future__ import annotations

import importlib.util
import re
import shutil
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from docmind.errors import WorkerFailedError
from docmind.reading.file_type import MARKED_UP
from docmind.records.documents import Capability, DocumentInfo
from docmind.runtime import run_confined
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.config import ReadingSettings

PANDOC = "pandoc"
"""The name of the engine, for documents that it has read."""

_BUNDLED = "pypandoc"  # a package that brings the program


def find_pandoc(wanted: str = "auto") -> str:
    """Return the program: `wanted` by path or name, or with "auto" the installed one, else the one of a package.

    Returns "" where there is none.
    """
    if wanted == "off":
        return ""
    found = shutil.which(PANDOC if wanted == "auto" else wanted)
    if found is not None:
        return str(Path(found).resolve())
    package = importlib.util.find_spec(_BUNDLED) if wanted == "auto" else None
    folders = (package.submodule_search_locations or ()) if package is not None else ()
    places = [Path(folder, "files", name) for folder in folders for name in ("pandoc", "pandoc.exe")]
    return next((str(place) for place in places if place.is_file()), "")


@lru_cache(maxsize=8)
def version_of_pandoc(program: str) -> str:
    """Return the version of a program that is pandoc; "" where it cannot be run as one."""
    try:
        said = run_confined(program, ["--version"], b"", seconds=20, most_bytes=1 << 20)
    except WorkerFailedError:
        return ""
    found = re.match(rb"pandoc(?:\.exe)? ([0-9][0-9.]{0,20})", said.output)
    return found[1].decode().rstrip(".") if found else ""


def pandoc_capability(settings: ReadingSettings) -> Capability:
    """Return whether pandoc reads LaTeX, Org and reStructuredText, and what does otherwise."""
    plain = _("LaTeX, Org and reStructuredText as they are written, with their headings")
    if settings.pandoc == "off":
        return Capability(PANDOC, "off", plain, _("Set DOCMIND_READING__PANDOC=auto."))
    program = find_pandoc(settings.pandoc)
    version = version_of_pandoc(program) if program else ""
    if version:
        told = _("LaTeX, Org and reStructuredText read by pandoc {version}, without files and network")
        return Capability(PANDOC, "present", told.format(version=version))
    return Capability(PANDOC, "missing", plain, _("Install pandoc, or: pip install docmind[pandoc]"))


def is_better_by_pandoc(info: DocumentInfo) -> bool:
    """Return whether a document was read without pandoc, which reads files of its kind better."""
    return info.kind in MARKED_UP and info.ingestion is not None and info.ingestion.engine != PANDOC
