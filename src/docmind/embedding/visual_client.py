"""Clients of visual models that run in a child process; its answers are checked.

torch is never imported here. The child starts at first use and again after a crash, and ends after 10 idle minutes.

Any thread may send frames to the process, and each gets its own answer. The files of a model are watched: vectors of
changed files would be those of another model.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from docmind.config import VisualSettings
from docmind.embedding.base import ImageModel, LateModel, PagePatches, QueryPatches
from docmind.errors import ConfigError, ExtraMissingError, VisualModelError, WorkerFailedError
from docmind.model_files import KINDS, UnusableError, combined, declared_model, read_checkpoint, sha256_of
from docmind.records.models import Description, ModelKind
from docmind.runtime import Ask, Client, Frame, Header, Limits, error_named, need_extra


class ModelFiles:
    """The files as they were when the model was described. Not thread-safe.

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
        """Return whether each file has its recorded size and modification time."""
        return self._look(self._names) == self._seen

    def check(self) -> None:
        """Read the files again and record their present state, where their contents are unchanged.

        Raises `VisualModelError` where the contents changed, or files are missing or broken.
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
        """Return size and modification time of each file that exists."""
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


_ENTRY = "docmind.embedding.visual_process:serve"
IDLE_S = 600.0
LONGEST_TEXT = 2_000
"""Characters of a question; SigLIP reads 64 tokens, and a late model gains nothing from longer questions."""
_MOST_TOKENS = 65_536
_BATCH = 4
_CUDA_BATCH = 16  # the most blobs that a frame may hold
_ERRORS = (VisualModelError, ConfigError, ExtraMissingError)
"""Errors that the process may name."""
_TIMEOUTS_S = {"open": 900.0, "images": 900.0, "text": 300.0}
"""Long enough for slow machines; a search gives up much earlier, by its own deadline."""

Times = Mapping[str, float]


def open_image_model(description: Description, settings: VisualSettings) -> ImageModel:
    """Open a model of kind "image", without loading it.

    Raises `VisualModelError` where its files are missing or broken, `ConfigError` for a model of the other kind.
    """
    _check(description, "image")
    if description.directory is None:
        return cast("ImageModel", _declared(description))
    return ImageVision(description, settings)


def open_late_model(description: Description, settings: VisualSettings) -> LateModel:
    """Open a model of kind "late", without loading it.

    Raises `VisualModelError` where its files are missing or broken, `ConfigError` for a model of the other kind, and
    `ExtraMissingError` where it needs colpali-engine.
    """
    _check(description, "late")
    if description.directory is None:
        return cast("LateModel", _declared(description))
    if description.architecture not in KINDS:
        need_extra("colpali")
    return LateVision(description, settings)


class Vision:
    """The client part that both kinds share: the process, the model's files, and errors in one sentence.

    Thread-safe. A question does not wait for pages: the process works on both at once.
    """

    def __init__(
        self,
        description: Description,
        settings: VisualSettings,
        *,
        idle_s: float = IDLE_S,
        timeouts_s: Times = _TIMEOUTS_S,
    ) -> None:
        self.name, self.dim, self.fingerprint = description.name, description.dim, description.fingerprint
        self.device = self.precision = ""
        self.load_s = 0.0
        self._architecture = description.architecture
        self._settings = settings
        self._timeouts_s = timeouts_s
        # It reads weights and writes nothing, but torch tests a folder for temporary files with a few bytes when it is
        # imported; on other systems graphics drivers store compiled programs.
        limits = Limits(file_mb=1 if sys.platform == "linux" else -1)
        self._client = Client(_ENTRY, limits, idle_s=idle_s, prepare=self._open)
        self._is_closed = False
        self._lock = threading.Lock()
        self._files = ModelFiles(description)

    @property
    def pid(self) -> int | None:
        """The id of the process that holds the model; None while there is none."""
        return self._client.pid

    def warm(self) -> None:
        """Start the process and load the weights, unless that is done already."""
        with self._sentences():
            self._check_files()
            self._client.start()

    def close(self) -> None:
        """End the process; a running call fails, and so does every later one."""
        self._is_closed = True
        self._client.end()

    def _ask(self, header: Header, blobs: Sequence[bytes] = ()) -> Frame:
        """Return one answer of the process. Raises the errors of `VisualModel`."""
        with self._sentences():
            self._check_files()
            answer = self._client.call(header, blobs, timeout_s=self._timeouts_s[header["do"]])
        if "error" in answer[0]:
            raise error_named(answer[0], *_ERRORS)
        return answer

    @contextlib.contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except WorkerFailedError as error:
            if self._is_closed:
                raise self._switched_off() from error
            raise VisualModelError(
                f"The model {self.name} broke off: {error}.",
                hint="It starts again with the next question; where it keeps happening, choose a smaller model.",
            ) from error

    def _switched_off(self) -> VisualModelError:
        return VisualModelError(f"The model {self.name} has been switched off.")

    def _check_files(self) -> None:
        """Check that the process has loaded the files that are on the disk now; end it where it has not."""
        with self._lock:
            if self._is_closed:
                raise self._switched_off()
            if not self._files.are_as_before():
                self._client.end()
                self._files.check()

    def _open(self, ask: Ask) -> None:
        """Have a new process load the model."""
        if self._is_closed:  # by another thread, while the process was started
            raise self._switched_off()
        wanted = self._settings
        header = {"do": "open", "directory": str(self._files.directory), "architecture": self._architecture}
        header |= {"device": wanted.device, "precision": wanted.precision, "threads": wanted.threads}
        told, _ = ask(header, timeout_s=self._timeouts_s["open"])
        if "error" in told:
            raise error_named(told, *_ERRORS)
        try:
            self.device, self.precision = str(told["device"]), str(told["precision"])
            self.load_s = float(told["load_s"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._nonsense() from error

    def _nonsense(self) -> VisualModelError:
        return VisualModelError(f"The model {self.name} gave numbers that cannot be used.")


class ImageVision(Vision):
    """A model with one vector per page."""

    def embed_images(self, images: Sequence[bytes]) -> np.ndarray:
        """Return `(n, dim)` float32, each row of length 1."""
        found = [np.zeros((0, self.dim), np.float32)]
        at = 0
        while at < len(images):  # in small batches, so that other callers run in between
            batch = images[at : at + (_CUDA_BATCH if self.device == "cuda" else _BATCH)]
            _, blobs = self._ask({"do": "images"}, batch)
            found.append(self._rows(blobs, len(batch)))
            at += len(batch)
        return np.concatenate(found)

    def embed_text(self, text: str) -> np.ndarray:
        """Return `(dim,)` float32 of length 1."""
        _, blobs = self._ask({"do": "text", "text": _sayable(text)})
        return self._rows(blobs, 1)[0]

    def _rows(self, blobs: list[bytes], count: int) -> np.ndarray:
        try:
            rows = _unit_rows(blobs[0], self.dim)
            if len(rows) != count:
                raise ValueError
            return rows
        except (IndexError, ValueError) as error:
            raise self._nonsense() from error


class LateVision(Vision):
    """A model with one vector per patch."""

    def embed_images(self, images: Sequence[bytes]) -> list[PagePatches]:
        """Return the patches of each page."""
        return [self._page(image) for image in images]

    def embed_query(self, text: str) -> QueryPatches:
        """Return one vector per token, including the tokens that the model adds itself."""
        header, blobs = self._ask({"do": "text", "text": _sayable(text)})
        try:
            rows = _unit_rows(blobs[0], self.dim)
            tokens = tuple("".join(char for char in str(token) if char.isprintable()) for token in header["tokens"])
            if len(rows) != len(tokens) or not tokens:
                raise ValueError
            return QueryPatches(rows, tokens)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise self._nonsense() from error

    def _page(self, image: bytes) -> PagePatches:
        header, blobs = self._ask({"do": "images"}, [image])
        try:
            ((rows, cols),) = header["pages"]
            vectors, patches = _unit_rows(blobs[0], self.dim), np.frombuffer(blobs[1], np.int32)
            cells = np.sort(patches[patches >= 0])
            if len(vectors) != len(patches) or not np.array_equal(cells, np.arange(int(rows) * int(cols))):
                raise ValueError
            return PagePatches(vectors, int(rows), int(cols), patches)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise self._nonsense() from error


def _sayable(text: str) -> str:
    """Return text that a tokenizer accepts: no lone surrogates, at most `LONGEST_TEXT` characters."""
    return text[:LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")


def _unit_rows(blob: bytes, dim: int) -> np.ndarray:
    """Return `(n, dim)` float32 of length 1. Raises `ValueError` for anything else."""
    rows = np.frombuffer(blob, "<f4").reshape(-1, dim)
    if len(rows) > _MOST_TOKENS or not np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-3):  # NaN is not close
        raise ValueError
    return rows


def _check(description: Description, kind: ModelKind) -> None:
    if description.kind != kind:
        raise ConfigError(
            f"{description.name} is no model of kind {kind!r} but of kind {description.kind!r}.",
            hint="Run `docmind models list` to see which is which.",
        )
    is_here = description.directory is not None or declared_model(description.architecture) is not None
    if description.state != "present" or not is_here:
        raise VisualModelError(
            f"The model {description.name} is {description.state}. {description.reason}".strip(),
            hint=description.hint or VisualModelError.hint,
        )


def _declared(description: Description) -> object:
    """Return a model that an installed package declares under the name of the architecture."""
    declared = declared_model(description.architecture)
    assert declared is not None  # `_check` has found it
    return declared.build(description.dim)
