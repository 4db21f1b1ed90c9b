"""Free memory: that of the system, and what the limits of control groups leave of it."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from docmind.runtime import free_memory, total_memory

GB = 1 << 30


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "proc/self").mkdir(parents=True)
    return tmp_path


def group(root: Path, place: str, **files: str) -> None:
    folder = root / "sys/fs/cgroup" / place
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def test_without_groups_it_is_what_the_system_has(root: Path) -> None:
    assert total_memory(root) == psutil.virtual_memory().total
    assert abs(free_memory(root) - psutil.virtual_memory().available) < GB
    assert 0 < free_memory() <= total_memory()


def test_the_least_of_the_limits_above_counts_and_files_are_free(root: Path) -> None:
    (root / "proc/self/cgroup").write_text("0::/user/app\n")
    group(root, "user/app", memory__max="max\n", memory__current="5\n")
    group(
        root,
        "user",
        memory__max=f"{GB}\n",
        memory__current=f"{GB // 2}\n",
        memory__stat=f"anon 3\ninactive_file {GB // 4}\n",
    )
    assert total_memory(root) == GB
    assert free_memory(root) == GB - GB // 2 + GB // 4
    group(root, "user", memory__current=f"{2 * GB}\n")
    assert free_memory(root) == 0


def test_in_a_container_the_limit_lies_at_the_root(root: Path) -> None:
    (root / "proc/self/cgroup").write_text("0::/../../docker/abc\n")
    group(root, ".", memory__max=f"{GB}\n", memory__current="0\n")
    assert (total_memory(root), free_memory(root)) == (GB, GB)


def test_version_1_of_control_groups(root: Path) -> None:
    (root / "proc/self/cgroup").write_text("5:cpu,cpuacct:/x\n4:memory:/docker/abc\n1:name=systemd:/\n")
    group(root, "memory", memory__limit_in_bytes=f"{2 * GB}\n", memory__usage_in_bytes=f"{GB}\n", memory__stat="")
    group(root, "memory/docker/abc", memory__limit_in_bytes="9223372036854771712", memory__usage_in_bytes="7")
    assert total_memory(root) == 2 * GB
    assert free_memory(root) == GB


@pytest.mark.parametrize("told", ["", "nonsense", "0::", "0::/a\n0::/b\n", "0::/\xff"])
def test_what_cannot_be_read_limits_nothing(root: Path, told: str) -> None:
    (root / "proc/self/cgroup").write_bytes(told.encode("latin-1"))
    group(root, "a", memory__max="a lot", memory__current="-1")
    assert total_memory(root) == psutil.virtual_memory().total
