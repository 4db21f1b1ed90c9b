from .fusion import DedupKey
from .multimodal import MultimodalSearch
from .pages import PageSearch, checked_question
from .query_cache import QueryCache
from .text import TextSearch

__all__ = [
    "DedupKey",
    "MultimodalSearch",
    "PageSearch",
    "QueryCache",
    "TextSearch",
    "checked_question",
]
