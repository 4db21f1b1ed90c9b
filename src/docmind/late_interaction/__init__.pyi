from .store import LatePages
from .text_maxsim import matches, scores
from .turning import turn_pages

__all__ = [
    "LatePages",
    "matches",
    "scores",
    "turn_pages",
]
