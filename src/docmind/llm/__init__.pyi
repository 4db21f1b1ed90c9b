from .base import ChatModel, Message, Stop, Tool, ToolCall
from .service import LanguageModels

__all__ = [
    "ChatModel",
    "LanguageModels",
    "Message",
    "Stop",
    "Tool",
    "ToolCall",
]
