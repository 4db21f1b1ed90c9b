"""The boundary of a conversation: the documents and collections that it is bound to, which filters can only narrow.

Below 60 lines: the turns of a conversation and its service share it.
"""

from __future__ import annotations

from dataclasses import replace

from docmind.documents import Catalog
from docmind.errors import ConfigError
from docmind.records.search import Filters
from docmind.wording import _


def within(filters: Filters, bound: Filters, catalog: Catalog) -> Filters:
    """Return the filters of a question in a conversation that is bound to these documents and collections.

    Where the filters name documents or collections too, those that both allow are left: by their ids where neither
    holds the others. Raises `ConfigError` where the filters name documents and none of them is within the boundary.
    """
    if not (bound.doc_ids or bound.collections):
        return filters
    inside = replace(filters, doc_ids=bound.doc_ids, collections=bound.collections)
    if not (filters.doc_ids or filters.collections):
        return inside

    def allowed(one: Filters) -> set[str]:
        named = Filters(doc_ids=one.doc_ids, collections=one.collections, snapshots=filters.snapshots)
        return set(catalog.allowed(named))

    named, limit = allowed(filters), allowed(bound)
    if named <= limit:
        return filters
    if limit and limit <= named:
        return inside
    if not named & limit:
        raise ConfigError(
            _("This conversation is bound to other documents than these."),
            hint=_("Ask in another conversation, or bind this one to these documents."),
        )
    return replace(filters, doc_ids=tuple(sorted(named & limit)), collections=())
