from .catalogues import LANGUAGES, N_, _, language, ngettext, speak, system_language
from .languages import language_codes, language_name
from .numbers import date, day_and_month, month_and_year, number_text

__all__ = [
    "LANGUAGES",
    "N_",
    "_",
    "date",
    "day_and_month",
    "language",
    "language_codes",
    "language_name",
    "month_and_year",
    "ngettext",
    "number_text",
    "speak",
    "system_language",
]
