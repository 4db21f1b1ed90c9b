"""The library: a table of all documents drawn in the browser, what is done with those selected, and the bin."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from docmind.documents import DRAWN, EDITED, FIELDS, MENUS
from docmind.errors import DocMindError
from docmind.maintenance import told as about_receipt
from docmind.records.documents import DocumentInfo, ErasureReceipt, beneath_parents
from docmind.rich_text import escape, one_line
from docmind.ui.app import errors, page_view, state
from docmind.ui.app.browser_part import browser_part
from docmind.ui.app.format import count, kind, size, when
from docmind.ui.documents import comparing, reading_again, upload
from docmind.wording import N_, _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind

_FOLDER = Path(__file__).parent
_TROUBLE = "library"
_SHOWN = 50  # rows of the bin
_LOOK_S, _UNDO_S = 2.0, 15.0
TAG, COLLECT, RENAME, PURGE, EMPTY, READ_AGAIN = "tag", "collect", "rename", "purge", "empty", "read_again"
_RECEIPTS = "receipts"


def draw_list(docmind: DocMind, *, ask_collection: Callable[[str], None]) -> None:
    """Draw the table; its rows come from `served`, not through the run of the page.

    `ask_collection` begins a conversation that asks one collection only.
    """
    errors.show_of(_TROUBLE)
    draw_undo(docmind)
    data = {
        "words": _words(),
        "columns": [
            {"name": one.name, "label": _(one.label), "drawn": one.drawn, "width": one.width, "rank": one.rank}
            for one in DRAWN
        ],
        "found": [one.name for one in FIELDS if one.is_found],
        "menus": [{"name": one.name, "label": _(one.label_of_one), "every": _(one.menu)} for one in MENUS],
        "embeds": errors.attempt(lambda: docmind.visual.is_on("late")) is True,
        "turn": st.session_state.get(state.LIBRARY_TURN, 0),
    }
    browser_part(_FOLDER, "library", data=data, key=state.LIBRARY, on_act_change=lambda: _act(docmind, ask_collection))


def _words() -> dict[str, Any]:
    return {
        "library": _("Documents"),
        "find": _("Find by title, name or tag"),
        "today": _("Added today"),
        "week": _("Last 7 days"),
        "month": _("Last 31 days"),
        "year": _("Last 12 months"),
        "states": {
            "reading": _("Waiting"),
            "paused": _("Paused"),
            "stopped": _("Stopped"),
            "failed": _("Failed"),
        },
        "clear": _("Clear filters"),
        "ask": _("Ask this collection"),
        "none": _("No documents match."),
        "whole": _("{documents}, {pages}, encrypted on this computer"),
        "one": _("1 document"),
        "many": _("{n} documents"),
        "some": _("{n} of {all} documents"),
        "done": _("{n} of {all} pages"),
        "page": _("1 page"),
        "pages": _("{n} pages"),
        "all": _("Select all"),
        "select": _("Select {name}"),
        "selection": _("Selected documents"),
        "selected": _("{n} selected"),
        "select_all": _("Select all {n}"),
        "unselect": _("Clear selection"),
        "tag_them": _("Tag"),
        "collect": _("Add to collection"),
        "fetch": _("Download"),
        "compare": _("Compare"),
        "embed": _("Embed"),
        "delete": _("Delete"),
        "go_on": _("Resume"),
        "versions": _("{n} versions"),
        "compare_newest": _("Compare with the newest version"),
    }


def _act(docmind: DocMind, ask_collection: Callable[[str], None]) -> None:
    """Do what the table was told. What comes from the browser is checked like any input."""
    told = (st.session_state.get(state.LIBRARY) or {}).get("act") or {}
    ids = tuple(one for one in told.get("ids", ()) if isinstance(one, str))
    what = told.get("what")
    if not ids:
        return
    if what == "ask":
        ask_collection(ids[0])
    elif what == "open":
        open_document(ids[0])
    elif what == "delete":
        move_to_bin(docmind, ids)
    elif what == "compare" and len(ids) == 2:
        _compare(docmind, ids)
    elif what == "embed":
        st.session_state[state.EMBEDDING] = ids
    elif what == "resume":
        upload.put_back(docmind, ids[0])
    elif what in (TAG, COLLECT):
        st.session_state[state.LIBRARY_DIALOG] = (what, ids)


def _compare(docmind: DocMind, ids: Sequence[str]) -> None:
    """Compare two documents, the earlier one first."""

    def work() -> None:
        before, after = sorted(map(docmind.documents.get, ids), key=_age)
        comparing.open_comparison(before.doc_id, after.doc_id)
        _unselect()

    errors.heed(_TROUBLE, work)


def _age(info: DocumentInfo) -> tuple[str, int]:
    return info.dated, info.added_at_ms


def open_document(doc_id: str) -> None:
    """Open one document: the address names it, so that reload and Back work. For callbacks."""
    st.query_params[state.OPEN_DOCUMENT] = doc_id


def close_document() -> None:
    """Go back to the table. For callbacks."""
    for name in (state.OPEN_DOCUMENT, state.OPEN_BIN):
        st.query_params.pop(name, None)


def _unselect() -> None:
    st.session_state[state.LIBRARY_TURN] = st.session_state.get(state.LIBRARY_TURN, 0) + 1


# --- deletion


def move_to_bin(docmind: DocMind, doc_ids: Sequence[str]) -> None:
    """Move documents to the bin; ask first where one would be gone for good. For callbacks."""

    def work() -> None:
        infos = [docmind.documents.get(doc_id) for doc_id in doc_ids]
        if not docmind.documents.bin_days or any(info.status != "ready" for info in infos):
            ask(PURGE, doc_ids)
            return
        st.session_state[state.BINNED] = (time.time(), docmind.documents.bin(doc_ids))
        page_view.drop_images()
        close_document()
        _unselect()

    errors.heed(_TROUBLE, work)


def draw_undo(docmind: DocMind) -> None:
    """Draw what was moved to the bin just now, with *Undo*, over the page for some seconds."""
    if st.session_state.get(state.BINNED):
        st.fragment(_draw_undo, run_every=_LOOK_S)(docmind)


def _draw_undo(docmind: DocMind) -> None:
    at, binned = st.session_state.get(state.BINNED, (0.0, ()))
    if not binned:
        return
    if time.time() - at > _UNDO_S:  # the bin has it
        _dismiss()
        st.rerun()
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="news-bin"):
        if len(binned) == 1:
            told = _("“{name}” is in the bin.").format(name=escape(binned[0].document, limit=80))
        else:
            told = _("{n} documents are in the bin.").format(n=f"{len(binned):,}")
        st.markdown(told, width="stretch")
        ids = tuple(info.doc_id for info in binned)
        if st.button(_("Undo"), key="bin-undo", icon=":material/undo:", on_click=_restore, args=(docmind, ids)):
            st.rerun()
        if st.button(_("Dismiss"), key="bin-dismiss", type="tertiary", on_click=_dismiss):
            st.rerun()


def _receipts(docmind: DocMind, _ids: tuple[str, ...]) -> None:
    """Draw what was erased, what was found of it afterwards, and the way to save each receipt."""
    receipts: tuple[ErasureReceipt, ...] = st.session_state.get(state.RECEIPT, ())
    if not receipts:  # all were erased in another tab meanwhile
        st.write(_("There was nothing left to erase."))
    else:
        unclean = [receipt for receipt in receipts if not receipt.is_clean]
        show = st.warning if unclean else st.success
        show(f"{_erased(receipts)} {about_receipt((unclean or list(receipts))[0])}", icon=":material/delete:")
    for receipt in receipts:
        if receipt.is_finished:
            _draw_receipt(docmind, receipt)
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(_("Close"), key="receipts-dismiss", type="primary", on_click=_drop_receipts):
            st.rerun()


def _erased(receipts: Sequence[ErasureReceipt]) -> str:
    if len(receipts) == 1:
        return _("“{name}” was erased.").format(name=escape(receipts[0].document, limit=80))
    return _("{n} documents were erased.").format(n=f"{len(receipts):,}")


def _draw_receipt(docmind: DocMind, receipt: ErasureReceipt) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            _("Save receipt"),
            docmind.erasures.text_of(receipt),
            file_name=f"erasure-{receipt.doc_id[:12]}.json",
            mime="application/json",
            icon=":material/receipt_long:",
            key=f"receipt-{receipt.doc_id}",
            on_click="ignore",
        )
        st.caption(f"{escape(receipt.document, limit=60)} · {receipt.doc_id[:12]}")
    with st.expander(_("What was erased and checked"), key=f"receipt-facts-{receipt.doc_id}"):
        st.json({"erased": dict(receipt.erased), "found": dict(receipt.found), "files": receipt.files})


def _drop_receipts() -> None:
    st.session_state.pop(state.RECEIPT, None)
    _close()


def _restore(docmind: DocMind, doc_ids: Sequence[str]) -> None:
    errors.heed(_TROUBLE, lambda: docmind.documents.restore(doc_ids))
    _dismiss()


def _dismiss() -> None:
    st.session_state.pop(state.BINNED, None)


# --- the bin


def draw_bin_link(docmind: DocMind) -> None:
    """Draw the way to the bin, where there is anything in it."""
    number = len(docmind.documents.binned())
    if number:
        label = _("Bin ({n})").format(n=f"{number:,}")
        st.button(label, key="bin-open", icon=":material/delete:", type="tertiary", on_click=_open_bin)


def _open_bin() -> None:
    _dismiss()
    st.query_params[state.OPEN_BIN] = "1"


def draw_bin(docmind: DocMind) -> None:
    """Draw the documents in the bin, each to be restored or deleted permanently."""
    binned = docmind.documents.binned()
    errors.show_of(_TROUBLE)
    st.button(_("All documents"), icon=":material/arrow_back:", type="tertiary", on_click=close_document)
    draw_undo(docmind)
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        st.title(_("Bin"), anchor=False, width="content")
        if binned:
            st.button(_("Empty bin"), key="bin-empty", icon=":material/delete_forever:", on_click=ask, args=(EMPTY, ()))
    if not binned:
        st.caption(_("The bin is empty."))
        return
    days = f"{docmind.documents.bin_days:g}"
    st.caption(_("Documents are deleted permanently after {n} days. Searches don't find them here.").format(n=days))
    for info, depth in beneath_parents(binned)[:_SHOWN]:
        with st.container(horizontal=True, vertical_alignment="center", key=f"binned-{info.doc_id}"):
            with st.container(gap=None):
                st.markdown(escape(info.label, limit=90))
                facts = (
                    kind(info.kind),
                    count(ngettext("{n} page", "{n} pages", info.pages), info.pages),
                    size(info.bytes),
                )
                deleted = _("deleted {when}").format(when=when(info.deleted_at_ms or 0))
                name = (info.document,) if info.label != info.document else ()
                place = (info.parent.place,) if depth and info.parent is not None else ()
                st.caption(" · ".join(map(escape, (*name, *place, *facts, deleted))))
            st.button(
                _("Restore"),
                key=f"restore-{info.doc_id}",
                icon=":material/restore_from_trash:",
                on_click=_restore,
                args=(docmind, (info.doc_id,)),
            )
            st.button(
                _("Erase for good"),
                key=f"purge-{info.doc_id}",
                type="tertiary",
                on_click=ask,
                args=(PURGE, (info.doc_id,)),
            )
    if len(binned) > _SHOWN:
        st.caption(_("{n} more are not shown.").format(n=f"{len(binned) - _SHOWN:,}"))


# --- dialogs


def ask(what: str, doc_ids: Sequence[str]) -> None:
    """Open a dialog about these documents. For callbacks."""
    st.session_state[state.LIBRARY_DIALOG] = (what, tuple(doc_ids))


def _close() -> None:
    st.session_state.pop(state.LIBRARY_DIALOG, None)


def draw_dialog(docmind: DocMind) -> None:
    """Draw the dialog that is open."""
    what, ids = st.session_state.get(state.LIBRARY_DIALOG, ("", ()))
    if what == EMPTY:
        ids = tuple(info.doc_id for info in docmind.documents.binned())
    if what and ids:
        title, icon, draw = _DIALOGS[what]
        st.dialog(_(title), icon=f":material/{icon}:", on_dismiss=_close)(draw)(docmind, ids)


def _finish(outcome: object, *, unselects: bool = False) -> None:
    """Close the dialog, or show in it why its work failed."""
    if isinstance(outcome, DocMindError):
        errors.show(outcome)
        return
    _close()
    if unselects:
        _unselect()
    st.rerun()


def _tag(docmind: DocMind, ids: tuple[str, ...]) -> None:
    """Draw a field for new tags, with those that are used below it: no list lies over the button, and Enter saves."""
    st.caption(_selected(len(ids)))
    carried = sorted({tag for info in docmind.documents.all() if info.doc_id in ids for tag in info.tags})
    with st.form("tags-form", border=False):
        typed = st.text_input(_("New tags"), key="tags-new", placeholder=_("Several are separated by commas"))
        added = _tags_of(_("Add tags"), docmind.documents.tags(), "tags-add")
        removed = _tags_of(_("Remove tags"), carried, "tags-remove")
        wanted = st.form_submit_button(_("Save"), key="tags-yes", type="primary")
    added += [tag for one in typed.split(",") if (tag := one.strip())]
    if wanted and (added or removed):
        _finish(errors.attempt(lambda: docmind.documents.tag(ids, add=added, remove=removed)))


def _tags_of(label: str, tags: Iterable[str], key: str) -> list[str]:
    """Draw tags to choose from, and return those that are chosen."""
    known = list(tags)
    if not known:
        return []
    return list(
        st.pills(label, known, selection_mode="multi", key=key, format_func=lambda tag: escape(tag, limit=40)) or ()
    )


def _collect(docmind: DocMind, ids: tuple[str, ...]) -> None:
    known = {one.collection_id: one.name for one in docmind.documents.collections()}
    st.caption(_selected(len(ids)))
    chosen = st.selectbox(
        _("Collection"),
        list(known),
        index=None,
        format_func=lambda one: known.get(str(one), str(one)),
        key="collection",
        accept_new_options=True,
        placeholder=_("Choose a collection or type a new name"),
    )

    def work() -> None:
        if chosen in known:
            docmind.documents.collect(chosen, ids)
        else:
            docmind.documents.new_collection(chosen or "", ids)

    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(_("Cancel"), key="collection-no", on_click=_close):
            st.rerun()
        if st.button(_("Add"), key="collection-yes", type="primary", disabled=not chosen):
            _finish(errors.attempt(work), unselects=True)


def _rename(docmind: DocMind, ids: tuple[str, ...]) -> None:
    (doc_id,) = ids
    info = docmind.documents.get(doc_id)
    placeholders = {"title": one_line(info.heading), "dated": "2024-03-31"}
    before = {column.name: one_line(getattr(info, column.name)) for column in EDITED}
    typed = {
        column.name: st.text_input(
            _(column.label),
            before[column.name],
            key=f"edit-{column.name}",
            max_chars=column.most,
            placeholder=placeholders.get(column.name),
        )
        for column in EDITED
    }
    st.caption(_("The original file keeps its content. An empty title is taken from the first page."))
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(_("Cancel"), key="rename-no", on_click=_close):
            st.rerun()
        if st.button(_("Save"), key="rename-yes", type="primary"):
            new = {name: value for name, value in typed.items() if value != before[name]}
            _finish(errors.attempt(lambda: docmind.documents.edit(doc_id, **new)))


def _read_again(docmind: DocMind, ids: tuple[str, ...]) -> None:
    if reading_again.draw_form(docmind, docmind.documents.get(ids[0])):
        _finish(None)


def _erase(docmind: DocMind, ids: tuple[str, ...]) -> None:
    names = [info.document for info in (*docmind.documents.all(), *docmind.documents.binned()) if info.doc_id in ids]
    st.markdown(f"**{escape(names[0], limit=120)}**" if len(names) == 1 else f"**{_selected(len(names))}**")
    st.write(
        _(
            "The pages, everything found in them and the encrypted original are erased. The library is compacted, all "
            "its files are searched for the text, and you get a receipt. This can't be undone. Files outside DocMind "
            "aren't changed."
        )
    )
    quotes = st.checkbox(
        _("Erase its quotes in conversations"),
        True,
        key="purge-quotes",
        help=_("The questions and the other sources stay. In place of the quotes they say “erased”."),
    )
    memories = st.checkbox(_("Forget memories that stand in it or name it"), False, key="purge-memories")
    held = docmind.snapshots.kept_in_any(ids)
    snapshots = bool(held) and st.checkbox(
        count(ngettext("Erase it in {n} snapshot too", "Erase it in {n} snapshots too", len(held)), len(held)),
        True,
        key="purge-snapshots",
        help=_("Otherwise these snapshots keep it, and going back to one brings it back."),
    )
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(_("Keep"), key="purge-no", on_click=_close):
            st.rerun()
        wanted = st.button(_("Erase for good"), key="purge-yes", type="primary", icon=":material/delete_forever:")
    if not wanted:
        return
    bar = st.progress(0.0, _("Erasing…"))

    def tell(step: str, number: int, total: int) -> None:
        bar.progress((number - 1) / total, f"{_('Erasing…')} {_(step)}")

    there = [doc_id for doc_id in ids if _is_there(docmind, doc_id)]  # the others were erased in another tab meanwhile
    outcome = errors.attempt(
        lambda: docmind.erasures.erase(
            there, conversations=quotes, memories=memories, snapshots=snapshots, progress=tell
        )
    )
    if not isinstance(outcome, DocMindError):
        page_view.drop_images()
        st.session_state[state.RECEIPT] = outcome
        if st.query_params.get(state.OPEN_DOCUMENT) in ids:
            close_document()
        _unselect()
        ask(_RECEIPTS, ids)  # the receipt takes the place of the question
        st.rerun()
    errors.show(outcome)


def _is_there(docmind: DocMind, doc_id: str) -> bool:
    return any(info.doc_id == doc_id for info in (*docmind.documents.all(), *docmind.documents.binned()))


def _selected(number: int) -> str:
    return ngettext("{n} document", "{n} documents", number).format(n=f"{number:,}")


_DIALOGS = {
    TAG: (N_("Tags"), "label", _tag),
    COLLECT: (N_("Add to collection"), "folder_special", _collect),
    RENAME: (N_("Rename"), "edit", _rename),
    READ_AGAIN: (N_("Read again"), "scanner", _read_again),
    PURGE: (N_("Erase for good?"), "delete_forever", _erase),
    EMPTY: (N_("Empty the bin?"), "delete_forever", _erase),
    _RECEIPTS: (N_("Erased"), "receipt_long", _receipts),
}
