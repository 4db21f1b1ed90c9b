from .calendar import (
    CAPITAL_MONTHS,
    MONTHS,
    MONTHS_IN_PROSE,
    ORDINAL_WEEKDAYS,
    SHORT_MONTHS,
    WEEKDAYS,
    WRITTEN_MONTHS,
    month_names,
    pattern_of,
)
from .folding import fold, folded, lowered_alike
from .forms import LANGUAGES, folded_word, forget_words, is_form, kept_words
from .lexicon import entries, lexicon
from .stop_words import STOP_WORDS, stop_words

__all__ = [
    "CAPITAL_MONTHS",
    "LANGUAGES",
    "MONTHS",
    "MONTHS_IN_PROSE",
    "ORDINAL_WEEKDAYS",
    "SHORT_MONTHS",
    "STOP_WORDS",
    "WEEKDAYS",
    "WRITTEN_MONTHS",
    "entries",
    "fold",
    "folded",
    "folded_word",
    "forget_words",
    "is_form",
    "kept_words",
    "lexicon",
    "lowered_alike",
    "month_names",
    "pattern_of",
    "stop_words",
]
