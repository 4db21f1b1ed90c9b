"""`docmind gc` lists and removes what nothing refers to, and `docmind status` reports on the network."""

from __future__ import annotations

from pathlib import Path

import pytest

from docmind.network import network_ledger
from shells import Shell

pytestmark = pytest.mark.slow


def test_left_over_files_are_listed_and_the_network_is_told(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    assert "Nothing to remove." in shell.run("gc").stdout
    lost = shell.folder / "data" / "artifacts" / f"{'a' * 64}.webp.enc"
    lost.write_bytes(b"x" * 2_000_000)
    told = shell.json("gc", "--dry-run", "--older-than", "2")
    assert (told["files"], told["waiting"], told["waiting_bytes"]) == ([], 1, 2_000_000)
    assert "kept for now: 1 file, 2.0 MB" in shell.run("gc", "--max-mb", "1").stdout
    assert lost.is_file()
    shell.run("gc", "--older-than", "0.5", code=2)
    before = network_ledger().report()  # of this process, which other tests use too
    network = shell.json("status")["network"]
    assert network["attempts"] == sum(place.count for place in before.refused)
    assert (len(network["refused"]), len(network["allowed"])) == (len(before.refused), len(before.allowed))
