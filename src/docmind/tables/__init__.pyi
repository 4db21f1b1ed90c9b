from .groups import scores_of
from .service import TableAnswers
from .telling import TableAnswer

__all__ = [
    "TableAnswer",
    "TableAnswers",
    "scores_of",
]
