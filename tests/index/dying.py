"""Engine processes that end by a signal where they would open their shards, or that fail at each request."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import BinaryIO

from docmind.runtime.worker import read_frame, write_frame


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Greet, read the request to open, die by the signal in `DYING_SIGNAL`; each time a line in `DYING_NOTES`."""
    write_frame(outgoing, {"hello": True})
    read_frame(incoming)
    with Path(os.environ["DYING_NOTES"]).open("a") as notes:
        notes.write("died\n")
    os.kill(os.getpid(), int(os.environ["DYING_SIGNAL"]))
    time.sleep(10)


def serve_failures(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Greet, open nothing, and answer each request with an error whose words are in `DYING_WORDS`."""
    write_frame(outgoing, {"hello": True})
    read_frame(incoming)
    write_frame(outgoing, {})
    while read_frame(incoming) is not None:
        with Path(os.environ["DYING_NOTES"]).open("a") as notes:
            notes.write("failed\n")
        write_frame(outgoing, {"error": "engine", "message": os.environ["DYING_WORDS"]})
