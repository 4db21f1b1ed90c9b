from .questions import Judged, Question, character_error_rate, judge, read_questions, rows_of, score

__all__ = [
    "Judged",
    "Question",
    "character_error_rate",
    "judge",
    "read_questions",
    "rows_of",
    "score",
]
