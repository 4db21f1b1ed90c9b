"""Open models, one of each fingerprint."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from docmind.config import VisualSettings
from docmind.errors import CancelledError, VisualModelError
from docmind.records.models import Description
from docmind.runtime import Starts
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.embedding import ImageModel, LateModel


class Opened:
    """The open models, opened at first use; `close` ends them all. Thread-safe."""

    def __init__(self, settings: VisualSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._image: dict[str, ImageModel] = {}
        self._late: dict[str, LateModel] = {}
        self._is_closed = False
        self._starts = Starts()

    def is_ready(self, description: Description) -> bool:
        """Return whether a model answers without being started first; one without a process of its own always does.

        Raises like `image`.
        """
        return bool(getattr(self._of(description), "is_ready", True))

    def start(self, description: Description, limit_s: float) -> bool:
        """Start a model in the background and wait at most `limit_s` for it; return whether it is ready.

        Raises like `image`, and the errors of starting.
        """
        model = self._of(description)
        return self._starts.wait(description.fingerprint, model.warm, limit_s)

    def begin(self, description: Description) -> None:
        """Start a model in the background; what fails is reported by the next `start`. Raises like `image`."""
        self._starts.begin(description.fingerprint, self._of(description).warm)

    def _of(self, description: Description) -> ImageModel | LateModel:
        return self.image(description) if description.kind == "image" else self.late(description)

    def image(self, description: Description) -> ImageModel:
        """Return an image model. Raises `VisualModelError` for missing or broken files, and the errors of opening."""
        self._check(description)
        with self._lock:
            self._check_open()
            if description.fingerprint not in self._image:
                from docmind.embedding import open_image_model

                self._image[description.fingerprint] = open_image_model(description, self._settings)
            return self._image[description.fingerprint]

    def late(self, description: Description) -> LateModel:
        """Return a late interaction model. Raises like `image`."""
        self._check(description)
        with self._lock:
            self._check_open()
            if description.fingerprint not in self._late:
                from docmind.embedding import open_late_model

                self._late[description.fingerprint] = open_late_model(description, self._settings)
            return self._late[description.fingerprint]

    def drop(self, *fingerprints: str) -> None:
        """Close models that are not used any more."""
        with self._lock:
            gone = [
                model for fp in fingerprints for models in (self._image, self._late) if (model := models.pop(fp, None))
            ]
        for model in gone:
            model.close()

    def close(self) -> None:
        """End every model's process; running calls fail. Idempotent."""
        with self._lock:
            self._is_closed = True
            models = [*self._image.values(), *self._late.values()]
            self._image.clear()
            self._late.clear()
        for model in models:
            model.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise CancelledError(_("DocMind is closing."))

    def _check(self, description: Description) -> None:
        if description.state == "present":
            return
        with self._lock:
            opened = [*self._image.items(), *self._late.items()]
        self.drop(*[fingerprint for fingerprint, model in opened if model.name == description.name])
        raise VisualModelError(
            _("{name} cannot be used: {reason}").format(name=description.name, reason=description.reason),
            hint=description.hint,
        )
