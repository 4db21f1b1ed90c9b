"""Which model of each kind is in use: what is set, else what was chosen, else what made the vectors that there are."""

from __future__ import annotations

from pathlib import Path

from docmind.config import VisualSettings
from docmind.errors import ConfigError
from docmind.index.collection import SIGLIP_DIM
from docmind.preferences import Preferences
from docmind.seeing import ModelKind
from docmind.visual.serving import Serving
from docmind.weights import Description, Weights

_OFF = "off"
_AUTO = "auto"


class Choice:
    """Reads settings, choices and weights anew each time: files may come and go under a running vault."""

    def __init__(
        self, settings: VisualSettings, preferences: Preferences, weights: Weights, serving: dict[ModelKind, Serving]
    ) -> None:
        self._set: dict[ModelKind, str] = {"image": settings.image_model, "late": settings.late_model}
        self._preferences, self._weights, self._serving = preferences, weights, serving

    def model(self, kind: ModelKind) -> Description | None:
        """The model in use, or that should be: its `state` says whether it can be. None where the kind is off.

        Raises `ConfigError` where what is set is no model of this kind.
        """
        name = self._name(kind)
        if name is None:
            return None
        description = self.describe(name, kind)
        if description.kind != kind:
            raise ConfigError(
                f"{name} is no {kind} model, but a{'n' if description.kind == 'image' else ''} {description.kind} one.",
                hint=f"Set {_variable(kind)} to another name of `docmind models list`, to auto or to off.",
            )
        return description

    def model_to_use(self, kind: ModelKind) -> Description | None:
        """Like `model`; what cannot be used by what it is, is a model that is broken."""
        try:
            description = self.model(kind)
            if description is not None:
                check_fits(description)
            return description
        except ConfigError as error:
            name = self._name(kind) or ""
            return Description(name, kind, "", None, "broken", 0, "", reason=str(error), hint=error.hint)

    def describe(self, name: str, kind: ModelKind | None = None) -> Description:
        """A model by name or directory. A directory that has gone is a model that is missing, where `kind` is known.

        Raises `ConfigError`.
        """
        try:
            return self._weights.describe(name)
        except ConfigError as error:
            if (
                kind is None
                or not name
                or Path(name).expanduser().is_dir()
                or not Path(name).expanduser().is_absolute()
            ):
                raise
            return Description(
                name, kind, "", None, "missing", 0, "",
                reason="Its directory has gone.", hint=error.hint or "Bring it back, or choose another model.",
            )  # fmt: skip

    def choose(self, kind: ModelKind, name: str | None) -> None:
        """Keep a choice; None: off. Raises `ConfigError` where a setting decides."""
        wanted = self._set[kind]
        if wanted != _AUTO and wanted != name:
            raise ConfigError(
                f"{_variable(kind)} is set to {wanted}, and decides.", hint=f"Unset {_variable(kind)} to choose here."
            )
        self._preferences.put(_choice(kind), _OFF if name is None else name)

    def forbids(self, kind: ModelKind) -> str:
        """The setting that switches this kind off; "" where none does."""
        return _variable(kind) if self._set[kind] == _OFF else ""

    def check_free(self, description: Description) -> None:
        """Raise `ConfigError` where a setting names another model of this kind, or none."""
        wanted = self._set[description.kind]
        if wanted == _AUTO:
            return
        if wanted == _OFF or self.describe(wanted, description.kind).fingerprint != description.fingerprint:
            raise ConfigError(
                f"{_variable(description.kind)} is set to {wanted}: pages are not embedded with {description.name}.",
                hint=f"Set {_variable(description.kind)} to {description.name}, or to auto.",
            )

    def follow(self, description: Description) -> None:
        """Searches are answered from this model now: a choice of another one follows; `off` stays."""
        kind = description.kind
        if self._set[kind] == _AUTO and self._preferences.get(_choice(kind)) not in (None, _OFF):
            self._preferences.put(_choice(kind), description.name)

    def _name(self, kind: ModelKind) -> str | None:
        """The name or directory of the model; None: off."""
        wanted = self._set[kind]
        if wanted != _AUTO:
            return None if wanted == _OFF else wanted
        chosen = self._preferences.get(_choice(kind))
        if isinstance(chosen, str):
            return None if chosen == _OFF else chosen
        if self._serving[kind].now().name:
            return self._serving[kind].now().name
        present = (one for one in self._weights.all() if one.kind == kind and one.state == "present")
        return next((one.name for one in present if kind == "late" or one.dim <= SIGLIP_DIM), None)


def check_fits(description: Description) -> None:
    """Raise `ConfigError` where the index has no room for the vectors of this model."""
    if description.kind == "image" and description.state == "present" and description.dim > SIGLIP_DIM:
        raise ConfigError(
            f"{description.name} makes vectors of {description.dim} numbers; the index holds {SIGLIP_DIM} a page.",
            hint="siglip, siglip-384 and siglip2 fit, and every model of up to 768 dimensions.",
        )


def _choice(kind: ModelKind) -> str:
    return f"visual.{kind}"


def _variable(kind: ModelKind) -> str:
    return f"DOCMIND_VISUAL__{kind.upper()}_MODEL"
