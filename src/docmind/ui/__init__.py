"""What the Streamlit pages share. Each module is one noun; the pages under `pages/` put them together."""
