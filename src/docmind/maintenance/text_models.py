"""The text model of a library: which one it is, those that there are, and the change to another one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from docmind.config import Settings
from docmind.embedding import (
    AUTO,
    TextEmbedder,
    automatic,
    close_text_model,
    facts_of,
    open_text_model,
    text_model_capability,
    text_model_of_vault,
    text_models,
)
from docmind.errors import ConfigError, DamagedError, ExtraMissingError
from docmind.maintenance.snapshots import Snapshots
from docmind.model_files import pull_text_model
from docmind.records.models import PullProgress, TextModelCard
from docmind.storage import Preferences
from docmind.vault import Vault
from docmind.wording import _

_TEXT_MODEL = "text-model"  # the preference that has the name of the vault's text model
_TEXT_FACTS = "text-model.facts"


def opened_text_model(settings: Settings, vault: Vault) -> tuple[Settings, TextEmbedder]:
    """Open the text model of a vault; return the settings with its name, also in place of `auto`, and the model.

    The name is kept, so that a vault keeps to its model when the weights of another one are installed. Raises
    `ConfigError`, `TextModelError`.
    """
    preferences = Preferences(vault.database)
    kept = facts = None
    with suppress(DamagedError):  # as if none was kept
        kept = preferences.get(_TEXT_MODEL)
    with suppress(DamagedError):
        facts = preferences.get(_TEXT_FACTS)
    name = settings.embedding.model
    if name == AUTO:
        name = automatic(kept, has_vectors=vault.nodes.has_vectors())
    embedding = settings.embedding.model_copy(update={"model": name})
    settings = settings.model_copy(update={"embedding": embedding})
    embedder = text_model_of_vault(settings, facts)
    if not vault.is_read_only:
        if name != kept:
            preferences.put(_TEXT_MODEL, name)
        if (now := facts_of(settings, embedder)) != facts:
            preferences.put(_TEXT_FACTS, now)
    return settings, embedder


class TextModels:
    """The text models that a library can use. Thread-safe."""

    def __init__(
        self, settings: Settings, *, vault: Vault, embedder: TextEmbedder, snapshots: Snapshots, is_set: bool
    ) -> None:
        """Set up for a vault that uses `embedder`; with `is_set` the settings name that model."""
        self._settings, self._vault, self._embedder = settings, vault, embedder
        self._snapshots, self._is_set = snapshots, is_set

    def all(self) -> tuple[TextModelCard, ...]:
        """Return the text models that there are, DocMind's own and those in the models folder; loads none."""
        return text_models(self._settings)

    def pull(self, name: str, progress: Callable[[PullProgress], None]) -> TextModelCard:
        """Fetch a text model that the hub has (`model_files.KNOWN_TEXT`), and return it.

        Raises `DownloadError`, `DiskFullError`, `ConfigError`.
        """
        pull_text_model(self._settings, name, progress, lambda: None)
        return next(card for card in self.all() if card.name == name)

    def choose(self, name: str) -> None:
        """Choose the vault's text model: it is used from the next opening on, and `reindex` then embeds with it.

        A snapshot is taken before. To go back, choose the model that it names: its vectors are still there, or are made
        again. Raises `ConfigError` where there is no such model or the settings name one, `TextModelError` and
        `ExtraMissingError` where it is not whole.
        """
        self._vault.database.check_writable()
        if self._is_set:
            raise ConfigError(
                _("The text model is set by DOCMIND_EMBEDDING__MODEL."), hint=_("Unset it, or set it to another model.")
            )
        chosen = self._settings.embedding.model_copy(update={"model": name})
        settings = self._settings.model_copy(update={"embedding": chosen})
        close_text_model(open_text_model(settings))
        found = text_model_capability(settings)
        if found.state != "present":
            raise ExtraMissingError(
                _("The text model {name} is not installed.").format(name=name),
                hint=found.hint,
            )
        if name != self._embedder.name:
            self._snapshots.create(reason="text model")
        Preferences(self._vault.database).put(_TEXT_MODEL, name)
