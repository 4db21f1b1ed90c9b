from .base import ChatModel, Message, Stop, Tool, ToolCall
from .client import key_for
from .inside import INSTALL, memory_needed
from .service import LanguageModels
from .trial import Trial, try_model

__all__ = [
    "INSTALL",
    "ChatModel",
    "LanguageModels",
    "Message",
    "Stop",
    "Tool",
    "ToolCall",
    "Trial",
    "key_for",
    "memory_needed",
    "try_model",
]
