"""The names of languages, for people."""

from docmind.wording.catalogues import N_, _

_LANGUAGES = {
    "ca": N_("Catalan"), "cs": N_("Czech"), "da": N_("Danish"), "de": N_("German"), "el": N_("Greek"),
    "en": N_("English"), "es": N_("Spanish"), "fi": N_("Finnish"), "fr": N_("French"), "gl": N_("Galician"),
    "hu": N_("Hungarian"), "it": N_("Italian"), "ja": N_("Japanese"), "ko": N_("Korean"), "la": N_("Latin"),
    "nl": N_("Dutch"), "no": N_("Norwegian"), "pl": N_("Polish"), "pt": N_("Portuguese"), "ro": N_("Romanian"),
    "ru": N_("Russian"), "sv": N_("Swedish"), "tr": N_("Turkish"), "uk": N_("Ukrainian"), "zh": N_("Chinese"),
}  # fmt: skip


def language_name(code: str) -> str:
    """Return the name of a language by its ISO 639-1 code, or the code itself."""
    return _(_LANGUAGES[code]) if code in _LANGUAGES else code.upper()


def language_codes() -> tuple[str, ...]:
    """Return the ISO 639-1 codes that have a name here."""
    return tuple(_LANGUAGES)
