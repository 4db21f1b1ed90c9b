"""Our messages and tools in LlamaIndex's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from docmind.llm.contract import Message, Tool

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage


def chat_messages(messages: Sequence[Message]) -> list[ChatMessage]:
    """The same messages; a tool's answer names the call it belongs to."""
    from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock

    made = []
    for message in messages:
        blocks: list[Any] = [TextBlock(text=message.text)]
        blocks += [
            ToolCallBlock(tool_call_id=call.call_id, tool_name=call.name, tool_kwargs=call.arguments)
            for call in message.calls
        ]
        named = {"tool_call_id": message.call_id} if message.role == "tool" else {}
        made.append(ChatMessage(role=MessageRole(message.role), blocks=blocks, additional_kwargs=named))
    return made


def offered(tools: Sequence[Tool]) -> dict[str, Any]:
    """What to add to a request so that the model may ask for tools: nothing without any."""
    if not tools:
        return {}
    told = [{"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in tools]
    return {"tools": [{"type": "function", "function": one} for one in told]}
