"""The Streamlit interface: `serving` is the app, `pages` its scripts, and the other packages what they are made of."""
