"""Filters of a question: some documents, collections, kinds, tags, languages and dates; by words, by look, or by both.

The choice is kept in the address of the page, so that a reload keeps it, and for the other pages in this tab.
Documents and collections are also kept with the open conversation, which is bound to them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from docmind.records.conversations import Thread
from docmind.records.documents import FIGURE, FIGURE_AREAS, DocumentInfo, FigureKind, FigureSize
from docmind.records.search import Filters, ListName, kinds_of
from docmind.rich_text import escape, shorten
from docmind.ui.app import state
from docmind.ui.app.format import kind, language
from docmind.ui.app.names import names_of
from docmind.wording import N_, _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind

_WAYS: Mapping[str, tuple[ListName, ...]] = {"Words": ("text", "code"), "Look": ("image", "visual")}
_SIZES: Mapping[FigureSize, str] = {"small": N_("Small"), "medium": N_("Medium"), "large": N_("Large")}
_KINDS: Mapping[FigureKind, str] = {"photo": N_("Photos"), "graphic": N_("Graphics"), "drawing": N_("Drawings")}
_OF_A_KIND: Mapping[FigureKind, str] = {
    "photo": N_("photos"), "graphic": N_("graphics"), "drawing": N_("drawings"),
}  # fmt: skip
_SIZED: Mapping[FigureSize, str] = {
    "small": N_("small figures"), "medium": N_("medium figures"), "large": N_("large figures"),
}  # fmt: skip
_SINCE = {"1": N_("Last 24 hours"), "7": N_("Last 7 days"), "30": N_("Last 30 days"), "365": N_("Last year")}
_NEWEST = "newest"
_DAY_MS = 24 * 3600 * 1000
_NONE = "none"
"""Stands for an empty set of documents, because an empty filter means all of them. No document has this id."""

NO_SNAPSHOTS: Mapping[str, str] = {}
_KEYS = {
    state.FILTER_DOCUMENTS: "in",
    state.FILTER_COLLECTIONS: "collection",
    state.FILTER_KINDS: "kind",
    state.FILTER_TAGS: "tag",
    state.FILTER_LANGUAGES: "language",
    state.FILTER_SINCE: "since",
    state.FILTER_SNAPSHOTS: "as-of",
    state.FILTER_LISTS: "by",
    state.FILTER_ORDER: "order",
    state.FILTER_SENDERS: "from",
    state.FILTER_YEARS: "year",
    state.FILTER_CONTENT: "content",
    state.FILTER_SIZES: "size",
    state.FILTER_FIGURE_KINDS: "figures",
}
"""The choices and their names in the address."""
_NOT_NARROWING = (
    state.FILTER_LISTS, state.FILTER_SNAPSHOTS, state.FILTER_ORDER, state.FILTER_CONTENT, state.FILTER_SIZES,
    state.FILTER_FIGURE_KINDS,
)  # fmt: skip
"""Choices that leave no document out by themselves."""
_BINDING = (state.FILTER_DOCUMENTS, state.FILTER_COLLECTIONS)
_BY_DOCUMENTS = (state.FILTER_SINCE, state.FILTER_YEARS)
"""The choices that `Filters` has no field for: they become the documents that have them."""
_ID_LENGTH = 12  # characters of a document's id in the address
_MOST_YEARS = 12  # that can be chosen
_MOST_IDS = 100  # in the address


def follow(
    documents: Sequence[DocumentInfo],
    collections: Mapping[str, str],
    thread: Thread | None = None,
    bind: Callable[[Filters], bool] = lambda chosen: True,
    *,
    has_look: bool = False,
    has_figures: bool = False,
    snapshots: Mapping[str, str] = NO_SNAPSHOTS,
) -> None:
    """Show what the open conversation `thread` is bound to, and bind it to what was chosen in it.

    Call it before the choice is used or drawn. `bind` keeps documents and collections with the conversation, and tells
    whether it could. The other arguments are those of `choose_filters`.
    """
    offered = _offered(documents, collections, has_look=has_look, has_figures=has_figures, snapshots=snapshots)
    _restore(offered)
    _follow(thread, bind, offered)


def choose_filters(
    docmind: DocMind,
    documents: Sequence[DocumentInfo],
    collections: Mapping[str, str],
    *,
    has_look: bool = False,
    has_figures: bool = False,
    clear: Callable[[], None] | None = None,
    snapshots: Mapping[str, str] = NO_SNAPSHOTS,
) -> None:
    """Draw a popover whose label shows the choice; nothing chosen means no filter.

    `collections` are their names by their ids, and so are `snapshots`. Where a model for page images is in use
    (`has_look`), words or the look of pages can be chosen alone, and figures where there are any (`has_figures`).
    `clear` is called by the button that clears the choice, in place of `look_in`.
    """
    names = names_of(documents) | dict(collections) | dict(snapshots)
    told = _told(docmind, names)
    style = "secondary" if told else "tertiary"
    with st.popover(told or _("All documents"), icon=":material/filter_alt:", key="filters", type=style):
        offered = _offered(documents, collections, has_look=has_look, has_figures=has_figures, snapshots=snapshots)
        _draw_fields(offered, names)
    if told:
        if not matching(docmind):
            st.caption(f":material/warning: {_('No documents match these filters.')}", width="content")
        label = _("Search all") if to_bind() != Filters() else _("Clear filter")
        st.button(label, key="filters-none", icon=":material/close:", type="tertiary", on_click=clear or look_in)
    _keep()


def matching(docmind: DocMind) -> list[DocumentInfo]:
    """Return the documents that fit the choice of this tab; a language is that of most pages of a document."""
    return _narrowed(docmind, _fields())


def to_bind() -> Filters:
    """Return the documents and collections that are chosen in this tab: those to which a conversation is bound."""
    documents, collections = (tuple(sorted(_chosen(key))) for key in _BINDING)
    return Filters(doc_ids=documents, collections=collections)


def look_in(*doc_ids: str, collections: Sequence[str] = ()) -> None:
    """Set the filter to these documents and collections; none means all. For callbacks.

    The open conversation is then bound to them.
    """
    for key in _KEYS:
        st.session_state[key] = []
    st.session_state[state.FILTER_DOCUMENTS] = list(doc_ids)
    st.session_state[state.FILTER_COLLECTIONS] = list(collections)


def begin_in(*doc_ids: str, collections: Sequence[str] = ()) -> None:
    """Set the filter for a new conversation, which is bound to these documents and collections."""
    look_in(*doc_ids, collections=collections)
    st.session_state[state.BOUND] = ("", to_bind())


def chosen_filters(docmind: DocMind) -> Filters:
    """Return the filters that are chosen in this tab; dates become the documents that have them."""
    chosen = _fields()
    if not any(map(_chosen, _BY_DOCUMENTS)):
        return chosen
    found = tuple(info.doc_id for info in _narrowed(docmind, replace(chosen, languages=())))  # those are of pages
    return replace(chosen, doc_ids=found or (_NONE,))


def chosen_lists() -> tuple[ListName, ...] | None:
    """Return the lists to search that are chosen in this tab; None for the configured ones."""
    chosen = [way for way in _WAYS if way in _chosen(state.FILTER_LISTS)]
    return tuple(name for way in chosen for name in _WAYS[way]) if len(chosen) == 1 else None


def is_newest_first() -> bool:
    """Return whether the newest is wanted first among what answers equally well."""
    return bool(_chosen(state.FILTER_ORDER))


def describe(filters: Filters, lists: Collection[ListName], names: Mapping[str, str]) -> str:
    """Return what a question was asked in, as Markdown; empty for all documents.

    `names` are those of documents and collections by their ids.
    """
    parts = []
    if len(filters.doc_ids) == 1 and filters.doc_ids[0] in names:
        parts.append(escape(names[filters.doc_ids[0]], limit=48))
    elif filters.doc_ids:
        parts.append(_documents(len([doc_id for doc_id in filters.doc_ids if doc_id != _NONE])))
    parts += [
        escape(names[one], limit=48) if one in names else _("a deleted collection") for one in filters.collections
    ]
    parts += [kind(one) for one in filters.kinds]
    parts += [escape(tag, limit=32) for tag in filters.tags]
    parts += [language(code) for code in filters.languages]
    parts += [_("from {name}").format(name=escape(_name_of(one), limit=36)) for one in filters.senders]
    parts += [_("to {name}").format(name=escape(_name_of(one), limit=36)) for one in filters.recipients]
    if filters.since:
        parts.append(_("added since {day}").format(day=escape(filters.since)))
    if filters.after or filters.before:
        parts.append(f"{filters.after} – {filters.before}".strip())
    parts += [_as_of(names.get(one, _("a deleted snapshot"))) for one in filters.snapshots]
    if FIGURE in filters.modalities or filters.is_of_some_figures:
        parts += _told_figures(filters.figure_sizes, filters.figure_kinds)
    ways = [way for way, searched in _WAYS.items() if lists and set(lists) == set(searched)]
    return " · ".join([*parts, *map(_by, ways)])


def _fields() -> Filters:
    """Return the choices of this tab for which `Filters` has a field. A further field that is chosen belongs here."""
    content = tuple(_chosen(state.FILTER_CONTENT))
    return Filters(
        doc_ids=tuple(_chosen(state.FILTER_DOCUMENTS)),
        modalities=content,
        languages=tuple(_chosen(state.FILTER_LANGUAGES)),
        tags=tuple(_chosen(state.FILTER_TAGS)),
        kinds=tuple(_chosen(state.FILTER_KINDS)),
        collections=tuple(_chosen(state.FILTER_COLLECTIONS)),
        snapshots=tuple(_chosen(state.FILTER_SNAPSHOTS)),
        senders=tuple(_chosen(state.FILTER_SENDERS)),
        figure_sizes=_sizes() if content else (),
        figure_kinds=_figure_kinds() if content else (),
    )


def _narrowed(docmind: DocMind, chosen: Filters) -> list[DocumentInfo]:
    """Return the documents that pass these filters, and the dates that are chosen in this tab."""
    days, years = [int(each) for each in _chosen(state.FILTER_SINCE)], _chosen(state.FILTER_YEARS)
    after = time.time() * 1000 - days[0] * _DAY_MS if days else 0.0
    return [
        info
        for info in docmind.documents.matching(chosen)
        if (not years or info.dated[:4] in years) and info.added_at_ms >= after
    ]


def _offered(
    documents: Sequence[DocumentInfo],
    collections: Mapping[str, str],
    *,
    has_look: bool,
    has_figures: bool,
    snapshots: Mapping[str, str],
) -> dict[str, list[str]]:
    """Return what can be chosen, by the keys of the choices."""
    return {
        state.FILTER_DOCUMENTS: [info.doc_id for info in documents],
        state.FILTER_COLLECTIONS: list(collections),
        state.FILTER_KINDS: sorted(
            {each for info in documents for each in kinds_of(info.kind, info.document)}, key=kind
        ),
        state.FILTER_TAGS: sorted({tag for info in documents for tag in info.tags}),
        state.FILTER_LANGUAGES: sorted({info.language for info in documents if info.language}, key=language),
        state.FILTER_SINCE: list(_SINCE),
        state.FILTER_SNAPSHOTS: list(snapshots),
        state.FILTER_LISTS: list(_WAYS) if has_look else [],
        state.FILTER_ORDER: [_NEWEST],
        state.FILTER_SENDERS: sorted({info.sender for info in documents if info.sender}, key=str.casefold),
        state.FILTER_YEARS: _years(documents),
        state.FILTER_CONTENT: [FIGURE] if has_figures else [],
        state.FILTER_SIZES: list(FIGURE_AREAS) if has_figures else [],
        state.FILTER_FIGURE_KINDS: list(_KINDS) if has_figures else [],
    }


def _years(documents: Sequence[DocumentInfo]) -> list[str]:
    """Return the years of documents where there are mails, the last ones first."""
    has_mails = any(info.sender for info in documents)
    return sorted({info.dated[:4] for info in documents if info.dated}, reverse=True)[:_MOST_YEARS] if has_mails else []


def _draw_fields(offered: Mapping[str, Sequence[str]], names: Mapping[str, str]) -> None:
    st.multiselect(
        _("Documents"),
        offered[state.FILTER_DOCUMENTS],
        format_func=lambda doc_id: shorten(names[doc_id], 48),
        key=state.FILTER_DOCUMENTS,
        placeholder=_("All documents"),
    )
    if offered[state.FILTER_COLLECTIONS]:
        st.multiselect(
            _("Collections"),
            offered[state.FILTER_COLLECTIONS],
            format_func=lambda one: shorten(names[one], 48),
            key=state.FILTER_COLLECTIONS,
            placeholder=_("All documents"),
            help=_("This conversation is asked in these collections until you choose others."),
        )
    if offered[state.FILTER_SENDERS]:
        st.multiselect(
            _("From"),
            offered[state.FILTER_SENDERS],
            format_func=lambda one: shorten(_name_of(one), 48),
            key=state.FILTER_SENDERS,
            placeholder=_("Anybody"),
            help=_("Only mails from these people are asked."),
        )
    fields = (
        (state.FILTER_KINDS, _("Kinds"), kind, 2),
        (state.FILTER_TAGS, _("Tags"), lambda tag: escape(tag, limit=32), 1),
        (state.FILTER_LANGUAGES, _("Languages"), language, 2),
        (state.FILTER_YEARS, _("Date"), str, 2),
    )
    for key, label, shown, least in fields:
        if len(offered[key]) >= least:
            st.pills(label, offered[key], selection_mode="multi", format_func=shown, key=key)
    since = list(_SINCE)
    st.pills(_("Added"), since, selection_mode="multi", format_func=lambda d: _(_SINCE[d]), key=state.FILTER_SINCE,
             on_change=_one_since)  # fmt: skip
    if offered[state.FILTER_CONTENT]:
        st.pills(
            _("Content"),
            offered[state.FILTER_CONTENT],
            selection_mode="multi",
            format_func=lambda _unused: _("Figures"),
            key=state.FILTER_CONTENT,
            help=_("Only figures are found, by their captions and alternative texts."),
        )
        if _chosen(state.FILTER_CONTENT):
            st.pills(
                _("Size of figures"),
                offered[state.FILTER_SIZES],
                selection_mode="multi",
                format_func=lambda size: _(_SIZES[size]),
                key=state.FILTER_SIZES,
                help=_("By the pixels of the picture: small below 300 × 300, large from 640 × 480."),
            )
            st.pills(
                _("Kind of figures"),
                offered[state.FILTER_FIGURE_KINDS],
                selection_mode="multi",
                format_func=lambda one: _(_KINDS[one]),
                key=state.FILTER_FIGURE_KINDS,
                help=_("Photos are JPEG, WebP and TIFF, graphics PNG, GIF and BMP, drawings lines in a PDF."),
            )
    if offered[state.FILTER_SNAPSHOTS]:
        st.multiselect(
            _("As of a snapshot"),
            offered[state.FILTER_SNAPSHOTS],
            format_func=lambda one: shorten(names[one], 48),
            key=state.FILTER_SNAPSHOTS,
            on_change=_one_snapshot,
            placeholder=_("Now"),
            help=_("Only documents that the snapshot holds are asked. Those that are gone since are not among them."),
        )
    if offered[state.FILTER_LISTS]:
        st.pills(
            _("Search by"),
            offered[state.FILTER_LISTS],
            selection_mode="multi",
            key=state.FILTER_LISTS,
            help=_("Search pages by what they say, by what they look like, or by both."),
        )
    st.pills(
        _("Order"),
        offered[state.FILTER_ORDER],
        selection_mode="multi",
        format_func=lambda _newest: _("Newest first"),
        key=state.FILTER_ORDER,
        help=_("Among passages that answer equally well, the newest comes first."),
    )


def _sizes() -> tuple[FigureSize, ...]:
    """Return the chosen sizes of figures; empty for all."""
    chosen: list[FigureSize] = [size for size in FIGURE_AREAS if size in _chosen(state.FILTER_SIZES)]
    return tuple(chosen) if len(chosen) < len(FIGURE_AREAS) else ()


def _figure_kinds() -> tuple[FigureKind, ...]:
    """Return the chosen kinds of figures; empty for all."""
    chosen: list[FigureKind] = [one for one in _KINDS if one in _chosen(state.FILTER_FIGURE_KINDS)]
    return tuple(chosen) if len(chosen) < len(_KINDS) else ()


def _told_figures(sizes: Sequence[FigureSize], kinds: Sequence[FigureKind]) -> list[str]:
    told = [*(_(_SIZED[size]) for size in sizes), *(_(_OF_A_KIND[one]) for one in kinds)]
    return told or [_("figures only")]


def _one_since() -> None:
    """Keep the date that was chosen last."""
    st.session_state[state.FILTER_SINCE] = st.session_state[state.FILTER_SINCE][-1:]


def _one_snapshot() -> None:
    """Keep the snapshot that was chosen last."""
    st.session_state[state.FILTER_SNAPSHOTS] = st.session_state[state.FILTER_SNAPSHOTS][-1:]


def _chosen(key: str) -> list[str]:
    return list(st.session_state.get(key) or ())


def _restore(offered: Mapping[str, Sequence[str]]) -> None:
    """Set the choices of this tab, else those in the address; what is no longer there is left out."""
    kept: dict[str, list[str]] | None = st.session_state.get(state.FILTERS)
    for key, name in _KEYS.items():
        if key in st.session_state:
            values = _chosen(key)
        elif kept is not None:
            values = kept.get(key, [])
        else:
            values = (st.query_params.get(name) or "").split(",")
            if key == state.FILTER_DOCUMENTS:
                values = [doc_id for doc_id in offered[key] if doc_id[:_ID_LENGTH] in values]
        st.session_state[key] = [value for value in values if value in offered[key]]


def _follow(thread: Thread | None, bind: Callable[[Filters], bool], offered: Mapping[str, Sequence[str]]) -> None:
    """Take what a conversation that was opened is bound to, and keep what was chosen in it.

    A new conversation begins in all documents, unless some were chosen for it. Documents in the bin stay bound until
    others are chosen.
    """
    before: tuple[str, Filters] | None = st.session_state.get(state.BOUND)
    chosen = to_bind()
    if thread is None:
        thread_id = ""
        if before is not None and before[0]:
            chosen = Filters()
    else:
        thread_id, bound = thread.thread_id, _among(thread.bound, offered)
        is_news = before != (thread_id, bound)  # opened now, or changed elsewhere
        if is_news or (chosen != bound and not bind(chosen)):
            chosen = bound
    if chosen != to_bind():
        for key, ids in zip(_BINDING, (chosen.doc_ids, chosen.collections), strict=True):
            st.session_state[key] = list(ids)
    st.session_state[state.BOUND] = (thread_id, chosen)


def _among(bound: Filters, offered: Mapping[str, Sequence[str]]) -> Filters:
    """Return what can be chosen of what a conversation is bound to."""
    documents, collections = (set(offered[key]) for key in _BINDING)
    return Filters(
        doc_ids=tuple(one for one in bound.doc_ids if one in documents),
        collections=tuple(one for one in bound.collections if one in collections),
    )


def _keep() -> None:
    """Keep the choices for other pages and, in the address, for a reload."""
    st.session_state[state.FILTERS] = {key: _chosen(key) for key in _KEYS}
    for key, name in _KEYS.items():
        values = _chosen(key)
        if key == state.FILTER_DOCUMENTS:
            values = [doc_id[:_ID_LENGTH] for doc_id in values[:_MOST_IDS]]
        told = ",".join(value for value in values if "," not in value)
        if told and st.query_params.get(name) != told:
            st.query_params[name] = told
        elif not told and name in st.query_params:
            del st.query_params[name]


def _told(docmind: DocMind, names: Mapping[str, str]) -> str:
    """Describe the choice, a single document by its name; empty where nothing is chosen."""
    ids = _chosen(state.FILTER_DOCUMENTS)
    if len(ids) == 1:
        parts = [escape(names[ids[0]], limit=36)]
    elif any(_chosen(key) for key in _KEYS if key not in _NOT_NARROWING):
        parts = [_documents(len(matching(docmind)))]
    else:
        parts = []
    parts += [escape(names[one], limit=36) for one in _chosen(state.FILTER_COLLECTIONS)]
    parts += [kind(each) for each in _chosen(state.FILTER_KINDS)]
    parts += [escape(tag, limit=24) for tag in _chosen(state.FILTER_TAGS)]
    parts += [language(code) for code in _chosen(state.FILTER_LANGUAGES)]
    parts += [_("from {name}").format(name=escape(_name_of(one), limit=36)) for one in _chosen(state.FILTER_SENDERS)]
    parts += _chosen(state.FILTER_YEARS)
    parts += [_(_SINCE[days]) for days in _chosen(state.FILTER_SINCE)]
    parts += [_as_of(names[one]) for one in _chosen(state.FILTER_SNAPSHOTS)]
    parts += _told_figures(_sizes(), _figure_kinds()) if _chosen(state.FILTER_CONTENT) else []
    ways = _chosen(state.FILTER_LISTS)
    parts += map(_by, ways) if len(ways) == 1 else ()
    if is_newest_first():
        parts = [*(parts or [_("All documents")]), _("newest first")]
    return " · ".join(parts)


def _documents(number: int) -> str:
    return ngettext("{n} document", "{n} documents", number).format(n=f"{number:,}")


def _name_of(sender: str) -> str:
    """Return the name of a person as mails name one, or the address."""
    return sender.partition(" <")[0] or sender


def _as_of(name: str) -> str:
    return _("as of {name}").format(name=escape(name, limit=36))


def _by(way: str) -> str:
    return _("by words") if way == "Words" else _("by look")
