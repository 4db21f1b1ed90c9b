"""What every language model does here: messages in, pieces of text out, until it ends or is stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from docmind.conversation import ModelInfo

Stop = Callable[[], bool]
"""Asked often, also while the server is silent; once it says yes, the stream ends within 0.2 s."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model wants done. `arguments` is its JSON, checked by whoever does it."""

    call_id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tool:
    """What a model may ask for. `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `call_id` names the call that a message of role `tool` answers."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


class ChatModel(Protocol):
    """A language model, ready to be asked. Safe from any thread."""

    info: ModelInfo

    def stream(self, messages: Sequence[Message], stop: Stop) -> Iterator[str]:
        """Pieces of the answer as they come, none empty. Ends where the model ends or once `stop` says so.

        Raises `LanguageModelDownError`, `LanguageModelBrokenError`, `EndpointRefusedError`; what was yielded before
        stands.
        """
        ...

    def step(self, messages: Sequence[Message], tools: Sequence[Tool], stop: Stop) -> Iterator[str | ToolCall]:
        """The same with tools: pieces of text, then the calls the model wants answered, if any."""
        ...
