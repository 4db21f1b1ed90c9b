"""Visual models from the owner's side: a child process does the work, and what comes back is checked.

torch is never imported here. The child starts at first use and again after a crash, and ends after some idle minutes.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from docmind import extras
from docmind.config import VisualSettings
from docmind.embed.fake import FakeImageModel, FakeLateModel
from docmind.embed.model_files import ModelFiles
from docmind.embed.vision_process import VisionProcess
from docmind.embed.visual import ImageModel, LateModel, PagePatches, QueryPatches
from docmind.errors import ConfigError, DocMindError, ExtraMissingError, VisualModelError, WorkerFailedError
from docmind.seeing import ModelKind
from docmind.weights.description import Description
from docmind.weights.known import FAKE, KINDS
from docmind.worker import Frame

IDLE_S = 600.0
LONGEST_TEXT = 2_000
"""Characters of a question; SigLIP reads 64 tokens, and nothing is gained by asking a late model for pages."""
_MOST_TOKENS = 65_536
_BATCH = 4
_CUDA_BATCH = 16  # as many blobs as a frame may hold
_TIMEOUTS_S = {"open": 900.0, "images": 900.0, "text": 300.0}
"""Slow machines are waited for; a search gives up long before, by its own clock."""

Times = Mapping[str, float]


def open_image_model(description: Description, settings: VisualSettings) -> ImageModel:
    """A model of kind "image". Nothing is loaded yet.

    Raises `VisualModelError` where its files are not here or broken, `ConfigError` for a model of the other kind.
    """
    _check(description, "image")
    if description.architecture == FAKE:
        return FakeImageModel(description.dim)
    return ImageVision(description, settings)


def open_late_model(description: Description, settings: VisualSettings) -> LateModel:
    """A model of kind "late". Nothing is loaded yet.

    Raises `VisualModelError` where its files are not here or broken, `ConfigError` for a model of the other kind, and
    `ExtraMissingError` where it needs colpali-engine.
    """
    _check(description, "late")
    if description.architecture == FAKE:
        return FakeLateModel(description.dim)
    if description.architecture not in KINDS:
        extras.need("colpali")
    return LateVision(description, settings)


class Vision:
    """What both kinds share: the process, the files it was opened with, and errors in one sentence.

    Threads may share it. A question overtakes pages: the process looks at both at once.
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
        self._idle_s, self._timeouts_s = idle_s, timeouts_s
        self._process: VisionProcess | None = None
        self._is_closed = False
        self._lock = threading.Lock()
        self._files = ModelFiles(description)

    @property
    def pid(self) -> int | None:
        """The process that holds the model; None where there is none at the moment."""
        process = self._process
        return process.pid if process is not None and process.is_alive else None

    def warm(self) -> None:
        """Start the process and load the weights, where that has not been done."""
        self._ready()

    def close(self) -> None:
        """End the process; a call that is under way fails, and so does every later one."""
        self._is_closed = True
        process = self._process
        if process is not None:
            process.end()

    def _ask(self, header: dict[str, Any], blobs: Sequence[bytes] = ()) -> Frame:
        """One answer of the process. Raises the errors of `VisualModel`."""
        try:
            answer = None
            while answer is None:  # it may end, being idle, just before it is asked
                answer = self._ready().ask(header, blobs, timeout_s=self._timeouts_s[header["do"]])
        except WorkerFailedError as error:
            self._broke_off(error)
        if "error" in answer[0]:
            raise _error(answer[0])
        return answer

    def _broke_off(self, error: WorkerFailedError) -> NoReturn:
        if self._is_closed:
            raise VisualModelError(f"The model {self.name} has been switched off.") from error
        raise VisualModelError(
            f"The model {self.name} broke off: {error}.",
            hint="It starts again with the next question; where it keeps happening, choose a smaller model.",
        ) from error

    def _ready(self) -> VisionProcess:
        """The process with the model in it, as it lies on the disk now."""
        with self._lock:
            if self._is_closed:
                raise VisualModelError(f"The model {self.name} has been switched off.")
            if not self._files.are_as_before():
                if self._process is not None:
                    self._process.end()
                self._files.check()
            if self._process is not None and self._process.is_alive:
                return self._process
            self._process = VisionProcess(self._idle_s)
            if self._is_closed:  # meanwhile, by another thread, which did not see this process
                self._process.end()
            try:
                self._open(self._process)
            except DocMindError:
                self._process.end()
                raise
            return self._process

    def _open(self, process: VisionProcess) -> None:
        wanted = self._settings
        header = {"do": "open", "directory": str(self._files.directory), "architecture": self._architecture}
        header |= {"device": wanted.device, "precision": wanted.precision, "threads": wanted.threads}
        try:
            answer = process.ask(header, timeout_s=self._timeouts_s["open"])
            if answer is None:
                raise WorkerFailedError("it was stopped")
        except WorkerFailedError as error:
            self._broke_off(error)
        told = answer[0]
        if "error" in told:
            raise _error(told)
        try:
            self.device, self.precision = str(told["device"]), str(told["precision"])
            self.load_s = float(told["load_s"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._nonsense() from error

    def _nonsense(self) -> VisualModelError:
        return VisualModelError(f"The model {self.name} gave numbers that cannot be used.")


class ImageVision(Vision):
    """A model with one vector a page."""

    def embed_images(self, images: Sequence[bytes]) -> np.ndarray:
        """`(n, dim)` float32, each row of length 1."""
        found = [np.zeros((0, self.dim), np.float32)]
        at = 0
        while at < len(images):  # a few at a time: others get their turn in between
            batch = images[at : at + (_CUDA_BATCH if self.device == "cuda" else _BATCH)]
            _, blobs = self._ask({"do": "images"}, batch)
            found.append(self._rows(blobs, len(batch)))
            at += len(batch)
        return np.concatenate(found)

    def embed_text(self, text: str) -> np.ndarray:
        """`(dim,)` float32 of length 1."""
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
    """A model with a vector a patch."""

    def embed_images(self, images: Sequence[bytes]) -> list[PagePatches]:
        """The patches of each page."""
        return [self._page(image) for image in images]

    def embed_query(self, text: str) -> QueryPatches:
        """A vector a token, those that the model adds by itself among them."""
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
    """What a tokenizer takes: no halves of characters, and no more than helps."""
    return text[:LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")


def _unit_rows(blob: bytes, dim: int) -> np.ndarray:
    """`(n, dim)` float32 of length 1. Raises `ValueError` for anything else."""
    rows = np.frombuffer(blob, "<f4").reshape(-1, dim)
    if len(rows) > _MOST_TOKENS or not np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-3):  # NaN is not close
        raise ValueError
    return rows


def _error(header: dict[str, Any]) -> DocMindError:
    """The error that the process named; only those that a visual model may raise can be named."""
    classes = {kind.__name__: kind for kind in (VisualModelError, ConfigError, ExtraMissingError)}
    kind = classes.get(str(header["error"]), VisualModelError)
    return kind(str(header.get("message", "")), hint=str(header.get("hint", kind.hint)))


def _check(description: Description, kind: ModelKind) -> None:
    if description.kind != kind:
        raise ConfigError(
            f"{description.name} is no model of kind {kind!r} but of kind {description.kind!r}.",
            hint="Run `docmind models list` to see which is which.",
        )
    if description.state != "present" or (description.directory is None and description.architecture != FAKE):
        raise VisualModelError(
            f"The model {description.name} is {description.state}. {description.reason}".strip(),
            hint=description.hint or VisualModelError.hint,
        )
