"""An engine's process that ends by a signal at the point where it would open its shards."""

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
