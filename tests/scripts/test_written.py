"""`scripts/eval FOLDER written`: texts of a model are counted as right, hidden and shown wrongly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from llm_server import Behaviour, serving

DOCS = {
    "lease.txt": "Lease of the boat shed. The rent of the shed is 412 euros a month. The lease ends on 31 May 2031.",
    "swans.txt": "Swans of the lake. The wardens counted 86 swans in March. Feeding swans is forbidden.",
}
QUESTIONS = (
    ("What is the rent of the shed?", "lease.txt", "412"),
    ("How many swans did the wardens count in March?", "swans.txt", "86"),
)
TRUE, FALSE = "The rent of the shed is 412 euros a month.", "The wardens counted 4,711 swans in March."


def measured(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "set" / "docs").mkdir(parents=True)
    for name, text in DOCS.items():
        (folder / "set" / "docs" / name).write_text(text)
    rows = [
        {"id": str(n), "question": text, "lang": "en", "doc": name, "answer": answer, "tags": [], "source": "own"}
        for n, (text, name, answer) in enumerate(QUESTIONS)
    ]
    (folder / "set" / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DOCMIND_")}
    return subprocess.run(
        [sys.executable, ROOT / "scripts" / "eval", folder / "set", "written", "--vault", folder / "vault", "--misses"],
        env=kept | {"DOCMIND_EMBEDDING__MODEL": "fake"} | environment,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.mark.slow
def test_right_and_wrong_texts_are_counted(tmp_path: Path) -> None:
    with serving(protocols=("openai",)) as server:
        for text in (TRUE, FALSE):
            server.queue(Behaviour("answer", text))
        done = measured(tmp_path, DOCMIND_LLM__PROVIDER="openai", DOCMIND_LLM__URL=f"{server.url}/v1")
    assert done.returncode == 0, done.stderr
    assert "wrote on 2" in done.stdout
    assert "right 1 of 2 (50.0%), of these hidden 0 of 1 (0.0%)" in done.stdout
    assert "not right 1 of 2 (50.0%), of these shown first 0 of 1 (0.0%)" in done.stdout


@pytest.mark.slow
def test_without_a_model_it_says_so(tmp_path: Path) -> None:
    done = measured(tmp_path, DOCMIND_LLM__PROVIDER="off")
    assert done.returncode != 0
    assert "There is no language model." in done.stderr
