from .service import Conversations

__all__ = [
    "Conversations",
]
