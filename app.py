"""Entry point of the app: `streamlit run app.py` serves the pages to this machine's browser."""

from __future__ import annotations

import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.formparsers import MultiPartParser
from starlette.middleware import Middleware

import docmind.ui
from docmind.api.budget import Budget
from docmind.api.mcp_http import Mcp
from docmind.api.programs import Programs
from docmind.api.rest import Rest
from docmind.config import Settings
from docmind.errors import DocMindError
from docmind.storage import keep_private
from docmind.ui.app.activity import Noted
from docmind.ui.app.connections import bound_connections
from docmind.ui.app.desk import desk
from docmind.ui.app.errors import attempt
from docmind.ui.app.guard import Guard, inline_script_sources
from docmind.ui.app.routes import Routes
from docmind.ui.app.startup import Startup
from docmind.ui.app.streamlit_server import ClosedTabs
from docmind.ui.documents import served as documents
from docmind.ui.reader import served as reader

if TYPE_CHECKING:
    from docmind.application import DocMind

keep_private()
# Uploads above this go through a temporary file, readable on the disk; keep them in memory instead.
MultiPartParser.spool_max_size = 4 << 30

_START = Path(__file__).resolve().parent / "pages" / "start.py"
# Streamlit puts the folder of the script into sys.path and takes it out again in every run of a page. An import that
# another thread has under way then skips an entry of sys.path and does not find its module; this way nothing changes.
sys.path.append(str(_START.parent))

_SCRIPT = Path(docmind.ui.__file__).parent / "chat" / "visual_search.html"  # its module would be loaded before the port
_SCRIPTS = inline_script_sources(Path(st.__file__).parent / "static" / "index.html") + inline_script_sources(_SCRIPT)

_settings = attempt(Settings.load)
startup = Startup(None if isinstance(_settings, DocMindError) else _settings)


@asynccontextmanager
async def _lifespan(_: st.App) -> AsyncIterator[None]:
    """Open the vault while the browser loads the page, which reports errors and tries again."""
    await run_in_threadpool(startup.begin)
    threading.Thread(target=_open, name="open", daemon=True).start()
    yield
    await run_in_threadpool(desk.clear)
    await run_in_threadpool(startup.end)


def _open() -> None:
    """Open the vault, and load what draws the first page."""
    attempt(desk().open)
    import_module("docmind.ui.chat.conversation")


def _vault() -> DocMind:
    """Return the vault for a program, whose request counts as use of the app."""
    desk().activity.note()
    return desk().open()


def _theme() -> str:
    return desk().theme()


_programs = Programs(startup.launch, lambda: desk().open())

app = st.App(
    _START,
    lifespan=_lifespan,
    middleware=[
        Middleware(Budget),
        Middleware(Rest, launch=startup.launch, programs=_programs, vault=_vault),
        Middleware(Mcp, launch=startup.launch, programs=_programs, vault=_vault),
        Middleware(Guard, launch=startup.launch, scripts=_SCRIPTS, used=startup.forget_opening_page, theme=_theme),
        Middleware(Noted, activity=lambda: desk().activity),
        Middleware(Routes, launch=startup.launch, routes=[*reader.ROUTES, *documents.LIBRARY]),
        Middleware(ClosedTabs),
    ],
)
startup.configure()
bound_connections()
