"""A language model without a server: it replays queued replies and keeps what it was sent. For tests and demos."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence

from docmind.conversation import ModelInfo
from docmind.llm.contract import Message, Stop, Tool, ToolCall

Part = str | ToolCall | Exception
Reply = Part | Sequence[Part]
"""A text (sent word by word), a call, an error to raise, or these one after the other: strings go out as they are."""

_LOOK_S = 0.02
"""How long it sleeps before it asks `stop` again."""


class FakeChatModel:
    """Gives the queued replies one by one; `delay_s` passes before each part. With `loop` the last one is repeated.

    Safe from any thread: each call takes one reply. `received` holds the messages of every call, `offered` its tools.
    """

    def __init__(
        self, *replies: Reply, delay_s: float = 0.0, loop: bool = False, info: ModelInfo | None = None
    ) -> None:
        self.info = info or ModelInfo("ollama", "http://127.0.0.1:11434", "fake", is_tool_calling=True)
        self.received: list[tuple[Message, ...]] = []
        self.offered: list[tuple[Tool, ...]] = []
        self._replies = deque(replies)
        self._delay_s = delay_s
        self._loop = loop
        self._lock = threading.Lock()

    def queue(self, *replies: Reply) -> None:
        """Put more replies behind those that wait."""
        with self._lock:
            self._replies.extend(replies)

    def stream(self, messages: Sequence[Message], stop: Stop) -> Iterator[str]:
        """Pieces of the next reply; its calls are left out, as a model without tools has none."""
        return (part for part in self._play(messages, (), stop) if isinstance(part, str))

    def step(self, messages: Sequence[Message], tools: Sequence[Tool], stop: Stop) -> Iterator[str | ToolCall]:
        """Pieces and calls of the next reply."""
        return self._play(messages, tools, stop)

    def _play(self, messages: Sequence[Message], tools: Sequence[Tool], stop: Stop) -> Iterator[str | ToolCall]:
        for part in self._next(tuple(messages), tuple(tools)):
            until = time.monotonic() + self._delay_s
            while not stop() and (left := until - time.monotonic()) > 0:
                time.sleep(min(_LOOK_S, left))
            if stop():
                return
            if isinstance(part, Exception):
                raise part
            if part:
                yield part

    def _next(self, messages: tuple[Message, ...], tools: tuple[Tool, ...]) -> Sequence[Part]:
        with self._lock:
            self.received.append(messages)
            self.offered.append(tools)
            if not self._replies:
                raise LookupError("the fake model was asked more often than it has replies")
            reply = self._replies[0] if self._loop and len(self._replies) == 1 else self._replies.popleft()
        if isinstance(reply, str):
            words = reply.split(" ")
            return [f"{word} " for word in words[:-1]] + words[-1:]
        return [reply] if isinstance(reply, ToolCall | Exception) else reply
