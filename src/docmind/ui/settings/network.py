"""The section of Settings that shows what tried to reach other machines, and what was allowed to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.records.network import PARTS, PURPOSES, NetworkLedger
from docmind.ui.app.format import count, when
from docmind.wording import _, ngettext

if TYPE_CHECKING:
    from docmind.application import DocMind


def section(docmind: DocMind) -> None:
    """Draw how many attempts were refused since the start, and tables of the addresses."""
    ledger = docmind.network.report()
    st.subheader(_("Network"), anchor=False)
    since = when(ledger.since_ms)
    told = ngettext(
        "{n} attempt to reach another computer was refused since {time}.",
        "{n} attempts to reach another computer were refused since {time}.",
        ledger.attempts,
    )
    st.markdown(count(told.replace("{time}", since), ledger.attempts))
    if not ledger.is_guarded:
        st.caption(_("Only DocMind's own requests and child processes are counted: the guard is not in use."))
    if ledger.refused:
        st.dataframe(
            [
                {_("Address"): _named(one.place), _("Tried by"): _(PARTS[one.part]), _("Refused"): one.count}
                for one in ledger.refused
            ],
            hide_index=True,
            key="network-refused",
        )
    _allowed(ledger)


def _allowed(ledger: NetworkLedger) -> None:
    if not ledger.allowed:
        st.caption(_("No other computer was contacted."))
        return
    st.markdown(_("Computers that were contacted, as your settings allow:"))
    st.dataframe(
        [
            {_("Address"): _named(one.place), _("For"): _(PURPOSES[one.purpose]), _("Requests"): one.count}
            for one in ledger.allowed
        ],
        hide_index=True,
        key="network-allowed",
    )


def _named(place: str) -> str:
    return place or _("other addresses")
