"""`docmind snapshot`: what it prints, what it asks, its exit codes, and questions as of a snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

from desks import text_pdf
from docmind.errors import DamagedError, NotFoundError
from docmind.records.documents import Upload
from libraries import Library, confirm
from shells import Shell, sentence_of, stocked_shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    herons = Upload("herons.pdf", text_pdf(["Herons nest in tall trees."]))
    return stocked_shell(tmp_path, Library("herons.pdf", [herons], confirm))


@pytest.mark.slow
def test_a_snapshot_is_taken_compared_and_activated(shell: Shell) -> None:
    assert "There are no snapshots yet" in shell.run("snapshot", "list").stdout
    assert "1 document, 1 page" in shell.run("snapshot", "create", "Before spring").stdout
    (info,) = shell.json("snapshot", "list")["snapshots"]
    assert (info["title"], info["reason"], info["is_automatic"]) == ("Before spring", "asked", False)
    assert "Nothing differs" in shell.run("snapshot", "compare", "Before spring").stdout
    shell.run("add", shell.file("otters.pdf", text_pdf(["Otters sleep under the bridge."])))
    told = shell.run("snapshot", "compare", "before spring").stdout
    assert told.startswith("+ ")
    assert "otters.pdf" in told
    assert shell.json("snapshot", "compare", "Before spring")["added"][0]["document"] == "otters.pdf"
    assert (
        "The snapshot is whole: 1 document, 3 stored files." in shell.run("snapshot", "verify", "Before spring").stdout
    )
    refused = shell.run("snapshot", "activate", "Before spring", code=130)
    assert "Nothing was changed" in refused.stderr
    assert "otters.pdf" in refused.stderr, "what would change is said before the question"
    done = shell.run("snapshot", "activate", "Before spring", "-y").stdout
    assert "Brought back: 0. Moved to the bin: 1. Changed: 0. As they were: 1." in done
    assert [one["document"] for one in shell.json("list")["documents"]] == ["herons.pdf"]
    undo = done.split()[-1]
    shell.run("snapshot", "activate", undo, "-y", "--reindex", "--settings")
    assert len(shell.json("list")["documents"]) == 2
    assert "herons.pdf" in shell.run("snapshot", "show", "Before spring").stdout


@pytest.mark.slow
def test_questions_as_of_a_snapshot(shell: Shell) -> None:
    shell.run("snapshot", "create", "then")
    shell.run("add", shell.file("otters.pdf", text_pdf(["Otters sleep under the bridge."])))
    hits = shell.json("search", "Otters under the bridge", "--as-of", "then")["hits"]
    assert {hit["document"] for hit in hits} <= {"herons.pdf"}
    assert "nest in tall trees" in shell.run("ask", "Where do herons nest?", "--as-of", "then", "--quotes").stdout
    shell.run("purge", "herons.pdf", "--now", "-y")
    told = shell.run("search", "herons", "--as-of", "then")
    assert "1 document of the snapshot isn't in the library now" in told.stderr
    shell.run("search", "herons", "--as-of", "never", code=NotFoundError.exit_code)


@pytest.mark.slow
def test_a_document_that_only_a_snapshot_has_is_erased(shell: Shell) -> None:
    shell.run("snapshot", "create", "then")
    told = shell.run("purge", "herons.pdf", "--now", "-y")
    assert "1 snapshot holds it" in told.stderr
    assert "1 snapshot still holds it" in told.stdout + told.stderr
    assert "not in the library now" in shell.run("snapshot", "show", "then").stdout
    receipt = shell.json("purge", "herons.pdf", "--snapshots", "-y")["receipt"]
    assert (receipt["is_clean"], receipt["snapshots"]) == (True, [])
    assert "1 erased since" in shell.run("snapshot", "show", "then").stdout


@pytest.mark.slow
def test_what_is_damaged_is_named(shell: Shell) -> None:
    shell.run("snapshot", "create", "then")
    next((shell.folder / "data" / "snapshots" / "segments").iterdir()).unlink()
    assert "isn't whole" in sentence_of(shell.run("snapshot", "verify", "then", code=DamagedError.exit_code))
    shell.run("snapshot", "activate", "then", "-y", code=DamagedError.exit_code)


@pytest.mark.slow
def test_snapshots_are_pinned_pruned_and_deleted(shell: Shell) -> None:
    for name in ("one", "two", "three"):
        shell.run("snapshot", "create", name)
    assert "pinned" in shell.run("snapshot", "pin", "one").stdout
    assert (
        "1 snapshot would be removed"
        in shell.run("snapshot", "prune", "--keep", "1", "--days", "0", "--dry-run").stdout
    )
    assert len(shell.json("snapshot", "prune", "--keep", "1", "--days", "0")["removed"]) == 1
    assert "pinned" not in shell.run("snapshot", "pin", "one", "--off").stdout
    shell.run("snapshot", "delete", "one", code=130)
    shell.run("snapshot", "delete", "one", "-y")
    assert [one["title"] for one in shell.json("snapshot", "list")["snapshots"]] == ["three"]
    assert shell.run("snapshot", "delete", "nothing", "-y", code=NotFoundError.exit_code)
    assert "kept database" in sentence_of(
        shell.run("snapshot", "rollback", "before-m001-1600000000000", "-y", code=NotFoundError.exit_code)
    )
