"""Folders: what is new, changed, renamed or gone in them, and what is never touched."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from desks import opened, report
from docmind.application import DocMind
from docmind.errors import FolderError, NotFoundError
from docmind.records.documents import FolderInfo, SyncResult, Upload


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[DocMind]:
    with opened(tmp_path) as desk:
        yield desk


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """Make a folder with three readable files, one of another kind, a hidden one and a link to itself."""
    folder = tmp_path / "papers"
    (folder / "inner").mkdir(parents=True)
    (folder / "heron.txt").write_text("The heron stands in the reeds.")
    (folder / "inner" / "owl.md").write_text("# Owls\n\nThe owl hunts at night.")
    (folder / "report.pdf").write_bytes(report("stork", 2).data)
    (folder / "program.bin").write_bytes(b"\x00\x01")
    (folder / ".hidden.txt").write_text("Not for reading.")
    return folder


def synced(desk: DocMind, info: FolderInfo) -> SyncResult:
    result = desk.folders.sync(info.folder_id)
    desk.queue.finish()
    return result


def names(desk: DocMind) -> set[str]:
    return {info.document for info in desk.documents.all() if info.status == "ready"}


@pytest.mark.slow
def test_a_folder_is_read_once_and_compared_after_that(desk: DocMind, papers: Path) -> None:
    info = desk.folders.add(papers)
    first = synced(desk, info)
    assert (first.added, first.skipped, first.unchanged) == (3, 1, 0)
    assert names(desk) == {"heron.txt", "owl.md", "report.pdf"}
    again = synced(desk, info)
    assert (again.added, again.changed, again.unchanged, again.gone) == (0, 0, 3, 0)
    assert desk.folders.all()[0].files == 3


@pytest.mark.slow
def test_a_changed_file_replaces_its_earlier_version(desk: DocMind, papers: Path) -> None:
    info = desk.folders.add(papers)
    synced(desk, info)
    (papers / "heron.txt").write_text("The heron has left the reeds for good.")
    assert synced(desk, info).changed == 1
    assert len(desk.documents.all()) == 3
    (heron,) = [one for one in desk.documents.all() if one.document == "heron.txt"]
    assert "left the reeds" in desk.documents.page(heron.doc_id, 1).text


@pytest.mark.slow
def test_unchanged_pages_of_a_changed_file_are_not_embedded_again(desk: DocMind, tmp_path: Path) -> None:
    folder = tmp_path / "long"
    folder.mkdir()
    text = [f"Paragraph {n} tells of bird number {n}. " * 40 for n in range(12)]
    (folder / "birds.txt").write_text("\n".join(text))
    info = desk.folders.add(folder)
    synced(desk, info)
    before = {row[0] for row in desk.vault.database.all("SELECT content_hash FROM vectors")}
    (folder / "birds.txt").write_text("\n".join([*text, "One more line."]))
    assert synced(desk, info).changed == 1
    after = {row[0] for row in desk.vault.database.all("SELECT content_hash FROM vectors")}
    assert len(after & before) >= len(before) - 1  # the last window of the text is another one now


@pytest.mark.slow
def test_renamed_files_are_recognised(desk: DocMind, papers: Path) -> None:
    info = desk.folders.add(papers)
    synced(desk, info)
    before = {one.doc_id for one in desk.documents.all()}
    (papers / "heron.txt").rename(papers / "inner" / "grey heron.txt")  # the same file on the disk
    data = (papers / "report.pdf").read_bytes()
    (papers / "report.pdf").unlink()
    (papers / "copy.pdf").write_bytes(data)  # another file with the same contents
    result = synced(desk, info)
    assert (result.renamed, result.added, result.gone) == (2, 0, 0)
    assert {one.doc_id for one in desk.documents.all()} == before
    assert not desk.folders.gone()


@pytest.mark.slow
def test_a_document_follows_the_name_of_its_file(desk: DocMind, papers: Path) -> None:
    info = desk.folders.add(papers)
    synced(desk, info)
    heron, owl = (desk.documents.find(name).doc_id for name in ("heron.txt", "owl.md"))
    desk.documents.edit(owl, document="My owl")
    data = (papers / "report.pdf").read_bytes()
    (papers / "report.pdf").unlink()
    (papers / "storks.pdf").write_bytes(data)  # found again by its contents
    (papers / "inner" / "owl.md").rename(papers / "inner" / "tawny owl.md")
    (papers / "heron.txt").rename(papers / "inner" / "grey heron.txt")
    synced(desk, info)
    assert names(desk) == {"grey heron.txt", "My owl", "storks.pdf"}
    (papers / "inner" / "grey heron.txt").rename(
        papers / "old heron.txt"
    )  # again: its name is not the one it was read by
    synced(desk, info)
    assert desk.documents.get(heron).document == "old heron.txt"
    desk.documents.edit(heron, document="Bird of the reeds")
    (papers / "old heron.txt").rename(papers / "heron.txt")
    synced(desk, info)
    assert desk.documents.get(heron).document == "Bird of the reeds"


@pytest.mark.slow
def test_what_is_gone_waits_for_a_decision(desk: DocMind, papers: Path) -> None:
    info = desk.folders.add(papers)
    synced(desk, info)
    (papers / "heron.txt").unlink()
    (papers / "inner" / "owl.md").unlink()
    assert synced(desk, info).gone == 2
    assert len(names(desk)) == 3  # nothing is deleted by itself
    gone = {file.document: file.doc_id for file in desk.folders.gone()}
    assert gone.keys() == {"heron.txt", "owl.md"}
    desk.folders.keep([gone["owl.md"]])
    assert desk.folders.bin_gone(list(gone.values())) == 1
    assert names(desk) == {"owl.md", "report.pdf"}
    assert not desk.folders.gone()


@pytest.mark.slow
def test_a_file_that_comes_back_is_not_gone(desk: DocMind, papers: Path, tmp_path: Path) -> None:
    info = desk.folders.add(papers)
    synced(desk, info)
    (papers / "heron.txt").rename(tmp_path / "elsewhere.txt")
    assert synced(desk, info).gone == 1
    (tmp_path / "elsewhere.txt").rename(papers / "heron.txt")
    assert synced(desk, info).added == 0
    assert not desk.folders.gone()


@pytest.mark.slow
def test_documents_uploaded_by_hand_are_never_touched(desk: DocMind, papers: Path) -> None:
    desk.add([Upload("my heron.txt", (papers / "heron.txt").read_bytes())])
    info = desk.folders.add(papers)
    synced(desk, info)
    (papers / "heron.txt").write_text("Something else entirely.")
    synced(desk, info)
    (papers / "heron.txt").unlink()
    synced(desk, info)
    assert "my heron.txt" in names(desk)
    assert desk.folders.bin_gone([one.doc_id for one in desk.documents.all()]) == 1  # the changed version only
    assert "my heron.txt" in names(desk)


@pytest.mark.slow
def test_a_disk_that_is_not_there_makes_nothing_gone(desk: DocMind, papers: Path, tmp_path: Path) -> None:
    info = desk.folders.add(papers)
    synced(desk, info)
    papers.rename(tmp_path / "unplugged")
    with pytest.raises(FolderError, match="is not there"):
        desk.folders.sync(info.folder_id)
    papers.mkdir()  # where a disk would be mounted
    with pytest.raises(FolderError, match="is empty"):
        desk.folders.sync(info.folder_id)
    assert not desk.folders.gone()
    assert "is empty" in desk.folders.all()[0].message


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="symbolic links and permissions of POSIX")
def test_links_and_closed_folders_are_not_entered(desk: DocMind, papers: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("Nobody chose this.")
    (papers / "link.txt").symlink_to(tmp_path / "outside.txt")
    (papers / "loop").symlink_to(papers)
    os.mkfifo(papers / "pipe.txt")
    info = desk.folders.add(papers)
    assert synced(desk, info).added == 3
    if os.geteuid() == 0:
        return  # root may enter all folders
    (papers / "inner").chmod(0)
    try:
        result = synced(desk, info)
    finally:
        (papers / "inner").chmod(0o700)
    assert result.gone == 0
    assert "could not be opened" in result.message


@pytest.mark.slow
@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names that are no text")
def test_hostile_names_are_read_and_shown_as_text(desk: DocMind, tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    for name in (b"bad\xff name.txt", b"line\nbreak.txt", b"<b>bold.txt"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text(f"About {name!r}.")
    info = desk.folders.add(folder)
    assert synced(desk, info).added == 3
    assert "bad? name.txt" in names(desk)
    assert synced(desk, info).unchanged == 3


def test_patterns_choose_files(desk: DocMind, papers: Path) -> None:
    info = desk.folders.add(papers, include=["*.TXT", "*.md"], exclude=["inner"])
    assert synced(desk, info).added == 1
    assert names(desk) == {"heron.txt"}


def test_folders_within_each_other_are_refused(desk: DocMind, papers: Path, tmp_path: Path) -> None:
    desk.folders.add(papers)
    for wrong in (papers, papers / "inner", tmp_path / "data", papers / "heron.txt", papers / "missing"):
        with pytest.raises(FolderError):
            desk.folders.add(wrong)


@pytest.mark.slow
def test_a_removed_folder_leaves_its_documents(desk: DocMind, papers: Path) -> None:
    info = desk.folders.add(papers)
    synced(desk, info)
    desk.folders.remove(info.folder_id)
    assert len(names(desk)) == 3
    with pytest.raises(NotFoundError):
        desk.folders.sync(info.folder_id)


@pytest.mark.slow
def test_no_path_of_a_file_is_stored(desk: DocMind, papers: Path) -> None:
    synced(desk, desk.folders.add(papers))
    for row in desk.vault.database.all("SELECT * FROM folder_files"):
        assert not any(isinstance(value, str) and ("owl" in value or "heron" in value) for value in row)


@pytest.mark.slow
def test_a_watched_folder_is_read_by_itself(desk: DocMind, papers: Path) -> None:
    for file in papers.rglob("*.*"):
        os.utime(file, (1, 1))  # written long ago: one that is being written is left for the next look
    desk.folders.follow()
    desk.folders.add(papers)
    deadline = time.monotonic() + 60
    while len(names(desk)) < 3:
        assert time.monotonic() < deadline, "it was never read"
        time.sleep(0.05)


@pytest.mark.slow
def test_a_changed_file_leaves_another_one_of_its_series(desk: DocMind, tmp_path: Path) -> None:
    terms = "The tenant waters the garden on every second day of the week and keeps the key of the gate. " * 8
    folder = tmp_path / "leases"
    folder.mkdir()
    (folder / "lease.txt").write_text(f"{terms}The rent is 900 euros.")
    info = desk.folders.add(folder)
    synced(desk, info)
    (folder / "lease (2).txt").write_text(f"{terms}The rent is 950 euros.")
    synced(desk, info)
    (folder / "lease (2).txt").write_text(f"{terms}The rent is 970 euros, and the heating is paid apart.")
    synced(desk, info)
    assert names(desk) == {"lease.txt", "lease (2).txt"}
