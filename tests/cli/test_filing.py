"""Exported files: named after the conversation, whole or not there, and never over another one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from conftest import tiny_disk
from docmind.cli.filing import file_name_of, write_whole
from docmind.conversation import Exported
from docmind.errors import ConfigError, DiskFullError

PDF = Exported("x.pdf", "application/pdf", b"%PDF")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Where do herons nest?", "Where do herons nest.pdf"),
        ("../../etc/passwd", "etc passwd.pdf"),
        ("", "conversation.pdf"),
        (" ... ", "conversation.pdf"),
        ("CON", "conversation CON.pdf"),
        ("lpt1.txt", "conversation lpt1.txt.pdf"),
        ("a\x1b[2J\nb\x00c", "a 2J b c.pdf"),
        ("-rf", "rf.pdf"),
        ("Relatório de Évora", "Relatório de Évora.pdf"),
    ],
)
def test_a_title_makes_a_name_that_any_file_system_takes(title: str, name: str) -> None:
    assert file_name_of(PDF, title) == name


def test_a_long_title_is_cut(tmp_path: Path) -> None:
    for title in ("x" * 5_000, "漢" * 5_000, "🪶" * 5_000):
        write_whole(tmp_path / file_name_of(PDF, title), b"x", over=False)


def test_a_file_is_written_whole_and_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    write_whole(path, b"%PDF", over=False)
    assert path.read_bytes() == b"%PDF"
    assert os.name != "posix" or stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["a.pdf"]


def test_what_is_there_stays_unless_it_may_go(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"old")
    with pytest.raises(ConfigError, match="there already"):
        write_whole(path, b"new", over=False)
    assert path.read_bytes() == b"old"
    write_whole(path, b"new", over=True)
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.pdf"]


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_a_link_that_leads_nowhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="there already"):
        write_whole(tmp_path / "a.pdf", b"new", over=False)
    write_whole(tmp_path / "a.pdf", b"new", over=True)
    assert os.listdir(tmp_path) == ["a.pdf"]


def test_where_it_cannot_be_written_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        write_whole(tmp_path / "no" / "a.pdf", b"x", over=False)
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match="cannot be written"):
        write_whole(tmp_path / "folder", b"x", over=True)
    assert os.listdir(tmp_path) == ["folder"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    with tiny_disk(tmp_path, megabytes=1) as disk:
        path = disk / "a.pdf"
        path.write_bytes(b"old")
        with pytest.raises(DiskFullError):
            write_whole(path, os.urandom(2 << 20), over=True)
        assert path.read_bytes() == b"old"
        assert os.listdir(disk) == ["a.pdf"]
