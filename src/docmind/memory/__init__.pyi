from .service import LONGEST, Memories

__all__ = [
    "LONGEST",
    "Memories",
]
