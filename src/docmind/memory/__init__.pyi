from .service import LONGEST, Memories, requested

__all__ = [
    "LONGEST",
    "Memories",
    "requested",
]
