"""What a model takes on this machine: measured on pages of the vault, and kept."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from docmind.errors import DamagedError
from docmind.preferences import Preferences
from docmind.seeing import ModelBench
from docmind.visual.opened import Opened
from docmind.weights import Description

_KEY = "visual.benches"
_KEPT = 24
_QUESTION = "a table of the monthly figures beside a map"


class Benches:
    """Measures models and keeps the last figures of each, by fingerprint."""

    def __init__(self, preferences: Preferences, opened: Opened) -> None:
        self._preferences, self._opened = preferences, opened

    def measure(self, description: Description, images: Sequence[bytes]) -> ModelBench:
        """Load the model where it is not loaded, then time each picture and a question; the median of the pictures.

        Raises what models raise.
        """
        is_image = description.kind == "image"
        model = self._opened.image(description) if is_image else self._opened.late(description)
        at = time.perf_counter()
        model.warm()
        load_s = time.perf_counter() - at
        seconds: list[float] = []
        for image in images or [drawn_page()]:
            at = time.perf_counter()
            model.embed_images([image])
            seconds.append(time.perf_counter() - at)
        at = time.perf_counter()
        if is_image:
            self._opened.image(description).embed_text(_QUESTION)
        else:
            self._opened.late(description).embed_query(_QUESTION)
        query_ms = (time.perf_counter() - at) * 1000
        bench = ModelBench(
            description.name, model.device, model.precision, load_s, sorted(seconds)[len(seconds) // 2], query_ms,
            len(seconds),
        )  # fmt: skip
        self._keep(description, bench)
        return bench

    def note(self, description: Description, seconds_per_page: float) -> None:
        """Keep what a run over many pages took."""
        kept = self.of(description)
        if kept is not None:
            self._keep(description, ModelBench(**{**asdict(kept), "seconds_per_page": seconds_per_page}))
        else:
            self._keep(description, ModelBench(description.name, "", "", 0.0, seconds_per_page, 0.0, 0))

    def of(self, description: Description) -> ModelBench | None:
        """The last figures of a model; None before the first."""
        kept = self._all().get(description.fingerprint)
        return ModelBench(**kept) if kept is not None else None

    def _keep(self, description: Description, bench: ModelBench) -> None:
        others = {fp: kept for fp, kept in self._all().items() if fp != description.fingerprint}
        newest = dict(list(others.items())[-(_KEPT - 1) :])
        self._preferences.put(_KEY, {**newest, description.fingerprint: asdict(bench)})

    def _all(self) -> dict[str, dict[str, Any]]:
        kept = self._preferences.get(_KEY)
        if kept is None:
            return {}
        try:
            for bench in kept.values():
                ModelBench(**bench)
        except (AttributeError, TypeError) as error:
            raise DamagedError("The figures of models are not readable.", hint="Measure them again.") from error
        return kept


def drawn_page() -> bytes:
    """A page of lines and blocks, for a vault without one."""
    from PIL import Image, ImageDraw

    page = Image.new("RGB", (1_131, 1_600), "white")
    draw = ImageDraw.Draw(page)
    for line in range(40):
        draw.rectangle((90, 100 + 28 * line, 1_040 - 37 * (line % 7), 112 + 28 * line), fill=(40, 40, 40))
    draw.rectangle((140, 1_260, 990, 1_520), outline=(20, 60, 160), width=6)
    packed = io.BytesIO()
    page.save(packed, "WEBP", quality=80, method=0)
    return packed.getvalue()
