"""The client of an Ollama server: LlamaIndex's `Ollama` over our own transport."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from docmind.config import LLMSettings
from docmind.llm.base import Message, Tool, ToolCall
from docmind.llm.openai import chat_messages, offered
from docmind.llm.transport import StreamEvent, Wire
from docmind.runtime import ALONE

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


def model_of(wire: Wire, settings: LLMSettings, timeout_s: float) -> LLM:
    """Return the model, ready for questions; imports the libraries."""
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
        context_window=settings.context_tokens,  # always the same size: with another one Ollama reloads the model
        additional_kwargs={"num_predict": settings.max_tokens},
        keep_alive=None,  # how long the model stays loaded is the server's setting
    )


def rehearse(wire: Wire, settings: LLMSettings) -> None:
    """Do nothing: no import is delayed until the first question here."""


def hear(model: LLM, wire: Wire, messages: Sequence[Message], tools: Sequence[Tool]) -> Iterator[StreamEvent]:
    """Yield the pieces that the model sends; the last piece has an `end`, unless the server broke off."""
    import ollama

    calls = 0
    try:
        for chunk in model.stream_chat(chat_messages(messages), **offered(tools)):
            raw: dict = chunk.raw  # type: ignore[assignment]
            told = raw["message"]
            if told.thinking:
                yield StreamEvent(is_thought=True)
            if told.content:
                yield StreamEvent(told.content)
            if told.tool_calls:
                asked = [call.function for call in told.tool_calls]
                yield StreamEvent(
                    calls=tuple(
                        ToolCall(f"call_{calls + at}", one.name, dict(one.arguments)) for at, one in enumerate(asked)
                    )
                )
                calls += len(asked)
            if raw.get("done"):
                yield StreamEvent(end=raw.get("done_reason") or "stop")
    except ollama.ResponseError as error:
        raise wire.broken(error.error) from error
