"""Where the scripts of the pages lie, which Streamlit runs: `pages` of a checkout, `docmind/ui/scripts` of a wheel.

The wheel takes them from there (`pyproject.toml`). They are a few lines each; what they draw is `docmind.ui.pages`.
Both the program that serves and the app that it serves name them, and the first must not import the second.
"""

from __future__ import annotations

from pathlib import Path

from docmind.config import checkout


def start_script() -> Path:
    """Return the script that runs before each page; those of the pages lie beside it."""
    root = checkout()
    return (root / "pages" if root is not None else Path(__file__).with_name("scripts")) / "start.py"
