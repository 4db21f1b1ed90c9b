from .base import ChatModel, Message, Stop, Tool, ToolCall
from .client import key_for
from .inside import INSTALL
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
]
