"""The section of Settings with snapshots: take one, see what changed since, go back to one, remove one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import DocMindError
from docmind.records.snapshots import Activation, KeptDatabase, SnapshotDifference, SnapshotInfo
from docmind.rich_text import escape
from docmind.ui.app import errors, long_work
from docmind.ui.app.app_state import app_state
from docmind.ui.app.format import count, documents, size, when
from docmind.ui.app.long_work import LongWork
from docmind.wording import N_, _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind

_WORK = "snapshot"
_TITLE, _DIALOG = "snapshot-title", "snapshot-dialog"
_COMPARE, _ACTIVATE, _DELETE = "compare", "activate", "delete"
_SHOWN = 8  # documents of a kind that a difference names
_CHANGES = (N_("name"), N_("title"), N_("tags"), N_("language"), N_("collections"), N_("text"), N_("text model"))


def section(docmind: DocMind) -> None:
    """Draw the form that takes a snapshot, the snapshots, and the copies of the database from before an update."""
    st.subheader(_("Snapshots"), anchor=False)
    st.caption(
        _(
            "A snapshot keeps the documents, their names, tags and collections, and the settings as they are now. You "
            "can ask in it, see what changed since, and go back to it. An unchanged library takes almost no more space."
        )
    )
    going = app_state().work(_WORK)
    if going is not None and not going.is_over:
        long_work.draw(going, _progress, key=_WORK)
        return
    if going is not None:
        _outcome(going)
    if not docmind.is_read_only:
        with st.form(_WORK, border=False), st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_input(_("Description"), key=_TITLE, placeholder=_("Before the spring clean-up"), max_chars=120)
            st.form_submit_button(_("Take a snapshot"), icon=":material/photo_camera:", on_click=_take)
    known, databases = docmind.snapshots.list(), docmind.snapshots.databases()
    if not known:
        st.caption(_("There are no snapshots yet."))
    for info in known:
        _draw(docmind, info)
    for database in databases:
        _draw_database(docmind, database)
    _draw_dialog(docmind)


def _take() -> None:
    title = str(st.session_state.get(_TITLE, ""))
    st.session_state[_TITLE] = ""
    errors.heed(
        _WORK,
        lambda: app_state().start(_WORK, lambda docmind, report: docmind.snapshots.create(title, report=report)),
    )


def _draw(docmind: DocMind, info: SnapshotInfo) -> None:
    key = info.snapshot_id
    with st.container(border=True, key=f"snapshot-{key}", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{escape(info.title or _('Snapshot'), limit=120)}**")
            if info.is_automatic:
                st.badge(_("automatic"), color="gray")
            if info.is_pinned:
                st.badge(_("kept"), icon=":material/keep:", color="blue")
        told = [when(info.created_at_ms), documents(info.documents), size(info.bytes)]
        if info.erased:
            erased = ngettext("{n} erased since", "{n} erased since", info.erased)
            told.append(count(erased, info.erased))
        st.caption(" · ".join(told))
        with st.container(horizontal=True):
            st.button(
                _("What changed since"), key=f"compare-{key}", icon=":material/compare_arrows:", type="tertiary",
                on_click=_open, args=(_COMPARE, key),
            )  # fmt: skip
            if docmind.is_read_only:
                return
            st.button(
                _("Go back"), key=f"activate-{key}", icon=":material/history:", type="tertiary", on_click=_open,
                args=(_ACTIVATE, key),
            )  # fmt: skip
            st.button(
                _("Allow removal") if info.is_pinned else _("Keep"), key=f"pin-{key}", icon=":material/keep:",
                type="tertiary", help=_("Kept snapshots stay when old ones are removed"), on_click=_pin,
                args=(docmind, info),
            )  # fmt: skip
            st.button(
                _("Delete"), key=f"delete-{key}", icon=":material/delete:", type="tertiary", on_click=_open,
                args=(_DELETE, key),
            )  # fmt: skip
        errors.show_of(key)


def _draw_database(docmind: DocMind, database: KeptDatabase) -> None:
    with st.container(border=True, key=f"snapshot-{database.name}", gap="xsmall"):
        st.markdown(f"**{_('Database from before an update')}**")
        told = _("To put it back, close DocMind and run: {command}")
        st.caption(" · ".join((when(database.created_at_ms), size(database.bytes))))
        st.caption(told.format(command=f"`docmind snapshot rollback {database.name}`"))
        if not docmind.is_read_only:
            st.button(
                _("Delete"), key=f"delete-{database.name}", icon=":material/delete:", type="tertiary",
                on_click=errors.heed,
                args=(database.name, lambda: docmind.snapshots.remove_database(database.name)),
            )  # fmt: skip
        errors.show_of(database.name)


def _pin(docmind: DocMind, info: SnapshotInfo) -> None:
    errors.heed(info.snapshot_id, lambda: docmind.snapshots.pin(info.snapshot_id, pinned=not info.is_pinned))


def _open(what: str, snapshot_id: str) -> None:
    st.session_state[_DIALOG] = (what, snapshot_id)


def _close() -> None:
    st.session_state.pop(_DIALOG, None)


def _draw_dialog(docmind: DocMind) -> None:
    what, snapshot_id = st.session_state.get(_DIALOG, ("", ""))
    info = next((one for one in docmind.snapshots.list() if one.snapshot_id == snapshot_id), None)
    if info is not None:
        title, icon, draw = _DIALOGS[what]
        st.dialog(_(title), icon=f":material/{icon}:", on_dismiss=_close)(draw)(docmind, info)


def _compared(docmind: DocMind, info: SnapshotInfo) -> None:
    _lead(info)
    with st.spinner(_("Comparing…")):
        found = errors.attempt(lambda: docmind.snapshots.compare(info.snapshot_id))
    if isinstance(found, DocMindError):
        errors.show(found)
    else:
        _draw_difference(docmind, found)
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(_("Close"), key="snapshot-close", on_click=_close):
            st.rerun()


def _activated(docmind: DocMind, info: SnapshotInfo) -> None:
    _lead(info)
    with st.spinner(_("Comparing…")):
        found = errors.attempt(lambda: docmind.snapshots.compare(info.snapshot_id))
    if isinstance(found, DocMindError):
        errors.show(found)
        return
    st.write(
        _(
            "Documents that were added since go to the bin, documents that are gone come back, and names, tags and "
            "collections are as they were. A snapshot of the present state is taken first, so you can undo this."
        )
    )
    _draw_difference(docmind, found)
    settings = bool(found.settings) and st.checkbox(_("Bring back the settings too"), False, key="snapshot-settings")
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(_("Cancel"), key="snapshot-no", on_click=_close):
            st.rerun()
        if st.button(_("Go back"), key="snapshot-yes", type="primary", disabled=found.is_empty):
            app_state().start(
                _WORK,
                lambda opened, report: opened.snapshots.activate(info.snapshot_id, settings=settings, report=report),
            )
            _close()
            st.rerun()


def _deleted(docmind: DocMind, info: SnapshotInfo) -> None:
    _lead(info)
    st.write(_("The library stays as it is. Documents that only this snapshot holds are lost. This can't be undone."))
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(_("Keep"), key="snapshot-keep", on_click=_close):
            st.rerun()
        if st.button(_("Delete"), key="snapshot-delete", type="primary", icon=":material/delete_forever:"):
            outcome = errors.attempt(lambda: docmind.snapshots.remove(info.snapshot_id))
            if isinstance(outcome, DocMindError):
                errors.show(outcome)
                return
            _close()
            st.rerun()


def _lead(info: SnapshotInfo) -> None:
    st.markdown(f"**{escape(info.title or _('Snapshot'), limit=120)}**")
    st.caption(f"{when(info.created_at_ms)} · {documents(info.documents)}")


def _draw_difference(docmind: DocMind, found: SnapshotDifference) -> None:
    """Draw what changed, a line for each kind of change."""
    if found.is_empty:
        st.success(_("Nothing changed since."), icon=":material/check:")
        return
    for title, names in (
        (_("Added since"), [name for _doc_id, name in found.added]),
        (_("Gone since"), [name for _doc_id, name in found.gone]),
        (
            _("Changed since"),
            [f"{one.document} ({', '.join(_(change) for change in one.changes)})" for one in found.changed],
        ),
        (_("Settings changed since"), [_setting(docmind, one.name) for one in found.settings]),
    ):
        if names:
            more = len(names) - _SHOWN
            told = [f"- {escape(name, limit=120)}" for name in names[:_SHOWN]]
            if more > 0:
                told.append("- " + _("and {n} more").format(n=f"{more:,}"))
            st.markdown("\n".join((f"**{title}**", "", *told)))


def _setting(docmind: DocMind, name: str) -> str:
    """Return the title of a setting; the text model is none of them."""
    return docmind.settings.info(name).title if "." in name else _("Text model")


_DIALOGS = {
    _COMPARE: (N_("What changed since"), "compare_arrows", _compared),
    _ACTIVATE: (N_("Go back to this snapshot?"), "history", _activated),
    _DELETE: (N_("Delete this snapshot?"), "delete_forever", _deleted),
}


def _progress(going: LongWork) -> str:
    return _("Checking and writing… {percent} %").format(percent=round(100 * going.done / going.total))


def _outcome(going: LongWork) -> None:
    if going.error is not None:
        errors.show(going.error)
    elif isinstance(going.result, Activation):
        done = going.result
        st.success(
            _(
                "The library is as it was: {restored} brought back, {binned} moved to the bin, {changed} changed."
            ).format(restored=documents(done.restored), binned=documents(done.binned), changed=documents(done.changed)),
            icon=":material/check:",
        )
        if done.settings:
            st.caption(_("Settings that came back take effect when DocMind is opened the next time."))
    elif isinstance(going.result, SnapshotInfo):
        for name in going.result.left_out:
            errors.show_message(_("Left out, because its stored files are damaged: {name}").format(name=name))
