from .base import ChatModel, Message, Stop, Tool, ToolCall
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
]
