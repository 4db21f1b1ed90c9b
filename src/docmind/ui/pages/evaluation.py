"""The address that the section *Evaluation* of Settings once had as a page of its own: it leads there."""

from __future__ import annotations

import streamlit as st

from docmind.ui.app import state
from docmind.ui.evaluation import section
from docmind.wording import _

st.switch_page("settings.py", query_params={**st.query_params.to_dict(), state.SECTION: _(section.TITLE)})
