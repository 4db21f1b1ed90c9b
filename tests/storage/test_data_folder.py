"""The data folder: foreign files stay as they are, names of ours are what they must be, and others read nothing."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ROOT, require
from desks import environment_of, opened, report, settings_in
from docmind.access import APP_SOCKET, COMMAND_SOCKET, listen_private
from docmind.application import DocMind
from docmind.errors import KeyUnavailableError, VaultError
from docmind.late_interaction.store import LatePages
from docmind.storage.data_folder import FILES, FOLDERS, SOCKETS, check_folder, foreign_files
from docmind.storage.database import Database
from docmind.storage.files import open_own, read_own, write_private
from shells import BEGINNING, Shell, sentence_of

posix = pytest.mark.skipif(os.name != "posix", reason="links and modes of POSIX")

FOREIGN = {
    "model.bin": b"weights " * 100,
    "thesis.docx": b"PK thesis",
    "notes/one.txt": b"one",
    "notes/two.txt": b"two",
    "thesis.enc": b"sealed by another program",
    "g000001.txt": b"no generation",
    "g000001-notes/one.txt": b"no generation either",
    ".new-page": b"a draft",
    "0123456789abcdef.i8.bak": b"a copy",
    "table.i8": b"numbers",
}


def put_foreign(folder: Path) -> dict[Path, bytes]:
    made = {folder / name: content for name, content in FOREIGN.items()}
    for path, content in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return made


def held(files: dict[Path, bytes]) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in files}


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Names, modes and bytes of all that is in a folder, and of the folder itself."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in [folder, *folder.rglob("*")]
    }


# --- making a vault ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        ["thesis.docx"],
        ["README.md", "model.bin"],
        ["artifacts/model.bin"],
        ["index/g000001/config.json"],
        ["late/table.i8"],
        ["lock"],
        [".hidden"],
        ["a", "b", "c", "d", "e"],
    ],
)
def test_no_vault_is_made_among_foreign_files(tmp_path: Path, names: list[str]) -> None:
    folder = tmp_path / "data"
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"mine, and longer than a process number")
    folder.chmod(0o755)
    before = snapshot(folder)
    with pytest.raises(VaultError, match="aren't DocMind's") as caught:
        opened(tmp_path)
    assert snapshot(folder) == before
    assert not (tmp_path / "docmind.key").exists()
    assert next(iter(sorted(names))).split("/")[0] in str(caught.value) or "README.md" in names
    assert "DOCMIND_DATA_DIR" in caught.value.hint
    assert ("and 2 more" in str(caught.value)) is (len(names) == 5)


def test_without_the_check_a_vault_is_made_among_foreign_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control of the test above."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "thesis.docx").write_bytes(b"mine")
    monkeypatch.setattr("docmind.vault.check_folder", lambda _folder, **_options: None)
    opened(tmp_path).close()
    assert (tmp_path / "data" / "vault.json").exists()


def test_a_folder_with_nothing_of_value_may_become_a_vault(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    harmless = {name: name.encode() for name in ("README.md", ".gitignore", ".DS_Store", "desktop.ini", "Thumbs.db")}
    for name, content in harmless.items():
        (folder / name).write_bytes(content)
    (folder / "lost+found").mkdir()
    # A first start that was killed, and one of the app's.
    (folder / "lock").write_bytes(b"4711")
    (folder / ".vault.json.0a1b2c3d.new").write_bytes(b"{")
    (folder / ".mark.0a1b2c3d.new").write_bytes(b"")
    (folder / "app.json").write_bytes(b"{}")
    (folder / "artifacts").mkdir()
    opened(tmp_path).close()
    assert (folder / "vault.json").exists()
    assert not (folder / ".vault.json.0a1b2c3d.new").exists()
    assert not (folder / ".mark.0a1b2c3d.new").exists()
    assert {name: (folder / name).read_bytes() for name in harmless} == harmless


@posix
def test_the_library_of_a_checkout_lies_beside_the_page_that_tells_of_it(tmp_path: Path) -> None:
    folder, page = tmp_path / "data", (ROOT / "data" / "README.md").read_bytes()
    folder.mkdir(mode=0o755)
    (folder / "README.md").write_bytes(page)
    opened(tmp_path).close()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(foreign_files(folder)) == []
    assert (folder / "README.md").read_bytes() == page


def test_the_page_in_data_names_what_may_lie_there() -> None:
    told = (ROOT / "data" / "README.md").read_text("utf-8")
    beside = re.compile(r"vault\.db-.*")  # parts of `vault.db`
    names = [*(f"{name}/" for name in FOLDERS), *(name for name in FILES if not beside.fullmatch(name)), *SOCKETS]
    assert [name for name in names if f"`{name}`" not in told] == []


def test_git_keeps_the_page_in_data_and_nothing_else() -> None:
    require((ROOT / ".git").exists(), "this is no checkout of git")
    names = ["data/README.md", "data/vault.db", "data/artifacts/README.md", "data/.hidden"]
    ignored = subprocess.run(["git", "check-ignore", *names], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ignored.stdout.split() == names[1:]


@pytest.mark.slow
def test_a_vault_that_lost_its_description_is_told_as_that(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        desk.add([report("heron", 1)])
    (tmp_path / "data" / "vault.json").unlink()
    with pytest.raises(KeyUnavailableError, match=r"vault\.json is missing"):
        opened(tmp_path)


def test_a_refused_folder_is_one_sentence_on_the_command_line(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "thesis.docx").write_bytes(b"mine")
    assert "thesis.docx" in sentence_of(shell.run(*BEGINNING, code=VaultError.exit_code))


# --- foreign files in a vault -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("place", ["", "artifacts", "index", "late"])
def test_foreign_files_in_a_vault_stay_as_they_are(tmp_path: Path, place: str) -> None:
    with opened(tmp_path) as desk:
        desk.add([report("heron", 2)])
    foreign = put_foreign(tmp_path / "data" / place)
    for _ in range(2):
        with opened(tmp_path) as desk:
            desk.add([report("owl", 2), report("crane", 1)])
            desk.reindex()
            desk.erasures.erase([desk.documents.find("owl.pdf").doc_id])
            desk.status()
            assert desk.search("heron report").hits
    assert held(foreign) == foreign


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="there are no such sockets")
def test_a_socket_of_the_owner_is_not_foreign_and_a_file_of_its_name_is(tmp_path: Path) -> None:
    made = listen_private(tmp_path, APP_SOCKET)
    assert made is not None
    with made[0]:
        (tmp_path / COMMAND_SOCKET).write_text("mine")
        assert list(foreign_files(tmp_path)) == [COMMAND_SOCKET]


def test_foreign_files_are_named_in_every_folder_but_the_index(tmp_path: Path) -> None:
    ours = (
        "vault.json", "open.html", f"artifacts/{'a' * 64}.webp.enc", f"aside/1764000000000-{'a' * 64}.enc",
        "late/0123456789abcdef.i8", "staging/0123456789abcdef.db", "index/anything", "snapshots/.DS_Store",
        "snapshots/0123456789abcdef/manifest.jsonl", "snapshots/0123456789abcdef/state-0123456789abcdef",
        "snapshots/0123456789abcdef/.new-0123456789abcdef", f"snapshots/segments/{'b' * 64}.segment",
        "snapshots/before-m016-1764000000000/vault.db", "snapshots/before-m016-1764000000000/mark",
    )  # fmt: skip
    foreign = {
        "mine.txt", "artifacts/page.png", "snapshots/0123456789abcdef/notes", "snapshots/mine", "snapshots/segments/x",
        "snapshots/before-m016/mark", "snapshots/before-m016-1764000000000/vault.db-wal", f"snapshots/{'b' * 16}",
    }  # fmt: skip
    for name in (*ours, *foreign):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    named = set(foreign_files(tmp_path))
    assert named == foreign - {"snapshots/before-m016/mark"} | {"snapshots/before-m016"}


def test_sweeping_page_vectors_leaves_foreign_files(tmp_path: Path) -> None:
    database = Database(tmp_path / "vault.db", bytes(32))
    folder = tmp_path / "late"
    late = LatePages(folder, database, lambda vectors: vectors, min_free_mb=0)
    folder.mkdir()
    foreign = put_foreign(folder)
    target = tmp_path / "outside"
    target.write_bytes(b"outside")
    stray, link = folder / "00112233aabbccdd.i8", folder / "ffeeddccbbaa9988.p8"
    stray.write_bytes(bytes(64))
    if os.name == "posix":
        link.symlink_to(target)
    late.sweep()
    assert not stray.exists(), "a file of our own form that no row names goes"
    assert held(foreign) == foreign
    assert target.read_bytes() == b"outside"
    assert os.name != "posix" or link.is_symlink()
    database.close()


# --- links, and names of ours that are something else -----------------------------------------------------------------


@posix
@pytest.mark.parametrize("name", [*FILES, *FOLDERS])
def test_a_link_in_place_of_our_own_name_is_refused(tmp_path: Path, name: str) -> None:
    opened(tmp_path).close()
    path, target = tmp_path / "data" / name, tmp_path / f"target of {name}"
    if path.exists():
        path.rename(target)
    elif name in FOLDERS:
        target.mkdir()
    else:
        target.write_bytes(b"precious")
    path.symlink_to(target)
    before = {path.name: path.read_bytes() for path in [target] if path.is_file()}
    with pytest.raises(VaultError, match="symbolic link"):
        opened(tmp_path)
    assert {path.name: path.read_bytes() for path in [target] if path.is_file()} == before


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FILES, *FOLDERS])
def test_a_folder_in_place_of_a_file_is_one_sentence(tmp_path: Path, name: str) -> None:
    shell = Shell(tmp_path)
    shell.run("list")
    path = tmp_path / "data" / name
    if path.exists():
        path.rename(tmp_path / "moved")
    if name in FOLDERS:
        path.write_bytes(b"")
        wanted = "not a folder"
    else:
        path.mkdir()
        (path / "inside").write_bytes(b"")
        wanted = "not a file"
    said = sentence_of(shell.run(*BEGINNING, code=VaultError.exit_code))
    assert name in said
    assert wanted in said or (name == "vault.json" and "not DocMind's" in said)


@posix
def test_the_data_folder_itself_may_be_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "elsewhere")
    opened(tmp_path).close()
    assert (tmp_path / "elsewhere" / "vault.json").exists()


@posix
def test_a_linked_lock_does_not_overwrite_its_target(tmp_path: Path) -> None:
    from docmind.storage.lock import OwnerLock

    target = tmp_path / "thesis.docx"
    target.write_bytes(b"mine")
    (tmp_path / "lock").symlink_to(target)
    with pytest.raises(VaultError, match="symbolic link"):
        OwnerLock(tmp_path)
    assert target.read_bytes() == b"mine"


@posix
def test_the_plain_open_would_have_followed_the_link(tmp_path: Path) -> None:
    """The negative control: what `open_own` refuses, `open` does."""
    target, link = tmp_path / "thesis.docx", tmp_path / "lock"
    target.write_bytes(b"mine")
    link.symlink_to(target)
    with open(link, "wb") as file:
        file.write(b"4711")
    assert target.read_bytes() == b"4711"
    for flags in (os.O_RDONLY, os.O_RDWR | os.O_CREAT, os.O_WRONLY | os.O_TRUNC):
        with pytest.raises(OSError, match="symbolic link"):
            open_own(link, flags)
    write_private(link, b"replaced", replace=True)
    assert target.read_bytes() == b"4711"
    assert not link.is_symlink()


@posix
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "vault.json")
    with pytest.raises(OSError, match="not a regular file"):
        read_own(tmp_path / "vault.json")


@posix
def test_a_key_file_may_be_a_link_that_the_user_made(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    opened(tmp_path).close()
    (tmp_path / "stick").mkdir()
    (tmp_path / "docmind.key").rename(tmp_path / "stick" / "docmind.key")
    (tmp_path / "docmind.key").symlink_to(tmp_path / "stick" / "docmind.key")
    DocMind(settings).close()


# --- modes ------------------------------------------------------------------------------------------------------------


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.slow
@posix
def test_opening_a_data_folder_closes_it_to_other_users(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with opened(tmp_path) as desk:
        desk.add([report("heron", 1)])
    (folder / "notes.txt").write_bytes(b"foreign")
    for path in [folder, *folder.iterdir()]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert mode(folder / "vault.db") == 0o644, "the fault is there"
    opened(tmp_path).close()
    kept = {path.name: mode(path) for path in folder.iterdir()}
    assert kept.pop("notes.txt") == 0o644, "a foreign file keeps its mode"
    assert mode(folder) == 0o700
    assert set(kept.values()) == {0o600, 0o700}
    assert kept["vault.db"] == 0o600


_UMASK = """
import os, subprocess, sys
os.umask(0o022)
{entry}
print(oct(os.umask(0)))
sys.stdout.flush()
"""


@pytest.mark.slow
@posix
@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            "from docmind.application import DocMind; from docmind.config import Settings; DocMind(Settings.load())",
            "0o77",
        ),
        ("from docmind.cli import main; main(['list'], standalone_mode=False)", "0o77"),
        ("import runpy; runpy.run_path('app.py')", "0o77"),
        ("import docmind.cli, docmind.config", "0o22"),  # the negative control
    ],
)
def test_every_entry_sets_the_umask(tmp_path: Path, entry: str, expected: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _UMASK.format(entry=entry)],
        env=os.environ | environment_of(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.splitlines()[-1:] == [expected], done.stderr


@pytest.mark.slow
@posix
def test_what_children_make_is_their_owners_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        desk.add([report("heron", 1)])
    made = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert any("index" in path.parts for path in made)
    assert [str(path) for path in made if mode(path) & 0o077] == []


@posix
def test_a_file_that_another_process_removes_meanwhile_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(tmp_path).close()
    folder = tmp_path / "data"
    served = folder / "command.json"
    served.write_bytes(b"{}")
    (folder / "vault.db").chmod(0o644)
    entries = sorted(os.scandir(folder), key=lambda one: one.name)
    served.unlink()
    with monkeypatch.context() as patched:
        patched.setattr("docmind.storage.data_folder.os.scandir", lambda _folder: entries)
        check_folder(folder)
    assert mode(folder / "vault.db") == 0o600, "what comes behind it is closed to others all the same"
