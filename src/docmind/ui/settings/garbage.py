"""The part of Settings that removes stored files that nothing refers to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.records.storage import PruneReport
from docmind.ui.app import errors
from docmind.ui.app.format import count, size
from docmind.wording import _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind

_FREE = "garbage"
_DAY_MS = 24 * 60 * 60 * 1000


def line(docmind: DocMind) -> None:
    """Draw how much could be freed, the button that does it, and what came of it."""
    found = errors.attempt(lambda: docmind.garbage.prune(dry_run=True))
    if isinstance(found, DocMindError):
        errors.show(found)
        return
    done = st.session_state.pop(_FREE, None)
    with st.container(horizontal=True, vertical_alignment="center", key="garbage-line"):
        st.markdown(_told(found))
        if found.files and not docmind.is_read_only:
            st.button(
                _("Free space"),
                key="garbage-free",
                icon=":material/cleaning_services:",
                on_click=_free,
                args=(docmind,),
            )
    if isinstance(done, PruneReport):
        st.success(_("{size} freed.").format(size=size(done.freed_bytes)), icon=":material/check:")
        if done.failed:
            told = ngettext(
                "{n} file could not be removed. It is tried again later.",
                "{n} files could not be removed. They are tried again later.",
                done.failed,
            )
            errors.show_message(told.format(n=done.failed))
    errors.show_of(_FREE)


def _told(found: PruneReport) -> str:
    days = f"{found.min_age_ms / _DAY_MS:g}"
    files = count(ngettext("{n} file", "{n} files", len(found.files)), len(found.files))
    if found.files:
        told = _("{size} can be freed: {files} that nothing in the library has used for {days} days.")
        return told.format(size=size(found.freed_bytes), files=files, days=days)
    if found.waiting:
        told = _("Nothing to free yet: {size} that nothing in the library uses are kept for {days} days first.")
        return told.format(size=size(found.waiting_bytes), days=days)
    return _("Nothing to free: everything stored is in use.")


def _free(docmind: DocMind) -> None:
    def free() -> None:
        st.session_state[_FREE] = docmind.garbage.prune()

    errors.heed(_FREE, free)
