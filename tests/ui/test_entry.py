"""Imports of `app.py` and of the pages."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from conftest import ROOT

LAZY = ["torch", "transformers", "llama_index", "qdrant_client", "qdrant_edge", "onnxruntime", "langgraph", "pandas"]


@pytest.mark.slow
def test_importing_the_app_is_light_and_uploads_stay_in_memory() -> None:
    code = (
        "import app, json, sys; from starlette.formparsers import MultiPartParser;"
        f"print(json.dumps([MultiPartParser.spool_max_size, [name for name in {LAZY} if name in sys.modules]]))"
    )
    out = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT, stderr=subprocess.DEVNULL)
    spooled, loaded = json.loads(out.splitlines()[-1])
    assert spooled > 1 << 30
    assert not loaded


@pytest.mark.slow
def test_a_run_of_a_page_leaves_the_import_path_alone() -> None:
    """`list.remove` during an import in another thread would make that import skip the module's folder."""
    code = (
        "import app, json, sys; from streamlit.runtime.scriptrunner.exec_code import modified_sys_path;"
        "script = str(app.app._resolve_script_path()); before = list(sys.path);"
        "run = modified_sys_path(script); run.__enter__(); print(json.dumps([script, before == sys.path]))"
    )
    out = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT, stderr=subprocess.DEVNULL)
    script, is_unchanged = json.loads(out.splitlines()[-1])
    assert script == str(ROOT / "pages/start.py")
    assert is_unchanged
