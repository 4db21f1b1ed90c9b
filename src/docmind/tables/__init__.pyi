from .service import TableAnswers
from .telling import TableAnswer

__all__ = [
    "TableAnswer",
    "TableAnswers",
]
