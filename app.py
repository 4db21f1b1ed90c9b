"""The app: `streamlit run app.py` serves the pages to this machine's browser."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.formparsers import MultiPartParser
from starlette.middleware import Middleware

from docmind.ui.desk import desk
from docmind.ui.guard import Guard, inline_script_sources
from docmind.ui.picture import SCRIPT
from docmind.ui.trouble import attempt

# Uploads above this go through a temporary file, readable on the disk; keep them in memory instead.
MultiPartParser.spool_max_size = 4 << 30

_SCRIPTS = inline_script_sources(Path(st.__file__).parent / "static" / "index.html") + inline_script_sources(SCRIPT)


@asynccontextmanager
async def _lifespan(_: st.App) -> AsyncIterator[None]:
    """Open the vault while the browser still loads the page; what goes wrong is told by the page, which tries again."""
    threading.Thread(target=attempt, args=(desk().open,), name="open", daemon=True).start()
    yield
    await run_in_threadpool(desk.clear)


app = st.App(
    "pages/start.py",
    lifespan=_lifespan,
    middleware=[Middleware(Guard, scripts=_SCRIPTS)],
)
