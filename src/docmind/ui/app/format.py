"""Numbers, codes and pictures formatted for people.

A picture becomes a data URL, so that it arrives together with its page. A picture served as a file can be missing: the
server drops it when a run of the page is cut short, and the browser asks only once.
"""

from __future__ import annotations

import base64
from datetime import datetime
from typing import TYPE_CHECKING

from docmind.records.code import NAMES
from docmind.wording import N_, _, date, language_codes, language_name, ngettext, number_text

if TYPE_CHECKING:
    from docmind.documents import Column
    from docmind.records.documents import DocumentInfo, Ingestion


def data_url(jpeg: bytes) -> str:
    """Return the data URL of a JPEG."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"


language, languages = language_name, language_codes

_KINDS = {
    "docx": "Word",
    "xlsx": "Excel",
    "pptx": "PowerPoint",
    "xls": N_("Excel (before 2007)"),
    "xlsb": N_("Excel (binary)"),
    "ods": N_("OpenDocument sheet"),
    "epub": "EPUB",
    "markdown": "Markdown",
    "txt": N_("Text"),
    "text": N_("Text"),
    "code": N_("Code"),
    "notebook": "Jupyter",
    "bib": "BibTeX",
    "csl": "CSL-JSON",
    "latex": "LaTeX",
    "org": "Org",
    "rst": "reStructuredText",
    "jpeg": "JPEG",
    "mail": N_("Mail"),
    "mailbox": N_("Mailbox"),
    "odp": N_("OpenDocument presentation"),
    "vcard": N_("Contacts"),
    "calendar": N_("Calendar"),
}


def kind(name: str) -> str:
    """Return the common name of a kind of file, or of a language of source code."""
    return _(_KINDS[name]) if name in _KINDS else NAMES.get(name) or name.upper()


def size(count: int) -> str:
    """Format a number of bytes in powers of 1,000, as file managers do: `98 KB`, `3.2 MB`."""
    amount = float(count)
    for unit in ("bytes", "KB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            break
        amount /= 1000
    digits = 1 if unit not in ("bytes", "KB") and amount < 100 else 0
    return f"{number_text(amount, digits)} {unit}"


def count(text: str, number: int) -> str:
    """Fill the number of a text that `ngettext` chose: `1 page`, `9 pages`."""
    return text.format(n=number_text(number))


def documents(number: int) -> str:
    """Return a number of documents in words."""
    return count(ngettext("{n} document", "{n} documents", number), number)


def place_of_model(place: str) -> str:
    """Return where a model runs, for after its name: `on this computer`, or its host; empty where it is not known."""
    return _("on this computer") if place == "this machine" else place


def when(at_ms: int) -> str:
    """Format the local date and time."""
    moment = datetime.fromtimestamp(at_ms / 1000).astimezone()
    return f"{date(moment)}, {moment:%H:%M}"


def shown_value(column: Column, info: DocumentInfo) -> str:
    """Return the value of a document as its page shows it: a day or a time in words, a text as it is; "" for none."""
    value = column.of(info)
    if isinstance(value, int):
        return when(value) if value else ""
    if column.drawn == "day" and value:
        return date(datetime.fromisoformat(value))
    return value


def read_by(ingestion: Ingestion) -> dict[str, str]:
    """Return the engines that read a document, with their versions, and how long that took."""
    versions = dict(ingestion.versions)
    engines = [f"{name} {versions.get(name, '')}".strip() for name in (ingestion.engine, ingestion.ocr_engine) if name]
    return {"engines": ", ".join(engines), "time": duration(ingestion.seconds * 1000)}


def duration(ms: float) -> str:
    """Format a duration, at least 0.1 s: `0.4 s`, `12 s`, `3 min`."""
    seconds = max(ms / 1000, 0.1)
    if seconds < 9.95:
        return f"{number_text(seconds, 1)} s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"


def about(ms: float) -> str:
    """Format an estimated duration in whole numbers: `1 s`, `6 s`, `3 min`, `5 h`."""
    seconds = max(1, round(ms / 1000))
    if seconds < 100:
        return f"{seconds} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{number_text(round(minutes / 60))} h"


def pace(seconds: float) -> str:
    """Format the time per item: `14 ms`, `0.35 s`, `2.4 s`, `31 s`."""
    if seconds < 0.0995:
        return f"{max(1, round(seconds * 1000))} ms"
    digits = 2 if seconds < 0.995 else 1 if seconds < 9.95 else 0
    return f"{number_text(seconds, digits)} s"


def snapshot(title: str, at_ms: int) -> str:
    """Return the name of a snapshot: its title, or when it was taken. Escape it before drawing."""
    return " ".join(title.split()) or when(at_ms)


def conversation(title: str) -> str:
    """Return the name of a conversation, even without a title. Escape it before drawing."""
    return " ".join(title.split()) or _("Untitled conversation")
