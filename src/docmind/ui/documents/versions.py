"""Versions of a document in the app: replaced or kept where one was added, compared and cleared away afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.records.documents import DocumentInfo
from docmind.rich_text import escape, one_line
from docmind.ui.app import errors, page_view, state
from docmind.ui.app.format import when
from docmind.ui.documents import comparing
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.application import DocMind

_TROUBLE = "versions"
_OFFERED_S = 600.0  # how long the result of a file offers to replace the version before
_CHOSEN = "version-chosen"  # the key of the document that is chosen on a page
_OFFERED = 5  # files whose results do


def draw_offer(docmind: DocMind) -> None:
    """Draw what was read in the last minutes and is a new version: replace the version before, or keep both."""
    errors.show_of(_TROUBLE)
    since = (time.time() - _OFFERED_S) * 1_000
    decided: set[str] = st.session_state.setdefault(state.KEPT_VERSIONS, set())
    done = (info for info in docmind.queue.uploads("done") if info.result == "added" and info.changed_at_ms > since)
    told = [info for info in done if info.message]  # what is a new version says so
    asked = dict.fromkeys(info.doc_id for info in told if info.doc_id not in decided)
    offers = ((doc_id, older) for doc_id in asked if (older := _older(docmind, doc_id)))
    for doc_id, older in islice(offers, _OFFERED):
        _draw_one(docmind, docmind.documents.get(doc_id), older[0])


def _draw_one(docmind: DocMind, info: DocumentInfo, before: DocumentInfo) -> None:
    told = _("**{name}** is a new version of {document}, added {when}.").format(
        name=escape(info.document, limit=60), document=escape(before.document, limit=60), when=when(before.added_at_ms)
    )
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"version-{info.doc_id}"):
        st.markdown(told, width="stretch")
        with st.container(horizontal=True, width="content", gap="small"):
            st.button(
                _("Replace"), key=f"version-replace-{info.doc_id}", icon=":material/auto_delete:",
                help=_("The earlier version goes to the bin; its tags and collections go to the new one."),
                on_click=replace_earlier, args=(docmind, info.doc_id),
            )  # fmt: skip
            st.button(
                _("Keep both"), key=f"version-keep-{info.doc_id}", type="tertiary", on_click=_keep, args=(info.doc_id,)
            )
            st.button(
                _("Compare"), key=f"version-compare-{info.doc_id}", icon=":material/compare:", type="tertiary",
                on_click=comparing.open_comparison, args=(before.doc_id, info.doc_id),
            )  # fmt: skip


def draw_actions(docmind: DocMind, info: DocumentInfo) -> None:
    """Draw what can be done with the earlier versions of a document, where there are any."""
    older = _older(docmind, info.doc_id)
    if not older:
        return
    st.button(
        _("Compare versions"), icon=":material/compare:", key="document-compare",
        on_click=_compare, args=(older[0].doc_id, info.doc_id),
    )  # fmt: skip
    st.button(
        _("Move earlier versions to the bin"), icon=":material/auto_delete:", key="document-replace",
        on_click=replace_earlier, args=(docmind, info.doc_id),
    )  # fmt: skip


def draw_place(docmind: DocMind, info: DocumentInfo) -> None:
    """Draw which version a document is, and the others, where it has any."""
    if not info.series:
        return
    others = [one for one in docmind.documents.all() if one.series == info.series and one.doc_id != info.doc_id]
    if not others:
        return
    older = {one.doc_id for one in _older(docmind, info.doc_id)}
    is_newest = len(older) == len(others)
    st.caption(_("The newest version") if is_newest else _("An earlier version"))
    with st.container(gap=None, key="document-versions"):
        for one in others:
            name = escape(one.document, limit=60)
            label = _("{name}, added {when}").format(name=name, when=when(one.added_at_ms))
            st.button(label, key=f"version-open-{one.doc_id}", type="tertiary", on_click=_open, args=(one.doc_id,))


def draw_saying(docmind: DocMind, info: DocumentInfo) -> None:
    """Draw how a person says of which document one is a version, or that it is none; it stands above what is found."""
    errors.show_of(_TROUBLE)
    if info.status != "ready":
        return
    names = {one.doc_id: one.label for one in docmind.documents.all() if one.doc_id != info.doc_id}
    with st.popover(_("Versions"), icon=":material/history_edu:", type="tertiary", key="document-saying"):
        if info.series:
            st.button(
                _("Not a version"), key="version-not", icon=":material/link_off:",
                help=_("It stands alone from now on, and is not called a version of these documents again."),
                on_click=_say, args=(lambda: docmind.documents.set_no_version(info.doc_id),),
            )  # fmt: skip
        st.selectbox(
            _("Is a version of"), sorted(names, key=lambda one: names[one].casefold()), index=None, key=_CHOSEN,
            format_func=lambda one: one_line(names.get(str(one), "")), placeholder=_("Choose a document"),
        )  # fmt: skip
        chosen = st.session_state.get(_CHOSEN)
        st.button(
            _("Save"), key="version-of", disabled=chosen is None,
            on_click=_say, args=(lambda: docmind.documents.set_version_of(info.doc_id, str(chosen)),),
        )  # fmt: skip


def _say(work: Callable[[], object]) -> None:
    errors.heed(_TROUBLE, work)
    st.session_state.pop(_CHOSEN, None)


def replace_earlier(docmind: DocMind, doc_id: str) -> None:
    """Move the earlier versions of a document to the bin, with *Undo*. For callbacks."""

    def work() -> None:
        binned = docmind.documents.replace(doc_id)
        st.session_state[state.BINNED] = (time.time(), binned)
        page_view.drop_images()

    errors.heed(_TROUBLE, work)


def _older(docmind: DocMind, doc_id: str) -> tuple[DocumentInfo, ...]:
    """Return the earlier versions, the newest first; none of a document that is gone."""
    found = errors.attempt(lambda: docmind.documents.earlier_versions(doc_id))
    return () if isinstance(found, DocMindError) else found


def _keep(doc_id: str) -> None:
    st.session_state[state.KEPT_VERSIONS].add(doc_id)


def _compare(doc_id: str, other: str) -> None:
    st.query_params.pop(state.OPEN_DOCUMENT, None)
    comparing.open_comparison(doc_id, other)


def _open(doc_id: str) -> None:
    st.query_params[state.OPEN_DOCUMENT] = doc_id
