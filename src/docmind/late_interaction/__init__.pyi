from .store import LatePages
from .text_maxsim import matches, scores

__all__ = [
    "LatePages",
    "matches",
    "scores",
]
