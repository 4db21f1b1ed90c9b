"""The connection to Chromium, with the ends of its pipe held by the test."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest

from docmind.errors import WorkerFailedError
from docmind.reading.chromium.browser import Chromium
from docmind.reading.chromium.print import Message, Pipe


@dataclass
class Ends:
    """What a `Pipe` uses of a Chromium."""

    incoming: int
    outgoing: int

    def obituary(self) -> str:
        return "Chromium closed its pipe"


@dataclass
class Far:
    """Chromium's side: what it was sent, and a way to answer."""

    pipe: Pipe
    incoming: int
    outgoing: int
    heard: list[Message]

    def say(self, data: bytes) -> None:
        """Write from a thread: a pipe holds only the beginning of a long message."""

        def write() -> None:
            left = memoryview(data)
            while left:
                left = left[os.write(self.outgoing, left) :]

        threading.Thread(target=write, daemon=True).start()


@pytest.fixture
def far() -> Iterator[Far]:
    incoming, theirs_out = os.pipe()
    theirs_in, outgoing = os.pipe()
    heard: list[Message] = []
    pipe = Pipe(cast("Chromium", Ends(incoming, outgoing)), heard.append, lambda: None)
    yield Far(pipe, theirs_in, theirs_out, heard)
    pipe.close()
    os.close(theirs_in)


def packed(**message: Any) -> bytes:
    return json.dumps(message).encode() + b"\0"


def until() -> float:
    return time.monotonic() + 60


@pytest.mark.slow
def test_a_long_message_arrives_whole(far: Far) -> None:
    data = "".join(chr(65 + number % 26) for number in range(32 << 20))
    far.say(packed(method="Page.loadEventFired") + packed(id=1, result={"data": data}))
    assert far.pipe.call("Page.printToPDF", until=until()) == {"data": data}
    assert far.heard == [{"method": "Page.loadEventFired"}], "events before the answer are heard"
    os.close(far.outgoing)


def test_commands_are_numbered_and_end_with_a_zero_byte(far: Far) -> None:
    assert [far.pipe.send("Page.enable"), far.pipe.send("Page.navigate", {"url": "about:blank"}, "s")] == [1, 2]
    first, second, rest = os.read(far.incoming, 1000).split(b"\0")
    assert json.loads(first) == {"id": 1, "method": "Page.enable", "params": {}}
    assert json.loads(second) == {
        "id": 2, "method": "Page.navigate", "params": {"url": "about:blank"}, "sessionId": "s",
    }  # fmt: skip
    assert rest == b""
    os.close(far.outgoing)


@pytest.mark.parametrize("last", [b"", b"{not json\0", b'{"half'])
def test_a_pipe_that_closes_or_breaks_is_an_error(far: Far, last: bytes) -> None:
    os.write(far.outgoing, packed(method="Inspector.enable") + last)
    os.close(far.outgoing)
    with pytest.raises(WorkerFailedError, match="closed its pipe"):
        far.pipe.wait(lambda message: "id" in message, until())
    assert far.heard == [{"method": "Inspector.enable"}]


def test_a_refused_command_and_a_late_answer_are_errors(far: Far) -> None:
    far.say(packed(id=1, error={"message": "No such target"}))
    with pytest.raises(WorkerFailedError, match=r"refused Target.attach \(No such target\)"):
        far.pipe.call("Target.attach", until=until())
    with pytest.raises(WorkerFailedError, match="took too long"):
        far.pipe.call("Page.navigate", until=time.monotonic() + 0.05)
    os.close(far.outgoing)
