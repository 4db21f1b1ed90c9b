from .base import ChatModel, Message, Stop, Tool, ToolCall
from .client import key_for
from .inside import INSTALL, memory_needed
from .service import LanguageModels

__all__ = [
    "INSTALL",
    "ChatModel",
    "LanguageModels",
    "Message",
    "Stop",
    "Tool",
    "ToolCall",
    "key_for",
    "memory_needed",
]
