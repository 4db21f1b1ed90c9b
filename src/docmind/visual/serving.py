"""Which model's vectors searches are answered from, and the change from one model to another."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from docmind.catalog import Catalog
from docmind.database import Database
from docmind.errors import DamagedError
from docmind.pagevectors import PageVectors
from docmind.preferences import Preferences
from docmind.seeing import ModelKind
from docmind.visual.stores import LateStore
from docmind.weights import Description

_SWITCH = ""  # the document that a switch is noted as changed: every one, and so none by name


@dataclass(frozen=True, slots=True)
class Served:
    """The model whose vectors answer; `before` is the one that did until the index reached `epoch`."""

    fingerprint: str = ""
    name: str = ""
    before: str = ""
    before_name: str = ""
    epoch: int = 0


class Serving:
    """The record of one kind of model. Safe from any thread: one process owns a vault."""

    def __init__(self, kind: ModelKind, database: Database, catalog: Catalog) -> None:
        self._kind, self._key = kind, f"visual.served.{kind}"
        self._database, self._catalog = database, catalog
        self._preferences = Preferences(database)
        self._lock = threading.Lock()
        self._served: Served | None = None

    def now(self) -> Served:
        """Raises `DamagedError`."""
        with self._lock:
            if self._served is None:
                kept = self._preferences.get(self._key)
                try:
                    self._served = Served(**kept) if kept else Served()
                except TypeError as error:
                    raise DamagedError("The record of the visual model in use is not readable.") from error
            return self._served

    def adopt(self, description: Description) -> None:
        """Answer from this model from now on: nothing had been made by another, or nothing is left of it here.

        An index may still hold the multivectors whose files were taken away by hand: that is a switch, too.
        """
        if self._kind == "image" or self.now().fingerprint in ("", description.fingerprint):
            self._keep(Served(description.fingerprint, description.name))
        else:
            self._change(description, Served())

    def switch(self, description: Description) -> None:
        """Answer from this model: at once, or once the index has reached the epoch that this change gets."""
        self._change(description, self.now())

    def _change(self, description: Description, old: Served) -> None:
        with self._database.transaction():
            epoch = self._catalog.touch(_SWITCH)[1]
            served = Served(description.fingerprint, description.name, old.fingerprint, old.name, epoch)
            self._preferences.put(self._key, asdict(served))
        self._note(served)

    def settle(self) -> None:
        """The model before is not needed any more."""
        served = self.now()
        self._keep(Served(served.fingerprint, served.name, epoch=served.epoch))

    def _keep(self, served: Served) -> None:
        self._preferences.put(self._key, asdict(served))
        self._note(served)

    def _note(self, served: Served) -> None:
        with self._lock:
            self._served = served


class _Indexed:
    """What the mirror asks: which model of a kind an index of some epoch has."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    def at(self, epoch: int) -> str:
        served = self._serving.now()
        return served.fingerprint if epoch >= served.epoch else served.before

    def switched_at(self) -> int:
        return self._serving.now().epoch


class IndexedImages(_Indexed):
    """The image model of the index, and its vectors."""

    def __init__(self, serving: Serving, vectors: PageVectors) -> None:
        super().__init__(serving)
        self._vectors = vectors

    def vectors(self, fingerprint: str, images: Sequence[str]) -> dict[str, np.ndarray]:
        return self._vectors.get(fingerprint, images)


class IndexedLate(_Indexed):
    """The late interaction model of the index, and its multivectors."""

    def __init__(self, serving: Serving, store: LateStore) -> None:
        super().__init__(serving)
        self._store = store

    def multivectors(self, fingerprint: str, images: Sequence[str]) -> dict[str, dict[str, np.ndarray]]:
        return self._store.multivectors(fingerprint, images)
