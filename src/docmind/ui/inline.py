"""A picture as an address that holds it: it comes with the page, and is there however the page was drawn.

A file of its own is dropped by the server when a run of the page is cut short, and the browser asks only once.
"""

from __future__ import annotations

import base64


def inline(jpeg: bytes) -> str:
    """The address of a JPEG."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"
