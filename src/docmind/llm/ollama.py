"""Asks an Ollama server through LlamaIndex's `Ollama`, over our own wire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from docmind.config import LLMSettings
from docmind.errors import LanguageModelBrokenError
from docmind.llm.chat import chat_messages, offered
from docmind.llm.contract import Message, Tool, ToolCall
from docmind.llm.wire import Heard, Wire, one_line
from docmind.loading import ALONE

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


def model_of(wire: Wire, settings: LLMSettings, timeout_s: float) -> LLM:
    """The model, ready to be asked; imports what asking needs."""
    with ALONE:
        import ollama
        from llama_index.llms.ollama import Ollama

    client = ollama.Client(
        host=wire.endpoint.url, transport=wire, follow_redirects=False, trust_env=False, timeout=timeout_s
    )
    return Ollama(
        model=wire.info.model,
        base_url=wire.endpoint.url,
        client=client,
        temperature=settings.temperature,
        context_window=settings.context_tokens,  # one size always: with another one Ollama loads the model anew
        additional_kwargs={"num_predict": settings.max_tokens},
        keep_alive=None,  # how long it stays loaded is the server's own setting
    )


def rehearse(wire: Wire, settings: LLMSettings) -> None:
    """Nothing is put off until the first question here."""


def hear(model: LLM, wire: Wire, messages: Sequence[Message], tools: Sequence[Tool]) -> Iterator[Heard]:
    """What the model sends, piece by piece; the last piece has an `end`, unless the server broke off."""
    import ollama

    calls = 0
    try:
        for chunk in model.stream_chat(chat_messages(messages), **offered(tools)):
            raw: dict = chunk.raw  # type: ignore[assignment]
            told = raw["message"]
            if told.thinking:
                yield Heard(is_thought=True)
            if told.content:
                yield Heard(told.content)
            if told.tool_calls:
                asked = [call.function for call in told.tool_calls]
                yield Heard(
                    calls=tuple(
                        ToolCall(f"call_{calls + at}", one.name, dict(one.arguments)) for at, one in enumerate(asked)
                    )
                )
                calls += len(asked)
            if raw.get("done"):
                yield Heard(end=raw.get("done_reason") or "stop")
    except ollama.ResponseError as error:
        raise LanguageModelBrokenError(f"{wire.server} broke off: {one_line(error.error).rstrip('.')}.") from error
