"""The section of Settings for readers of other packages: each with what it reads, and a switch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.reading import InstalledReader, installed_readers, reader_capabilities
from docmind.rich_text import escape, one_line
from docmind.ui.app import errors
from docmind.ui.settings import fields
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.application import DocMind

_SETTING = "reading.readers"


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
            _draw(docmind, reader, chosen, troubles.get(f"reader {reader.kind}", ""))
    fields.note(docmind.settings.info(_SETTING))
    errors.show_of(_key())


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
