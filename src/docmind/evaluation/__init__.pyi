from .labels import SourceLabels
from .metrics import Scored, difference_of, figure_of, scored
from .questions import Judged, Question, character_error_rate, judge, read_questions, rows_of, score
from .sets import VISUAL, LabelledQuery, LabelledSet, labelled_set, read_set, sample_folder
from .trec import trec_run

__all__ = [
    "VISUAL",
    "Judged",
    "LabelledQuery",
    "LabelledSet",
    "Question",
    "Scored",
    "SourceLabels",
    "character_error_rate",
    "difference_of",
    "figure_of",
    "judge",
    "labelled_set",
    "read_questions",
    "read_set",
    "rows_of",
    "sample_folder",
    "score",
    "scored",
    "trec_run",
]
