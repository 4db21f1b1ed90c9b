"""Chromium for tests: with a profile that keeps the scripts of the app, and with contexts that keep nothing."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

_ARGUMENTS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-domain-reliability",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
]
WINDOW = {"width": 1280, "height": 900}


class Browsers:
    """Chromium, driven by playwright, with and without a profile; each is started when it is first needed.

    A context without a profile compiles Streamlit's scripts in each tab, which is half of what a tab costs. A profile
    keeps them as they were compiled. It keeps cookies and storage too: `served.tab` clears them before each use.
    """

    def __init__(self, playwright: Any, program: str, closing: ExitStack) -> None:
        self._chromium, self._closing = playwright.chromium, closing
        arguments = list(_ARGUMENTS)
        if getattr(os, "geteuid", lambda: 1)() == 0:
            arguments.append("--no-sandbox")  # Chromium refuses to sandbox itself for root
        self._options = {"executable_path": program, "args": arguments}

    @cached_property
    def _plain(self) -> Any:
        started = self._chromium.launch(**self._options)
        self._closing.callback(started.close)
        return started

    @cached_property
    def profile(self) -> Any:
        """The context of the profile; its first page stays empty."""
        folder = self._closing.enter_context(
            tempfile.TemporaryDirectory(prefix="docmind-profile-", ignore_cleanup_errors=True)
        )
        started = self._chromium.launch_persistent_context(Path(folder), viewport=WINDOW, **self._options)
        self._closing.callback(started.close)
        return started

    def new_context(self, **options: Any) -> Any:
        """Return a new context without a profile, as playwright's browsers do."""
        return self._plain.new_context(**options)

    def new_page(self, **options: Any) -> Any:
        """Return a page in a new context without a profile."""
        return self._plain.new_page(**options)
