"""The sentence of an answer that has nothing to show: it names the list that was missing.

Below 60 lines: conversations, the facade and exports share it.
"""

from __future__ import annotations

from docmind.records.search import MISSING, ListName, ListState, MultimodalResult, SearchResult
from docmind.wording import N_

NOT_FOUND = N_("I couldn't find this in your documents.")
NOT_SEEN = N_("Not found in the text; page images were not searched.")
NOT_ALL_SEEN = N_("Not found in the text; page images were not all searched.")
NOT_READ = N_("Not found: the text was not searched.")

SENTENCES = frozenset({NOT_FOUND, NOT_SEEN, NOT_ALL_SEEN, NOT_READ})

_WORDS: tuple[ListName, ...] = ("text", "code")
_IMAGES: tuple[ListName, ...] = ("image", "visual")
_SEARCHED: tuple[ListState, ...] = ("ran", "empty")


def not_found(found: SearchResult) -> str:
    """Return what to say where a search gave no answer.

    A list of page images that is off, as no model is in use, is not missing; words that were not searched always are.
    """
    reports = {one.list: one.state for one in found.lists} if isinstance(found, MultimodalResult) else {}
    missing = {name for name, state in reports.items() if state in MISSING}
    is_read = any(reports.get(name) in _SEARCHED for name in _WORDS)
    if "text" in missing or (reports and not is_read):
        return NOT_READ
    seen = [name for name in _IMAGES if reports.get(name) in _SEARCHED]
    if missing.intersection(_IMAGES):
        return NOT_ALL_SEEN if seen else NOT_SEEN
    is_partial = any(one.stage in seen for one in found.degraded)
    return NOT_ALL_SEEN if is_partial else NOT_FOUND
