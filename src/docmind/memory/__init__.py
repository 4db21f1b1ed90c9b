"""Remembered facts in `vault.db`: a LangGraph store, searched with sqlite-vec or, without it, by brute force."""
