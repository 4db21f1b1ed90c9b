"""Protocols and records of language models: messages in, pieces of text out, until the end or a stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from docmind.records.conversations import ModelInfo

Stop = Callable[[], bool]
"""Called often, also while the server is silent; once it returns True, the stream ends within 0.2 s."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that a model requests. `arguments` is its JSON, checked by the code that runs the tool."""

    call_id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model may call. `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `call_id` names the call that a message of role `tool` answers.

    `images` are JPEG files, shown to the model after the text; only a message of role `user` has any.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    images: tuple[bytes, ...] = field(default=(), repr=False)


class ChatModel(Protocol):
    """A language model, ready for questions. Thread-safe."""

    info: ModelInfo

    def stream(self, messages: Sequence[Message], stop: Stop) -> Iterator[str]:
        """Yield pieces of the answer as they arrive, none empty. Ends with the model's answer or once `stop` is True.

        Raises `LanguageModelDownError`, `LanguageModelBrokenError`, `EndpointRefusedError`; pieces yielded before
        remain valid. Raises `ImagesRefusedError`, before any piece, where a message has images and the server does not
        accept them.
        """
        ...

    def step(self, messages: Sequence[Message], tools: Sequence[Tool], stop: Stop) -> Iterator[str | ToolCall]:
        """Yield pieces of text, then the tool calls that the model requests, if any."""
        ...
