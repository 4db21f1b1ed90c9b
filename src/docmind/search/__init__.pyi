from .multimodal import MultimodalSearch
from .pages import PageSearch
from .text import TextSearch

__all__ = [
    "MultimodalSearch",
    "PageSearch",
    "TextSearch",
]
