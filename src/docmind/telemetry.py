"""What DocMind tells about itself: a log on stderr, and nothing to anybody else."""

from __future__ import annotations

import logging
import os
from typing import Literal

_QUIET = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
    "ANONYMIZED_TELEMETRY": "false",
    "LANGGRAPH_STRICT_MSGPACK": "true",
}


def start(level: Literal["debug", "info", "warning", "error"]) -> None:
    """Log at `level`, libraries at errors only; keep libraries from the network. Call it first at an entry point.

    A variable that the user has set stays as it is.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.ERROR)
    logging.getLogger("docmind").setLevel(level.upper())
