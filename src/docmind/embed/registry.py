"""Text models by name."""

from __future__ import annotations

from collections.abc import Callable

from docmind.config import Settings
from docmind.embed.contract import TextEmbedder
from docmind.errors import ConfigError


def _minilm(settings: Settings) -> TextEmbedder:
    from docmind.embed.minilm import MiniLM, default_cache_dir

    chosen = settings.embedding
    return MiniLM(settings.cache_dir or default_cache_dir(), precision=chosen.precision, threads=chosen.threads)


def _fake(_settings: Settings) -> TextEmbedder:
    from docmind.embed.fake import FakeEmbedder

    return FakeEmbedder()


TEXT_MODELS: dict[str, Callable[[Settings], TextEmbedder]] = {"minilm": _minilm, "fake": _fake}


def open_text_model(settings: Settings) -> TextEmbedder:
    """The text model the settings name. Raises `ConfigError` with the names there are."""
    build = TEXT_MODELS.get(settings.embedding.model)
    if build is None:
        raise ConfigError(f"There is no text model {settings.embedding.model!r}; there are: {', '.join(TEXT_MODELS)}.")
    return build(settings)
