from .fusion import DedupKey
from .multimodal import MultimodalSearch
from .pages import PageSearch, checked_question
from .text import TextSearch

__all__ = [
    "DedupKey",
    "MultimodalSearch",
    "PageSearch",
    "TextSearch",
    "checked_question",
]
