"""The section of Settings that carries the library to another computer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from docmind.errors import ConfigError
from docmind.records.bundles import SUFFIX, BundleInfo, BundleReport
from docmind.rich_text import escape
from docmind.ui.app import errors, long_work
from docmind.ui.app.app_state import app_state
from docmind.ui.app.format import documents, size
from docmind.ui.app.long_work import LongWork
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.application import DocMind

_WORK = "bundle"
_WRITE, _READ = "bundle-write", "bundle-read"
_TO, _NEW, _AGAIN = "bundle-to", "bundle-new", "bundle-again"
_FROM, _OLD, _ERASED = "bundle-from", "bundle-old", "bundle-erased"


def section(docmind: DocMind) -> None:
    """Draw the forms that write and read a bundle, and how far that is."""
    st.subheader(_("Move or back up"), anchor=False)
    st.caption(
        _("One encrypted file takes documents, conversations and memories to another computer, or keeps a copy.")
    )
    going = app_state().work(_WORK)
    if going is not None and not going.is_over:
        long_work.draw(going, _progress, key=_WORK)
        return
    if going is not None:
        _outcome(going)
    with st.expander(_("Export library…"), icon=":material/archive:"), st.form(_WRITE, border=False):
        st.text_input(_("New file"), key=_TO, placeholder=str(Path.home() / f"library{SUFFIX}"))
        st.text_input(_("New passphrase"), type="password", key=_NEW, autocomplete="new-password")
        st.text_input(_("New passphrase again"), type="password", key=_AGAIN, autocomplete="new-password")
        st.caption(
            _("Whoever has the file and the passphrase can read everything. Without it nobody can, not even you.")
        )
        st.form_submit_button(_("Write"), on_click=_write)
    errors.show_of(_WRITE)
    if docmind.is_read_only:
        return
    with st.expander(_("Import library…"), icon=":material/unarchive:"), st.form(_READ, border=False):
        st.text_input(_("File"), key=_FROM, placeholder=str(Path.home() / f"library{SUFFIX}"))
        st.text_input(_("Passphrase of the bundle"), type="password", key=_OLD, autocomplete="off")
        st.caption(_("What the library lacks is added. Nothing is replaced."))
        st.checkbox(_("Also documents that were erased from this library"), key=_ERASED)
        st.form_submit_button(_("Read"), on_click=_read)
    errors.show_of(_READ)


def _write() -> None:
    path, new, again = (str(st.session_state.get(key, "")) for key in (_TO, _NEW, _AGAIN))

    def begin() -> None:
        if new != again:
            raise ConfigError(_("The two passphrases differ. Nothing was written."), hint=_("Type them again."))
        place = _path(path)
        app_state().start(_WORK, lambda docmind, report: docmind.bundles.write(place, new, report))

    errors.heed(_WRITE, begin)
    st.session_state[_NEW] = st.session_state[_AGAIN] = ""


def _read() -> None:
    path, passphrase = (str(st.session_state.get(key, "")) for key in (_FROM, _OLD))
    with_erased = bool(st.session_state.get(_ERASED))

    def begin() -> None:
        place = _path(path)
        app_state().start(
            _WORK, lambda docmind, report: docmind.bundles.read(place, passphrase, report, with_erased=with_erased)
        )

    errors.heed(_READ, begin)
    st.session_state[_OLD] = ""


def _path(text: str) -> Path:
    path = Path(text.strip()).expanduser()
    if not text.strip() or not path.is_absolute():
        raise ConfigError(
            _("{text} isn't the whole path of a file.").format(text=repr(text)),
            hint=_("Write it from the top, such as {example}.").format(example=Path.home() / f"library{SUFFIX}"),
        )
    return path


def _progress(going: LongWork) -> str:
    return _("Writing and checking… {percent} %").format(percent=round(100 * going.done / going.total))


def _outcome(going: LongWork) -> None:
    if going.error is not None:
        errors.show(going.error)
    elif isinstance(going.result, BundleInfo):
        info = going.result
        st.success(
            _("The bundle is written: {documents}, {size}.").format(
                documents=documents(info.documents), size=size(info.bytes)
            ),
            icon=":material/check:",
        )
        for name in info.left_out:
            errors.show_message(_("Left out, because its stored files are damaged: {name}").format(name=name))
    elif isinstance(going.result, BundleReport):
        st.success(
            _("Imported: {documents} added.").format(documents=documents(going.result.documents)),
            icon=":material/check:",
        )
        for name in going.result.erased:
            st.caption(_("Left out, because it was erased here: {name}").format(name=escape(name, limit=80)))
        if not going.result.is_embedded:
            st.caption(
                _("Another text model made its vectors. Press Rebuild index, under Search, to search it by meaning.")
            )
