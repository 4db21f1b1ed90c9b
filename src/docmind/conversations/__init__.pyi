from .instructions import LONGEST_INSTRUCTIONS
from .service import Conversations

__all__ = [
    "LONGEST_INSTRUCTIONS",
    "Conversations",
]
