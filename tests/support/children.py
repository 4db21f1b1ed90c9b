"""Entry functions of child processes for tests: what a child has from its start, how it ends, and lies.

Nothing heavy is imported here: each child of a test imports this module.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import time
from pathlib import Path
from typing import Any, BinaryIO

from docmind.runtime.worker import read_frame, write_frame


def facts(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Answer with what a process has from its start."""
    import resource

    while (frame := read_frame(incoming)) is not None:
        name = frame[0].get("environment", "")
        write_frame(
            outgoing,
            {
                "pid": os.getpid(),
                "parent": os.getppid(),
                "name": Path("/proc/self/comm").read_text().strip(),
                "threads": len(os.listdir("/proc/self/task")),
                "files": [os.readlink(f"/proc/self/fd/{number}") for number in _open_files()],
                "environment": {one: value for one, value in os.environ.items() if one.startswith(name)},
                "at": os.getcwd(),
                "random": random.random(),
                "memory": resource.getrlimit(resource.RLIMIT_AS)[0],
                "cpu_s": time.process_time(),
            },
        )


def _open_files() -> list[str]:
    """Return the descriptors of this process, without the one that lists them."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            os.readlink(f"/proc/self/fd/{number}")
            found.append(number)
    return found


def end_by_itself(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """End with the exit code, or by the signal, that the request names."""
    header = read_frame(incoming)[0]  # type: ignore[index]
    if "signal" in header:
        os.kill(os.getpid(), header["signal"])
    raise SystemExit(header["code"])


def stay(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Answer, then hold the interpreter busy in one call."""
    write_frame(outgoing, {"pid": os.getpid()})
    hang(incoming, outgoing)


def close_slowly(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Answer; at the end of its input take a moment, then make the file that it was told to make."""
    frame = read_frame(incoming)
    assert frame is not None
    write_frame(outgoing, {"pid": os.getpid()})
    assert read_frame(incoming) is None
    time.sleep(0.2)
    os.close(os.open(frame[0]["file"], os.O_CREAT | os.O_WRONLY))


def hang(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Hold the interpreter busy in one call, and never answer."""
    sum(range(1 << 62))


def lie_about_a_document(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Act as a reading process that a hostile file has taken over; the file's name says what it does."""
    frame = read_frame(incoming)
    assert frame is not None
    how = frame[0]["name"]
    opened = {"kind": "pdf", "facts": {}, "pages": 2, "told": ""}
    page = {
        "page_no": 1,
        "width": 9,
        "height": 9,
        "text_source": "layer",
        "confidence": 1.0,
        "needs_ocr": False,
        "losses": [],
    }
    blobs = [b"text", b"", b"image", b"thumbnail"]
    for part, lies in {"opened": opened, "page": page}.items():
        if how.startswith(part):
            lies |= json.loads(how.removeprefix(part))
    if how == "blobs":
        blobs.pop()
    if how == "words":
        blobs[1] = b"no words"
    if how == "letters":
        blobs[0] = b"\xff"
    write_frame(outgoing, opened)
    while True:
        write_frame(outgoing, {"error": ["EmptyFileError"]} if how == "error" else page, blobs)


def lie_about_a_picture(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Act as an OCR process that a hostile picture has taken over; the picture says what it does."""
    while (frame := read_frame(incoming)) is not None:
        answers: dict[bytes, tuple[dict[str, Any], list[bytes]]] = {
            b"blobs": ({"confidence": 1.0}, [b"text"]),
            b"words": ({"confidence": 1.0}, [b"text", b"no words"]),
            b"letters": ({"confidence": 1.0}, [b"\xff", b""]),
            b"confidence": ({"confidence": None}, [b"text", b""]),
            b"nothing": ({}, [b"text", b""]),
        }
        header, blobs = answers[frame[1][0]]
        write_frame(outgoing, {**header, "id": frame[0]["id"]}, blobs)
