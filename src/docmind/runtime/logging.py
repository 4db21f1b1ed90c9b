"""Logging to stderr, and no core dumps after a crash."""

from __future__ import annotations

import contextlib
import logging
from typing import Literal


def start_logging(level: Literal["debug", "info", "warning", "error"]) -> None:
    """Log DocMind at `level` and libraries at error level, and disable core dumps.

    A core dump would leave keys and text on the disk; systems without such a limit are left as they are. Call it first
    at an entry point. The variables that disable reports of libraries are set when `docmind` is imported
    (`docmind.runtime.quiet`).
    """
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.ERROR)
    logging.getLogger("docmind").setLevel(level.upper())
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows writes no core files by itself
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
