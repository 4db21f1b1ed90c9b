"""The Streamlit interface: the components that the pages under `pages/` are made of."""
