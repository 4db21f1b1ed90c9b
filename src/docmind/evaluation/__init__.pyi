from .labels import SourceLabels
from .metrics import Scored, difference_of, figure_of, scored
from .questions import Judged, Question, character_error_rate, judge, read_questions, rows_of, score

__all__ = [
    "Judged",
    "Question",
    "Scored",
    "SourceLabels",
    "character_error_rate",
    "difference_of",
    "figure_of",
    "judge",
    "read_questions",
    "rows_of",
    "score",
    "scored",
]
