"""Text models in the form of sentence-transformers, and cross-encoders, from a folder of the models folder.

Each runs in a child process (`sentence_process`); what comes back is checked. A model is known by the name of its
folder, so that no path is stored. See ADR 0052.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from docmind.config import Settings
from docmind.embedding.model_client import IDLE_S, ModelProcess, Source, Times, sayable, unit_rows
from docmind.errors import TextModelError
from docmind.model_files import (
    Fingerprints,
    SentenceFiles,
    UnusableError,
    models_dir_of,
    read_cross_encoder,
    read_sentence_files,
    text_folders,
)
from docmind.observability import Embedded, emit
from docmind.runtime import Header, ms_since
from docmind.wording import _

_ENTRY = "docmind.embedding.sentence_process:serve"
_BATCH = 32  # texts of a frame, so that other callers run in between
_TIMEOUTS_S = {"documents": 900.0, "query": 300.0, "pieces": 300.0, "rank": 300.0}
_LONGEST = 100_000  # characters of a passage
_LONGEST_QUESTION = 2_000


def open_sentence_model(settings: Settings, name: str) -> SentenceModel:
    """Open the text model in a folder of the models folder, without loading it.

    Raises `TextModelError` where there is no such folder, or its files are not a model that can be run.
    """
    source, facts = _described(settings, name, read_sentence_files)
    return SentenceModel(source, facts, settings)


def open_cross_encoder(settings: Settings, name: str) -> CrossEncoder:
    """Open the cross-encoder in a folder of the models folder, without loading it. Raises `TextModelError`."""
    source, facts = _described(settings, name, read_cross_encoder)
    return CrossEncoder(source, facts, settings)


def _described(settings: Settings, name: str, read: Callable[[Path], SentenceFiles]) -> tuple[Source, SentenceFiles]:
    """Return the files of a model and the facts that they tell."""
    folder = models_dir_of(settings)
    there = text_folders(folder)
    if name not in there:
        raise TextModelError(
            _("The models folder has no folder {name!r} with a text model.").format(name=sayable(name, 80)),
            hint=_("Put it there, or choose another model. Available: {names}.").format(
                names=", ".join(there) or "none"
            ),
        )
    directory = folder / name
    try:
        facts = read(directory)
        digest = Fingerprints(folder / "fingerprints.json").of(directory, facts.files)
    except UnusableError as error:
        raise _unusable(name, str(error)) from error
    except OSError as error:
        raise _unusable(name, f"It cannot be read: {error.strerror}.") from error
    fingerprint = f"{facts.architecture}:{facts.pooling}:{facts.max_tokens}:{digest}"
    return Source(name, fingerprint, directory, lambda place: read(place).files, TextModelError), facts


def _unusable(name: str, reason: str) -> TextModelError:
    return TextModelError(
        _("The folder {name} of the models folder holds no text model that can be run. {reason}").format(
            name=name, reason=reason
        ),
        hint=_("Copy the files of the model again, or choose another; pages are found by their words until then."),
    )


class _TextProcess(ModelProcess):
    """The process of a text model, opened with the facts that its files tell."""

    def __init__(
        self,
        source: Source,
        facts: SentenceFiles,
        settings: Settings,
        pooling: str,
        *,
        idle_s: float = IDLE_S,
        timeouts_s: Times = _TIMEOUTS_S,
    ) -> None:
        chosen = settings.embedding
        opening: Header = {**asdict(facts), "files": (), "pooling": pooling, "device": chosen.device}
        opening |= {"precision": "float32" if chosen.precision == "float32" else "auto", "threads": chosen.threads}
        super().__init__(_ENTRY, source, opening, timeouts_s=timeouts_s, idle_s=idle_s)
        self.dim, self.max_tokens = facts.dim, facts.max_tokens


class SentenceModel(_TextProcess):
    """A text model from a folder. Thread-safe. Every method may raise `TextModelError`; the next call tries again."""

    is_multilingual = True
    """Its files do not tell; it is taken for a model of many languages."""

    def __init__(self, source: Source, facts: SentenceFiles, settings: Settings, *, idle_s: float = IDLE_S) -> None:
        super().__init__(source, facts, settings, facts.pooling, idle_s=idle_s)

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        """Return `(n, dim)` float32, each row of length 1, of texts behind the model's prompt for passages."""
        found = [np.zeros((0, self.dim), np.float32)]
        for at in range(0, len(texts), _BATCH):
            batch = [sayable(text, _LONGEST) for text in texts[at : at + _BATCH]]
            found.append(self._embedded({"do": "documents", "texts": batch}, len(batch)))
        return np.concatenate(found)

    def embed_query(self, text: str) -> np.ndarray:
        """Return `(dim,)` float32 of length 1, of a text behind the model's prompt for questions."""
        return self._embedded({"do": "query", "text": sayable(text, _LONGEST_QUESTION)}, 1)[0]

    def pieces(self, text: str) -> np.ndarray:
        """Return `(n, 2)` int64 character offsets of the word pieces of `text`, without special ones, not truncated."""
        said = sayable(text, len(text))
        _unused, blobs = self._ask({"do": "pieces", "text": said})
        try:
            spans = np.frombuffer(blobs[0], "<i8").reshape(-1, 2)
        except (IndexError, ValueError) as error:
            raise self._nonsense() from error
        if len(spans) and (spans.min() < 0 or spans.max() > len(text) or (np.diff(spans[:, 0]) < 0).any()):
            raise self._nonsense()
        return spans

    def _embedded(self, header: Header, count: int) -> np.ndarray:
        """Return the `(count, dim)` rows that the process answers."""
        started = time.perf_counter()
        _unused, blobs = self._ask(header)
        try:
            rows = unit_rows(blobs[0], self.dim)
        except (IndexError, ValueError) as error:
            raise self._nonsense() from error
        if len(rows) != count:
            raise self._nonsense()
        emit(Embedded("folder", count, ms_since(started)))
        return rows


class CrossEncoder(_TextProcess):
    """A model that reads a question together with a passage. Thread-safe. May raise `TextModelError`."""

    def __init__(self, source: Source, facts: SentenceFiles, settings: Settings, *, idle_s: float = IDLE_S) -> None:
        super().__init__(source, facts, settings, "", idle_s=idle_s)

    def scores(self, question: str, texts: Sequence[str]) -> np.ndarray:
        """Return `(n,)` float32, unbounded: the higher, the better a text answers the question."""
        asked = sayable(question, _LONGEST_QUESTION)
        found = [np.zeros(0, np.float32)]
        for at in range(0, len(texts), _BATCH):
            batch = [sayable(text, _LONGEST) for text in texts[at : at + _BATCH]]
            _unused, blobs = self._ask({"do": "rank", "text": asked, "texts": batch})
            try:
                scores = np.frombuffer(blobs[0], "<f4")
            except (IndexError, ValueError) as error:
                raise self._nonsense() from error
            if len(scores) != len(batch) or not np.isfinite(scores).all():
                raise self._nonsense()
            found.append(scores)
        return np.concatenate(found)
