"""What a child process may use and touch: memory, time, sizes, network, files and programs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a child; `memory_mb` and `cpu_s` 0 mean no limit. `cpu_s` counts over the life of the process.

    `file_mb` is the largest file it may write: -1 means any, 0 none. `local_sockets` allows sockets between its own
    processes.

    With `is_confined` it reads this Python, its packages, the system's libraries and `reads` alone, changes nothing
    outside the folders `writes`, and starts nothing but the programs `starts`, or those in such a folder. All of them
    are absolute paths; those that do not exist are left out. What holds it to that is in `docmind.runtime.sandbox`.
    """

    memory_mb: int = 0
    cpu_s: int = 0
    file_mb: int = -1
    network: bool = False
    local_sockets: bool = False
    is_confined: bool = False
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
