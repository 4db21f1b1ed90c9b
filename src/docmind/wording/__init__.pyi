from .catalogues import LANGUAGES, N_, _, language, ngettext, speak, system_language

__all__ = ["LANGUAGES", "N_", "_", "language", "ngettext", "speak", "system_language"]
