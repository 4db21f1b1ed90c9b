from .catalogues import A_, LANGUAGES, N_, A_many, _, language, ngettext, say, say_many, speak, system_language
from .languages import language_codes, language_name
from .numbers import date, day_and_month, month_and_year, number_text

__all__ = [
    "A_",
    "LANGUAGES",
    "N_",
    "A_many",
    "_",
    "date",
    "day_and_month",
    "language",
    "language_codes",
    "language_name",
    "month_and_year",
    "ngettext",
    "number_text",
    "say",
    "say_many",
    "speak",
    "system_language",
]
