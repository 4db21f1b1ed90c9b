from .catalogues import LANGUAGES, N_, _, language, ngettext, speak

__all__ = ["LANGUAGES", "N_", "_", "language", "ngettext", "speak"]
