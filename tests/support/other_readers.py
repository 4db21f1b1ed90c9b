"""Small packages with readers of other kinds of files, installed for a test."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from docmind.reading import plugins


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, package: str, code: str, **readers: str) -> None:
    """Install a package with one module, whose readers are named by their kind, for this process and its children.

    What readers said of themselves is forgotten: a package of another test may have the same name and version.
    """
    plugins._asked.cache_clear()
    module = package.replace("-", "_")
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(code)
    told = folder / f"{module}-1.0.dist-info"
    told.mkdir()
    about = ("Metadata-Version: 2.4", f"Name: {package}", "Version: 1.0", "License-Expression: MIT", "Summary: Toys")
    (told / "METADATA").write_text("\n".join((*about, "")))
    points = [f"{kind} = {module}:{name}" for kind, name in readers.items()]
    (told / "entry_points.txt").write_text("\n".join(("[docmind.readers]", *points, "")))
    if str(folder) not in sys.path:
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
