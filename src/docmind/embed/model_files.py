"""The files of a model, watched: vectors of files that have changed would be another model's."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from docmind.errors import VisualModelError
from docmind.weights.checkpoint import UnusableError, read_checkpoint
from docmind.weights.description import Description
from docmind.weights.fingerprint import combined, sha256_of


class ModelFiles:
    """Files as they were when the model was described. Use it from one thread at a time.

    Raises `VisualModelError` where they are no model that can be run.
    """

    def __init__(self, description: Description) -> None:
        assert description.directory is not None
        self.directory: Path = description.directory
        self._name, self._fingerprint = description.name, description.fingerprint
        try:
            self._names = read_checkpoint(self.directory).files
        except UnusableError as error:
            raise self._unusable(str(error)) from error
        self._seen = self._look(self._names)

    def are_as_before(self) -> bool:
        """Whether each file has the size and the time that it had."""
        return self._look(self._names) == self._seen

    def check(self) -> None:
        """Read them again and take them as they are now, where they hold what they held.

        Raises `VisualModelError` where they do not, or are gone or broken.
        """
        try:
            names = read_checkpoint(self.directory).files
            seen = self._look(names)
            digest = combined({name: sha256_of(self.directory / name) for name in names})
        except UnusableError as error:
            raise self._unusable(str(error)) from error
        except OSError as error:
            raise self._unusable(f"They cannot be read: {error.strerror}.") from error
        if not self._fingerprint.endswith(f":{digest}"):
            raise self._unusable("They are not those that it was chosen with.")
        self._names, self._seen = names, seen

    def _look(self, names: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Size and time of each file that is there."""
        found = {}
        for name in names:
            with contextlib.suppress(OSError):
                stat = (self.directory / name).stat()
                found[name] = (stat.st_size, stat.st_mtime_ns)
        return found

    def _unusable(self, reason: str) -> VisualModelError:
        return VisualModelError(
            f"The files of the model {self._name} cannot be used. {reason}",
            hint="Put them back as they were, or run `docmind models list` to see what is here; "
            "searches go on without it.",
        )
