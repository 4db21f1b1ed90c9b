"""The app's addresses without Streamlit: the desk of a test, and a client that asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from desks import environment_of
from docmind.access import Launch
from docmind.application import DocMind
from docmind.ui.app.app_state import app_state
from docmind.ui.app.routes import Routes
from libraries import EMPTY, Library


def desk_in(folder: Path, monkeypatch: pytest.MonkeyPatch, library: Library = EMPTY) -> Iterator[DocMind]:
    """Open the desk of the app over a copy of a library in `folder`, and close it again; for a fixture."""
    library.copy_to(folder)
    for name, value in environment_of(folder).items():
        monkeypatch.setenv(name, value)
    app_state.clear()
    yield app_state().open()
    app_state.clear()


def launched() -> Launch:
    """Return a start of the app whose path is known."""
    launch = Launch()
    launch.place("")
    return launch


def served(launch: Launch, routes: Sequence[Route], *outer: Middleware) -> Starlette:
    """Return an app of these routes before a page in Streamlit's place."""
    streamlit = Route("/{path:path}", lambda _: PlainTextResponse("the page"))
    return Starlette(routes=[streamlit], middleware=[*outer, Middleware(Routes, launch=launch, routes=routes)])


def client_of(routes: Sequence[Route], launch: Launch | None = None) -> TestClient:
    """Return a client of `served`."""
    launch = launch or launched()
    return TestClient(served(launch, routes), base_url=f"http://127.0.0.1{launch.base}")
