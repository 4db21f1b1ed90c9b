"""The reader of folders: what it leaves out, and that a path cannot be turned elsewhere after it was looked at."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from desks import settings_in
from docmind.errors import FolderError
from docmind.ingest import Tree, TreeFile, WithheldError, own_places

pytestmark = pytest.mark.skipif(os.name != "posix", reason="symbolic links of POSIX")
SECRET = b"Nobody chose this."


@pytest.fixture(params=[True, False], ids=["by descriptors", "by paths"])
def tree_of(request: pytest.FixtureRequest) -> Callable[..., Tree]:
    """Make trees in both ways: that of this system, and that of one without descriptors of folders."""

    def made(root: Path, own: frozenset[tuple[int, int]] = frozenset()) -> Tree:
        return Tree(root, own, by_descriptors=request.param)

    return made


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """Make a folder with a file in an inner one, and beside it a folder with a secret file of the same name."""
    for folder, data in (("papers/inner", b"The heron stands in the reeds."), ("outside", SECRET)):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "heron.txt").write_bytes(data)
    return tmp_path / "papers"


def contents(file: TreeFile) -> bytes:
    with file.open() as opened:
        return opened.read()


def exchange(papers: Path, outside: Path) -> None:
    """Put a link to another folder where a folder was."""
    (papers / "inner").rename(papers.parent / "moved")
    (papers / "inner").symlink_to(outside)


def test_a_folder_that_became_a_link_leads_nowhere(tree_of: Callable[..., Tree], papers: Path, tmp_path: Path) -> None:
    tree = tree_of(papers)
    seen = tree.scan().files
    (file,), _ = tree.files()
    assert contents(file) == b"The heron stands in the reeds."
    exchange(papers, tmp_path / "outside")
    assert (papers / file.path).read_bytes() == SECRET  # so would a reader that uses the path that it checked
    with pytest.raises(OSError, match="link"):
        file.open()
    assert tree.read(seen[0], 1_000) is None
    with pytest.raises(OSError, match="link"):
        tree.find("inner/heron.txt")
    assert not tree.scan().files


def test_a_folder_above_that_became_a_link_leads_nowhere(
    tree_of: Callable[..., Tree], papers: Path, tmp_path: Path
) -> None:
    tree = tree_of(papers / "inner")
    (file,), _ = tree.files()
    papers.rename(tmp_path / "moved")
    papers.symlink_to(tmp_path / "other")
    (tmp_path / "other" / "inner").mkdir(parents=True)
    (tmp_path / "other" / "inner" / "heron.txt").write_bytes(SECRET)
    with pytest.raises(OSError, match="link"):
        file.open()
    with pytest.raises(FolderError, match="link"):
        tree.scan()


@pytest.mark.slow
def test_a_folder_that_is_exchanged_again_and_again_gives_nothing_away(
    tree_of: Callable[..., Tree], papers: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    is_over = threading.Event()

    def attack() -> None:
        while not is_over.is_set():
            (papers / "inner").rename(tmp_path / "moved")
            (tmp_path / "link").rename(papers / "inner")
            (papers / "inner").rename(tmp_path / "link")
            (tmp_path / "moved").rename(papers / "inner")

    tree = tree_of(papers)
    (known,) = tree.scan().files
    got = set[bytes]()
    thread = threading.Thread(target=attack)
    thread.start()
    try:
        for _ in range(1_000):
            for seen in (known, *tree.scan().files):
                read = tree.read(seen, 1_000)
                got |= {read[1]} if read is not None else set()
    finally:
        is_over.set()
        thread.join()
    assert got == {b"The heron stands in the reeds."}


def test_links_pipes_and_hidden_names_are_no_files(tree_of: Callable[..., Tree], papers: Path, tmp_path: Path) -> None:
    (papers / "link.txt").symlink_to(tmp_path / "outside" / "heron.txt")
    (papers / "way-out").symlink_to(tmp_path / "outside")
    (papers / ".hidden").mkdir()
    (papers / ".hidden" / "secret.txt").write_bytes(SECRET)
    os.mkfifo(papers / "pipe.txt")
    tree = tree_of(papers)
    assert [file.path for file in tree.files()[0]] == ["inner/heron.txt"]

    for path in ("link.txt", "way-out/heron.txt", "pipe.txt", "inner", "none.txt"):
        with pytest.raises(OSError, match=path if path == "none.txt" else "link|regular") as caught:
            tree.open(path)
        assert not isinstance(caught.value, WithheldError)
    for path in (".hidden/secret.txt", "inner/../../outside/heron.txt"):
        with pytest.raises(WithheldError):
            tree.open(path)


def test_descriptors_do_not_leak(tree_of: Callable[..., Tree], papers: Path, tmp_path: Path) -> None:
    tree = tree_of(papers)
    (file,), _ = tree.files()
    contents(file)
    exchange(papers, tmp_path / "outside")
    before = len(os.listdir("/dev/fd"))
    for path in ("inner", "inner/heron.txt", "none/none", ".hidden"):
        with suppress(OSError):
            tree.open(path).close()
    tree.scan()
    assert len(os.listdir("/dev/fd")) == before


def test_keys_and_folders_of_any_library_are_left_out(
    tree_of: Callable[..., Tree], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    config, cache = home / "config" / "docmind", home / "cache" / "docmind"  # their names are hidden only on Linux
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config.parent))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache.parent))
    settings = settings_in(home / "mine")
    key, cache_of_mine = settings.keys.file, settings.cache_dir
    assert key is not None and cache_of_mine is not None  # noqa: PT018 - both are set by `settings_in`
    other = home / "other library"
    for folder in (config, cache, settings.data_dir, cache_of_mine, other, home / "papers"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "text.txt").write_text("Herons.")
    (other / "vault.json").touch()
    (other / "vault.db").touch()
    key.write_text("not of the form of a key")
    os.link(key, home / "papers" / "second name.txt")
    (home / "papers" / "another.key").write_text("ab" * 32 + "\n")
    tree = tree_of(home, own_places(settings))
    found, unreadable = tree.files()
    assert ([file.path for file in found], unreadable) == (["papers/another.key", "papers/text.txt"], 0)
    with pytest.raises(WithheldError):
        found[0].open()
    assert contents(found[1]) == b"Herons."
    for path in ("config/docmind/text.txt", "cache/docmind", "mine/data/text.txt", "other library/text.txt"):
        with pytest.raises(WithheldError):
            tree.find(path)
    with pytest.raises(WithheldError):
        tree.open("papers/second name.txt")
    with pytest.raises(FolderError, match="belongs to DocMind"):
        tree_of(other, own_places(settings)).scan()


def test_a_folder_behind_one_that_hides_its_names_is_read(papers: Path) -> None:
    if os.geteuid() == 0 or not hasattr(os, "O_PATH"):
        pytest.skip("needs O_PATH, and a user whom permissions bind")
    papers.chmod(0o100)
    try:
        assert [file.path for file in Tree(papers / "inner", ()).files()[0]] == ["heron.txt"]
    finally:
        papers.chmod(0o700)
