"""One part that may be there, as a line: what it is called, what it gives, whether it is present, how to add it."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from docmind.escape import escape, one_line
from docmind.schema import Capability, CapabilityState

_COLOURS: dict[CapabilityState, Literal["green", "orange", "gray"]] = {
    "present": "green",
    "missing": "orange",
    "off": "gray",
}
_ICONS: dict[CapabilityState, str] = {
    "present": ":material/check:",
    "missing": ":material/download:",
    "off": ":material/toggle_off:",
}


def draw(capability: Capability) -> None:
    """The hint, a command or a variable, stands below for as long as the part is not present."""
    name, detail, state = st.columns([0.2, 0.62, 0.18], vertical_alignment="center")
    name.markdown(f"**{escape(capability.name)}**")
    detail.caption(escape(capability.detail))
    with state:
        st.badge(capability.state, icon=_ICONS[capability.state], color=_COLOURS[capability.state])
    if capability.hint and capability.state != "present":
        st.code(one_line(capability.hint), language=None, wrap_lines=True)
