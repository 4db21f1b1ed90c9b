"""The pages of the app: scripts that Streamlit runs, and that nothing imports. `start.py` runs before each of them."""
