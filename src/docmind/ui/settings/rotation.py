"""The section of Settings that encrypts the library again with new keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import CancelledError
from docmind.ui.app import errors
from docmind.ui.app.app_state import app_state
from docmind.ui.app.format import count
from docmind.wording import _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind

_KEY = "rotation"
_LOOK_S = 0.7


def section(docmind: DocMind) -> None:
    """Draw the button that begins a rotation of the keys, its progress, or its result."""
    if docmind.is_read_only:
        return
    st.subheader(_("New keys"), anchor=False)
    st.write(
        _("Encrypts the whole library again, for example after somebody saw your passphrase or copied your key file. "
          "Change the passphrase first.")
    )  # fmt: skip
    rotation = docmind.rotation
    if rotation.is_running:
        st.fragment(_draw_progress, run_every=_LOOK_S)(docmind)
        return
    if rotation.error is not None and not isinstance(rotation.error, CancelledError):
        errors.show(rotation.error)
    if rotation.report is not None:
        _draw_report(docmind)
    if rotation.is_index_left:
        st.fragment(_follow_index, run_every=_LOOK_S)(docmind)
        return
    if rotation.is_unfinished:
        st.info(
            _("It is paused. It goes on where it stopped, at the latest at the next start."), icon=":material/pause:"
        )
        st.button(_("Go on"), icon=":material/play_arrow:", key=f"{_KEY}-on", on_click=_start, args=(docmind,))
        errors.show_of(_KEY)
        return
    with st.popover(_("Make new keys"), icon=":material/autorenew:"):
        st.write(_("You can go on working meanwhile. It takes about a minute for 10,000 pages."))
        st.write(_("You get a new recovery code; the one you have stops working. Your passphrase or key file stays."))
        st.button(_("Begin"), type="primary", key=f"{_KEY}-begin", on_click=_start, args=(docmind,))
    errors.show_of(_KEY)


def _start(docmind: DocMind) -> None:
    errors.heed(_KEY, docmind.rotation.start)


def _draw_progress(docmind: DocMind) -> None:
    now = docmind.rotation.progress
    if not docmind.rotation.is_running:
        st.rerun()
    if now is None:
        st.progress(0.0, text=_("Getting ready…"))
        return
    share = now.done / now.total if now.total else 0.0
    st.progress(share, text=f"{_(now.step)} {round(100 * share)} %" if now.total else f"{_(now.step)}…")
    st.button(_("Pause"), icon=":material/pause:", key=f"{_KEY}-pause", on_click=docmind.rotation.pause)


def _follow_index(docmind: DocMind) -> None:
    """Open the library again as soon as nothing runs, and wait for the index."""
    outcome = errors.attempt(app_state().apply_changes)
    if outcome is not None:
        errors.show(outcome)
    elif not docmind.rotation.is_unfinished:
        st.rerun()
    else:
        st.caption(_("The search index gets its new key as soon as no question is being answered."))


def _draw_report(docmind: DocMind) -> None:
    report = docmind.rotation.report
    if report is None:
        return
    files = count(ngettext("{n} file", "{n} files", report.files), report.files)
    st.success(_("Everything has new keys: {files} encrypted again.").format(files=files), icon=":material/check:")
    for name in report.damaged:
        errors.show_message(_("Damaged, so it keeps its old key: {name}").format(name=name))
