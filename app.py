"""`streamlit run app.py` in a checkout; `docmind app` serves the same from any folder. See `docmind.ui.serving`."""

import streamlit as st

from docmind.ui import serving

app = st.App(**serving.PARTS)
