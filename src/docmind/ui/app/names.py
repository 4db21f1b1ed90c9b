"""What documents are called in the app: by their titles, otherwise by their file names in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from docmind.records.answers import Source
from docmind.records.documents import DocumentInfo, placed_name, readable_name
from docmind.records.search import Hit, MultimodalHit
from docmind.rich_text import one_line
from docmind.ui.app.app_state import app_state


def called(one: Source | Hit | MultimodalHit) -> str:
    """Return what the document of a source or hit is called now, on one line; empty where its name was erased.

    A source has its day behind it, where the documents of its answer are of different days.
    """
    state = app_state()
    label = state.open().documents.label(one.doc_id, one.document) if state.is_open else readable_name(one.document)
    return one_line(placed_name(label, "", one.dated if isinstance(one, Source) else ""))


def names_of(documents: Iterable[DocumentInfo]) -> dict[str, str]:
    """Return what documents are called by their ids; two of one title have their file names behind it."""
    labels = {info.doc_id: (one_line(info.label), one_line(info.document)) for info in documents}
    counts = Counter(label for label, _name in labels.values())
    return {doc_id: label if counts[label] == 1 else f"{label} ({name})" for doc_id, (label, name) in labels.items()}
