"""Catalogues of the interface's texts: English is in the code, others in `<language>/LC_MESSAGES/docmind.mo`."""

from __future__ import annotations

import gettext
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

_DOMAIN = "docmind"
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
    return _catalogue(_spoken).gettext(text) if text else ""  # gettext gives the header for an empty text


def ngettext(one: str, many: str, number: int) -> str:
    """Return the form of a text that fits the number."""
    return _catalogue(_spoken).ngettext(one, many, number)


def N_(text: str) -> str:  # noqa: N802 - the name by which tools find texts that are translated later
    """Mark a text of a table at module level; call `_` on it where it is shown."""
    return text


@lru_cache
def _catalogue(code: str) -> gettext.NullTranslations:
    return gettext.translation(_DOMAIN, _FOLDER, [code], fallback=True)
