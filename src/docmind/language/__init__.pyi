from .folding import fold, folded
from .forms import LANGUAGES, folded_word, forget_words, is_form, kept_words
from .lexicon import entries, lexicon

__all__ = [
    "LANGUAGES",
    "entries",
    "fold",
    "folded",
    "folded_word",
    "forget_words",
    "is_form",
    "kept_words",
    "lexicon",
]
