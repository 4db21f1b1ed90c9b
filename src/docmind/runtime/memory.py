"""Memory of this machine, and of the container that DocMind runs in, where control groups set a limit (Linux).

Control groups: https://docs.kernel.org/admin-guide/cgroup-v2.html#memory and, for version 1, cgroup-v1/memory.html.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_ROOT = Path("/")


def free_memory(root: Path = _ROOT) -> int:
    """Return the bytes that a new process can take: what the system has, within the limit of every group above.

    Memory that holds files only counts as free, as it does for the system. `root` is where /proc and /sys are.
    """
    import psutil

    free = int(psutil.virtual_memory().available)
    return max(0, min([free, *(limit - used for limit, used in _groups(root))]))


def total_memory(root: Path = _ROOT) -> int:
    """Return the bytes of memory that DocMind could ever take here: the system's, or the least limit of its groups."""
    import psutil

    return min([int(psutil.virtual_memory().total), *(limit for limit, _ in _groups(root))])


def _groups(root: Path) -> Iterator[tuple[int, int]]:
    """Yield limit and use of each group with a limit, from the innermost to the outermost."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, place = rest.partition(":")
        if controllers == "":
            yield from _limits(root / "sys/fs/cgroup", place, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _limits(root / "sys/fs/cgroup/memory", place, *names)


def _limits(mount: Path, place: str, limit: str, usage: str, files: str) -> Iterator[tuple[int, int]]:
    # In a container the path may be that of the host, of which only the end, or nothing, is mounted here.
    inner = PurePosixPath(place.lstrip("/"))
    for group in (inner, *inner.parents) if ".." not in inner.parts else (PurePosixPath(),):
        most, used = _number(_text(mount / group / limit)), _number(_text(mount / group / usage))
        if most is not None and used is not None:
            told = dict(line.split(" ", 1) for line in _text(mount / group / "memory.stat").splitlines() if " " in line)
            yield most, max(0, used - (_number(told.get(files, "")) or 0))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):  # no such group, or no control groups on this system
        return ""


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isdecimal() and len(text) < 20 else None
