"""What DocMind tells about itself: a log on stderr, and nothing to anybody else, a dump of its memory neither."""

from __future__ import annotations

import contextlib
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
# LangGraph sends every question and passage to a tracing service where these are set, be it for another program.
_NO_TRACING = ("LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2", "LANGSMITH_TRACING", "LANGCHAIN_TRACING")


def start(level: Literal["debug", "info", "warning", "error"]) -> None:
    """Log at `level`, libraries at errors only; keep libraries from the network, and a crash from leaving keys and text
    on the disk (where the system has such a limit). Call it first at an entry point.

    A variable that the user has set stays as it is, but for tracing: that is off.
    """
    os.environ.update(dict.fromkeys(_NO_TRACING, "false"))
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.ERROR)
    logging.getLogger("docmind").setLevel(level.upper())
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows writes no core files by itself
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
