"""What `app.py` brings with it when it is imported: little, and uploads that stay in memory."""

from __future__ import annotations

import json
import subprocess
import sys

from conftest import ROOT

LAZY = ["torch", "transformers", "llama_index", "qdrant_client", "qdrant_edge", "onnxruntime", "langgraph", "pandas"]


def test_importing_the_app_is_light_and_keeps_uploads_off_the_disk() -> None:
    code = (
        "import app, json, sys; from starlette.formparsers import MultiPartParser;"
        f"print(json.dumps([MultiPartParser.spool_max_size, [name for name in {LAZY} if name in sys.modules]]))"
    )
    out = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT, stderr=subprocess.DEVNULL)
    spooled, loaded = json.loads(out.splitlines()[-1])
    assert spooled > 1 << 30
    assert not loaded
