"""Catalogues of texts: English is in the code, other languages in `<language>/LC_MESSAGES`.

`docmind.mo` has the texts of the interface, in the language that is in use; `answers.mo` has those of answers, in the
language of the question.
"""

from __future__ import annotations

import gettext
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

_FOLDER = Path(__file__).parent

LANGUAGES = {"en": "English", "pt": "Português", "es": "Español"}
"""Languages of the interface by ISO 639-1 code, each named in itself; those with a complete catalogue."""

_spoken = "en"


def speak(code: str) -> None:
    """Use this language from now on, in all threads; an unknown one is English."""
    global _spoken
    _spoken = code if code in LANGUAGES else "en"


def system_language(environ: Mapping[str, str]) -> str:
    """Return the code of the language that a process's environment asks for, English where there is no catalogue.

    The variables are those of gettext: LC_ALL, LC_MESSAGES and LANG, the first that is set.
    """
    wanted = next(filter(None, map(environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    code = wanted[:2].lower()
    return code if code in LANGUAGES else "en"


def language() -> str:
    """Return the code of the language in use."""
    return _spoken


def _(text: str) -> str:
    """Return a text of the interface in the language in use; fill its `{names}` with `format` afterwards."""
    return _catalogue("docmind", _spoken).gettext(text) if text else ""  # gettext gives the header for an empty text


def ngettext(one: str, many: str, number: int) -> str:
    """Return the form of a text that fits the number."""
    return _catalogue("docmind", _spoken).ngettext(one, many, number)


def N_(text: str) -> str:  # noqa: N802 - the name by which tools find texts that are translated later
    """Mark a text of a table at module level; call `_` on it where it is shown."""
    return text


def say(language: str, text: str, context: str = "") -> str:
    """Return a text of an answer in the language of its question; in English where there is no catalogue of it.

    `context` tells two meanings of one English text apart. Fill its `{names}` with `format` afterwards.
    """
    catalogue = _catalogue("answers", language)
    return catalogue.pgettext(context, text) if context else catalogue.gettext(text)


def say_many(language: str, one: str, many: str, number: int) -> str:
    """Return the form of a text of an answer that fits the number, in the language of its question, as `say` does."""
    return _catalogue("answers", language).ngettext(one, many, number)


def A_(text: str, context: str = "") -> str:  # noqa: N802 - as `N_`; the context is for those tools
    """Mark a text of an answer that stands in a table or variable; call `say` on it where it is told."""
    return text


def A_many(one: str, many: str) -> tuple[str, str]:  # noqa: N802
    """Mark the two forms of a text of an answer that stand in a table; call `say_many` on them where they are told."""
    return one, many


@lru_cache
def _catalogue(domain: str, code: str) -> gettext.NullTranslations:
    return gettext.translation(domain, _FOLDER, [code], fallback=True)
