"""Libraries are told to be quiet before they are imported, wherever DocMind starts."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import pytest

from conftest import ROOT
from docmind.runtime import quiet
from docmind.runtime.worker import Worker, write_frame

HERE = str(Path(__file__).parent)
LOUD = {name: "1" if value in ("0", "false") else "0" for name, value in quiet.VARIABLES.items()}
SHOW = "import json, os; print(json.dumps(dict(os.environ)))"


def shown(code: str) -> dict[str, str]:
    """Return the variables of a program started in an environment that enables all reports of libraries."""
    environment = dict(os.environ, **LOUD, PYTHONPATH=f"{ROOT / 'src'}{os.pathsep}{ROOT / 'scripts'}")
    out = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    return {name: value for name, value in json.loads(out).items() if name in quiet.VARIABLES}


def environment_of_a_worker(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    write_frame(outgoing, dict(os.environ))


@pytest.mark.slow
@pytest.mark.parametrize(
    "entry",
    [
        "import docmind",
        "import docmind.records.documents",
        "import docmind.runtime.worker",
        "import docmind.cli",
        "import setup_env; setup_env.end_quietly(lambda: 0)",
    ],
)
def test_every_entry_point_sets_the_quiet_variables(entry: str) -> None:
    assert shown(f"{entry}\n{SHOW}") == quiet.VARIABLES


def test_a_program_without_docmind_is_loud() -> None:
    assert shown(SHOW) == LOUD


def test_children_get_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in LOUD.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((HERE, str(ROOT / "tests"))), prepend=os.pathsep)
    worker = Worker("test_quiet:environment_of_a_worker")
    try:
        environment = worker.receive(30)[0]
    finally:
        worker.kill()
    assert {name: environment[name] for name in quiet.VARIABLES} == quiet.VARIABLES


def imports_onnxruntime(tree: ast.AST) -> bool:
    """Return whether a module imports ONNX Runtime without calling `quiet.import_onnxruntime`.

    What a module imports for type checkers alone is never run.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    is_called = any(isinstance(node, ast.Attribute) and node.attr == "import_onnxruntime" for node in ast.walk(tree))
    found = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = found or any(alias.name.split(".")[0] in ("onnxruntime", "rapidocr") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found = found or (node.module or "").split(".")[0] in ("onnxruntime", "rapidocr")
    return found and not is_called


@pytest.mark.slow
def test_onnxruntime_is_imported_through_one_function() -> None:
    files = sorted((ROOT / "src").rglob("*.py"))
    assert files
    loud = [path.name for path in files if imports_onnxruntime(ast.parse(path.read_text("utf-8")))]
    assert loud == ["quiet.py"]  # which holds that function
    assert imports_onnxruntime(ast.parse("def f():\n    from rapidocr import RapidOCR"))
