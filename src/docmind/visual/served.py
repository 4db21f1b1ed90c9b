"""The model of each kind in use, and the switch from one model to another.

The model is that of the setting, else the choice, else the model of the existing vectors. The vectors of the served
model answer searches until those of another are complete.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from docmind.config import VisualSettings
from docmind.documents import Catalog, PageVectors
from docmind.errors import ConfigError, DamagedError
from docmind.index import SIGLIP_DIM
from docmind.model_files import Weights
from docmind.records.models import Description, ModelKind
from docmind.storage import Database, Preferences
from docmind.visual.vector_stores import LateStore
from docmind.wording import _

_SWITCH = ""  # the document under which a switch is recorded: it changes all, so it names none


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """The model whose vectors answer; `before` is the one that answered until the index reached `epoch`."""

    fingerprint: str = ""
    name: str = ""
    before: str = ""
    before_name: str = ""
    epoch: int = 0


class ModelUse:
    """The record of one kind of model. Thread-safe; only one process owns a vault."""

    def __init__(self, kind: ModelKind, database: Database, catalog: Catalog) -> None:
        self._kind, self._key = kind, served_key(kind)
        self._database, self._catalog = database, catalog
        self._preferences = Preferences(database)
        self._lock = threading.Lock()
        self._served: ModelInUse | None = None

    def now(self) -> ModelInUse:
        """Return the model that answers now. Raises `DamagedError`."""
        with self._lock:
            if self._served is None:
                kept = self._preferences.get(self._key)
                try:
                    self._served = ModelInUse(**kept) if kept else ModelInUse()
                except TypeError as error:
                    raise DamagedError(_("The record of the visual model in use is not readable.")) from error
            return self._served

    def adopt(self, description: Description) -> None:
        """Answer from this model from now on: there are no vectors of another one, or none are left here.

        An index may still hold multivectors whose files were deleted manually; that is a switch as well.
        """
        if self._kind == "image" or self.now().fingerprint in ("", description.fingerprint):
            self._keep(ModelInUse(description.fingerprint, description.name))
        else:
            self._change(description, ModelInUse())

    def switch(self, description: Description) -> None:
        """Answer from this model: at once, or when the index has reached the epoch of this change."""
        self._change(description, self.now())

    def _change(self, description: Description, old: ModelInUse) -> None:
        with self._database.transaction():
            epoch = self._catalog.touch(_SWITCH)[1]
            served = ModelInUse(description.fingerprint, description.name, old.fingerprint, old.name, epoch)
            self._preferences.put(self._key, asdict(served))
        self._note(served)

    def settle(self) -> None:
        """Forget the previous model."""
        served = self.now()
        self._keep(ModelInUse(served.fingerprint, served.name, epoch=served.epoch))

    def _keep(self, served: ModelInUse) -> None:
        self._preferences.put(self._key, asdict(served))
        self._note(served)

    def _note(self, served: ModelInUse) -> None:
        with self._lock:
            self._served = served


class _Indexed:
    """The mirror's view: which model of a kind the index has at an epoch."""

    def __init__(self, serving: ModelUse) -> None:
        self._serving = serving

    def at(self, epoch: int) -> str:
        served = self._serving.now()
        return served.fingerprint if epoch >= served.epoch else served.before

    def switched_at(self) -> int:
        return self._serving.now().epoch


class IndexedImages(_Indexed):
    """The image model of the index, and its vectors."""

    def __init__(self, serving: ModelUse, vectors: PageVectors) -> None:
        super().__init__(serving)
        self._vectors = vectors

    def vectors(self, fingerprint: str, images: Sequence[str]) -> dict[str, np.ndarray]:
        return self._vectors.get(fingerprint, images)


class IndexedLate(_Indexed):
    """The late interaction model of the index, and its multivectors."""

    def __init__(self, serving: ModelUse, store: LateStore) -> None:
        super().__init__(serving)
        self._store = store

    def multivectors(self, fingerprint: str, images: Sequence[str]) -> dict[str, dict[str, np.ndarray]]:
        return self._store.multivectors(fingerprint, images)


_OFF = "off"
_AUTO = "auto"


class ModelChoice:
    """The choice of models. Settings, choices and weights are read at each call, since files may come and go."""

    def __init__(
        self, settings: VisualSettings, preferences: Preferences, weights: Weights, serving: dict[ModelKind, ModelUse]
    ) -> None:
        self._set: dict[ModelKind, str] = {"image": settings.image_model, "late": settings.late_model}
        self._preferences, self._weights, self._serving = preferences, weights, serving

    def model(self, kind: ModelKind) -> Description | None:
        """Return the model in use, or that should be: `state` says whether it can be. None where the kind is off.

        Raises `ConfigError` where the setting names no model of this kind.
        """
        name = self._name(kind)
        if name is None:
            return None
        description = self.describe(name, kind)
        if description.kind != kind:
            raise ConfigError(
                _("{name} isn't a model of the kind {kind}, but {other_kind}.").format(
                    name=description.name, kind=kind, other_kind=description.kind
                ),
                hint=_("Set {setting} to another name of `docmind models list`, to auto or to off.").format(
                    setting=_variable(kind)
                ),
            )
        return description

    def model_to_use(self, kind: ModelKind) -> Description | None:
        """Return the same as `model`; a model that cannot be used is returned as broken."""
        try:
            description = self.model(kind)
            if description is not None:
                check_fits(description)
            return description
        except ConfigError as error:
            name = self._weights.name_of(self._name(kind) or "")
            return Description(name, kind, "", None, "broken", 0, "", reason=str(error), hint=error.hint)

    def describe(self, name: str, kind: ModelKind | None = None) -> Description:
        """Return a model by name or directory. A missing directory is a missing model, where `kind` is known.

        Raises `ConfigError`.
        """
        try:
            return self._weights.describe(name)
        except ConfigError as error:
            directory = self._weights.own.directory(name) or Path(os.path.expanduser(name))
            if kind is None or directory.is_dir() or not directory.is_absolute():
                raise
            return Description(
                self._weights.name_of(name), kind, "", None, "missing", 0, "",
                reason=_("Its directory has gone."), hint=error.hint or _("Bring it back, or choose another model."),
            )  # fmt: skip

    def choose(self, kind: ModelKind, name: str | None) -> None:
        """Store a choice by the name of a model; None means off.

        Raises `ConfigError` where a setting decides, or where the name of a directory cannot be written down.
        """
        wanted = self._set[kind]
        if wanted != _AUTO and (name is None or self._weights.name_of(wanted) != name):
            raise ConfigError(
                _("{setting} is set to {wanted}, and decides.").format(setting=_variable(kind), wanted=wanted),
                hint=_("Unset {setting} to choose here.").format(setting=_variable(kind)),
            )
        if name is not None and wanted == _AUTO:
            self._weights.keep(name)
        self._preferences.put(choice_key(kind), _OFF if name is None else name)

    def forbids(self, kind: ModelKind) -> str:
        """Return the setting that switches this kind off; "" where none does."""
        return _variable(kind) if self._set[kind] == _OFF else ""

    def check_free(self, description: Description) -> None:
        """Raise `ConfigError` where a setting names another model of this kind, or switches it off."""
        wanted = self._set[description.kind]
        if wanted == _AUTO:
            return
        if wanted == _OFF or self.describe(wanted, description.kind).fingerprint != description.fingerprint:
            named = self._weights.name_of(wanted)
            raise ConfigError(
                _("{setting} is set to {named}: pages are not embedded with {name}.").format(
                    setting=_variable(description.kind), named=named, name=description.name
                ),
                hint=_("Set {setting} to {name}, or to auto.").format(
                    setting=_variable(description.kind), name=description.name
                ),
            )

    def follow(self, description: Description) -> None:
        """Choose this model if another was chosen, because it answers searches now; `off` stays."""
        kind = description.kind
        if self._set[kind] == _AUTO and self._preferences.get(choice_key(kind)) not in (None, _OFF):
            self._preferences.put(choice_key(kind), description.name)

    def _name(self, kind: ModelKind) -> str | None:
        """Return the name or directory of the model; None means off."""
        wanted = self._set[kind]
        if wanted != _AUTO:
            return None if wanted == _OFF else wanted
        chosen = self._preferences.get(choice_key(kind))
        if isinstance(chosen, str):
            return None if chosen == _OFF else chosen
        if self._serving[kind].now().name:
            return self._serving[kind].now().name
        present = (one for one in self._weights.all() if one.kind == kind and one.state == "present")
        return next((one.name for one in present if kind == "late" or one.dim <= SIGLIP_DIM), None)


def check_fits(description: Description) -> None:
    """Raise `ConfigError` where the vectors of this model are too long for the index."""
    if description.kind == "image" and description.state == "present" and description.dim > SIGLIP_DIM:
        raise ConfigError(
            _("{name} makes vectors of {dim} numbers; the index holds {limit} a page.").format(
                name=description.name, dim=description.dim, limit=SIGLIP_DIM
            ),
            hint=_("siglip, siglip-384 and siglip2 fit, and every model of up to 768 dimensions."),
        )


def choice_key(kind: ModelKind) -> str:
    """Return the preference that holds the chosen model of a kind."""
    return f"visual.{kind}"


def served_key(kind: ModelKind) -> str:
    """Return the preference that holds the record of the model that answers."""
    return f"visual.served.{kind}"


def _variable(kind: ModelKind) -> str:
    return f"DOCMIND_VISUAL__{kind.upper()}_MODEL"
