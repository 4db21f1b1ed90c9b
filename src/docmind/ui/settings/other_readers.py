"""The section of Settings for readers of other packages: each with what it reads, and a switch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.reading import (
    InstalledReader,
    installed_readers,
    is_better_by_readers,
    is_for_readers,
    readable_now,
    reader_capabilities,
)
from docmind.rich_text import escape, one_line
from docmind.ui.app import errors, long_work
from docmind.ui.app.app_state import app_state
from docmind.ui.app.long_work import LongWork
from docmind.ui.settings import fields
from docmind.wording import _, ngettext, number_text

if TYPE_CHECKING:
    from docmind.application import DocMind

_SETTING = "reading.readers"
_WORK = "readers-again"


def section(docmind: DocMind) -> None:
    """Draw the readers that installed packages offer; nothing where there is none."""
    readers = installed_readers()
    if not readers:
        return
    st.subheader(_("Readers of other packages"), anchor=False)
    st.caption(_("Code of others, run apart: without a network, and on Linux without other files of yours."))
    chosen = docmind.settings.now.reading.chosen_readers()
    capabilities = reader_capabilities(docmind.settings.now.reading)
    troubles = {one.name: one.detail for one in capabilities if one.state == "missing"}
    with st.container(border=True, gap="xsmall", key="other-readers"):
        for reader in readers:
            _draw(docmind, reader, chosen, reader.trouble or troubles.get(f"reader {reader.kind}", ""))
    fields.note(docmind.settings.info(_SETTING))
    errors.show_of(_key())
    _offer(docmind)


def _offer(docmind: DocMind) -> None:
    """Offer to read again what was read as an archive or a text, or refused, before its reader was turned on."""
    going = app_state().work(_WORK)
    if going is not None and not going.is_over:
        long_work.draw(going, _progress, key=_WORK)
        return
    if going is not None:
        app_state().forget(_WORK)
        if going.error is not None:
            errors.show(going.error)
    settings = docmind.settings.now.reading
    if docmind.is_read_only or not settings.chosen_readers():
        return
    doc_ids = tuple(info.doc_id for info in docmind.documents.all() if is_better_by_readers(info, settings))
    refused = tuple(one.upload_id for one in docmind.queue.uploads("failed") if is_for_readers(one.document, settings))
    if doc_ids or refused:
        st.info(readable_now(len(doc_ids), len(refused)), icon=":material/extension:")
        st.button(_("Read again"), key="readers-again", on_click=_read_again, args=(docmind, doc_ids, refused))


def _read_again(docmind: DocMind, doc_ids: tuple[str, ...], refused: tuple[int, ...]) -> None:
    if refused:
        docmind.queue.retry(refused)
    if doc_ids:
        app_state().start(_WORK, lambda library, report: _read_all(library, doc_ids, report))


def _read_all(library: DocMind, doc_ids: tuple[str, ...], report: long_work.Report) -> None:
    for done, doc_id in enumerate(doc_ids):
        report(done, len(doc_ids))
        library.documents.read_again(doc_id)
    report(len(doc_ids), len(doc_ids))


def _progress(going: LongWork) -> str:
    told = ngettext("{done} of {n} document", "{done} of {n} documents", going.total)
    return told.format(done=number_text(going.done), n=number_text(going.total))


def _draw(docmind: DocMind, reader: InstalledReader, chosen: tuple[str, ...], trouble: str) -> None:
    key = f"reader-{reader.kind}-{reader.package}"
    st.session_state[key] = reader.kind in chosen and not reader.trouble
    told = _("Use the reader {name} for .{ending} files").format(
        name=escape(reader.package), ending=escape(reader.kind)
    )
    info = docmind.settings.info(_SETTING)
    is_fixed = info.is_fixed or docmind.is_read_only or bool(reader.trouble)
    st.toggle(told, key=key, disabled=is_fixed, on_change=_switch, args=(reader.kind, key, chosen))
    about = (reader.version, reader.licence, reader.about)
    st.caption(escape(one_line(" · ".join(filter(None, about)))))
    if trouble:
        st.warning(escape(one_line(trouble)), icon=":material/extension_off:")


def _switch(kind: str, key: str, chosen: tuple[str, ...]) -> None:
    others = [each for each in chosen if each != kind]
    wanted = [*others, kind] if st.session_state[key] else others
    fields.apply(_key(), {_SETTING: ",".join(wanted)})


def _key() -> str:
    return fields.key_of(_SETTING)
