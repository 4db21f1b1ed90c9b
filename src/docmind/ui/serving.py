"""The app as Streamlit serves it: its pages, what stands before them, and its start and end.

`docmind app` serves `app`. `streamlit run app.py` in a checkout serves another one of the same `PARTS`, because
Streamlit looks for `st.App(…)` in the text of the file that it is given.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.formparsers import MultiPartParser
from starlette.middleware import Middleware

from docmind.access import Launch
from docmind.api.budget import Budget, Purse
from docmind.api.connections import BrokenOff, bound_connections
from docmind.api.door import Door
from docmind.api.mcp_http import Mcp
from docmind.api.metrics import MetricsPage
from docmind.api.programs import Programs
from docmind.api.rest import Rest
from docmind.config import Settings
from docmind.errors import DocMindError
from docmind.observability import process_metrics
from docmind.storage import keep_private
from docmind.ui.app import options
from docmind.ui.app.activity import Noted
from docmind.ui.app.app_state import app_state
from docmind.ui.app.errors import attempt
from docmind.ui.app.guard import Guard, inline_script_sources
from docmind.ui.app.routes import Routes
from docmind.ui.app.startup import Startup
from docmind.ui.app.streamlit_server import ClosedTabs
from docmind.ui.documents import served as documents
from docmind.ui.page_scripts import start_script
from docmind.ui.reader import served as reader

if TYPE_CHECKING:
    from docmind.application import DocMind

options.start_again_where_bound_wide()  # before anything is opened
keep_private()
# Uploads above this go through a temporary file, readable on the disk; keep them in memory instead.
MultiPartParser.spool_max_size = 4 << 30

_HERE = Path(__file__).resolve().parent
START = start_script()
# Streamlit puts the folder of the script into sys.path and takes it out again in every run of a page. An import that
# another thread has under way then skips an entry of sys.path and does not find its module. So the folder is there all
# the time, behind all others: at the front its modules would hide those of that name.
_PAGES = str(START.parent)
sys.path[:] = [*(place for place in sys.path if place != _PAGES), _PAGES]

_SCRIPT = _HERE / "chat" / "visual_search.html"  # its module would be loaded before the port
_SCRIPTS = inline_script_sources(Path(st.__file__).parent / "static" / "index.html") + inline_script_sources(_SCRIPT)

_LAST_ANSWERS_S = 3  # what programs asked for is answered at the end of the app, for so long
_settings = attempt(Settings.load)
startup = Startup(None if isinstance(_settings, DocMindError) else _settings)


@asynccontextmanager
async def _lifespan(_: st.App) -> AsyncIterator[None]:
    """Open the vault while the browser loads the page, which reports errors and tries again."""
    await run_in_threadpool(startup.begin)
    threading.Thread(target=_open, name="open", daemon=True).start()
    door = Door(startup.listening, Launch(), _vault, _purse) if startup.listening is not None else None
    serving = asyncio.create_task(door.serve(longest_s=_LAST_ANSWERS_S)) if door is not None else None
    yield
    if door is not None and serving is not None:
        door.stop()
        await serving
    await run_in_threadpool(app_state.clear)
    await run_in_threadpool(startup.end)


def _open() -> None:
    """Open the vault, count what happens in it, and load what draws the first page."""
    process_metrics()
    attempt(app_state().open)
    import_module("docmind.ui.chat.conversation")


def _vault() -> DocMind:
    """Return the vault for a program, whose request counts as use of the app."""
    app_state().activity.note()
    return app_state().open()


def _opened() -> DocMind:
    """Return the vault where it is open; whoever asks so does not count as use of the app."""
    return app_state().opened()


def _theme() -> str:
    return app_state().theme()


_purse = Purse()
_programs = Programs(startup.launch, lambda: app_state().open())

PARTS: dict[str, Any] = {
    "script_path": START,
    "lifespan": _lifespan,
    "middleware": [
        Middleware(BrokenOff),
        Middleware(Budget, purse=_purse),
        Middleware(Rest, launch=startup.launch, programs=_programs, vault=_vault),
        Middleware(MetricsPage, launch=startup.launch, programs=Programs(startup.launch, _opened), opened=_opened),
        Middleware(Mcp, launch=startup.launch, programs=_programs, vault=_vault),
        Middleware(Guard, launch=startup.launch, scripts=_SCRIPTS, used=startup.remove_opening_page, theme=_theme),
        Middleware(Noted, activity=lambda: app_state().activity),
        Middleware(Routes, launch=startup.launch, routes=[*reader.ROUTES, *documents.LIBRARY]),
        Middleware(ClosedTabs),
    ],
}
"""The arguments of `st.App`."""

app = st.App(**PARTS)
startup.configure()
bound_connections()
