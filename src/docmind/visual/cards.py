"""Model cards for the interfaces: what a model costs here, and what is present or missing.

A model's speed on this machine is measured on pages of the vault, and stored.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from docmind.documents import PageList
from docmind.errors import DamagedError
from docmind.model_files import Weights
from docmind.records.documents import Capability
from docmind.records.models import Description, ModelBench, ModelCard, ModelKind
from docmind.storage import Preferences
from docmind.visual.embed_pages import Embedding
from docmind.visual.open_models import Opened
from docmind.visual.served import ModelChoice
from docmind.wording import N_, _

BENCHES = "visual.benches"
"""The preference that holds the last figures of each model."""

_KEPT = 24
_QUESTION = "a table of the monthly figures beside a map"


class Benches:
    """The measurement of models, and the last figures of each, by fingerprint."""

    def __init__(self, preferences: Preferences, opened: Opened) -> None:
        self._preferences, self._opened = preferences, opened

    def measure(self, description: Description, images: Sequence[bytes]) -> ModelBench:
        """Load the model if needed, then time each picture and a question; return the median over the pictures.

        Raises the errors of models.
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
        """Store the seconds per page of a run over many pages."""
        kept = self.of(description)
        if kept is not None:
            self._keep(description, ModelBench(**{**asdict(kept), "seconds_per_page": seconds_per_page}))
        else:
            self._keep(description, ModelBench(description.name, "", "", 0.0, seconds_per_page, 0.0, 0))

    def of(self, description: Description) -> ModelBench | None:
        """Return the last figures of a model; None before the first measurement."""
        kept = self._all().get(description.fingerprint)
        return ModelBench(**kept) if kept is not None else None

    def _keep(self, description: Description, bench: ModelBench) -> None:
        others = {fp: kept for fp, kept in self._all().items() if fp != description.fingerprint}
        newest = dict(list(others.items())[-(_KEPT - 1) :])
        self._preferences.put(BENCHES, {**newest, description.fingerprint: asdict(bench)})

    def _all(self) -> dict[str, dict[str, Any]]:
        kept = self._preferences.get(BENCHES)
        if kept is None:
            return {}
        try:
            for bench in kept.values():
                ModelBench(**bench)
        except (AttributeError, TypeError) as error:
            raise DamagedError(_("The figures of models are not readable."), hint=_("Measure them again.")) from error
        return kept


def drawn_page() -> bytes:
    """Draw a page of lines and blocks, for a vault without pages."""
    from PIL import Image, ImageDraw

    page = Image.new("RGB", (1_131, 1_600), "white")
    draw = ImageDraw.Draw(page)
    for line in range(40):
        draw.rectangle((90, 100 + 28 * line, 1_040 - 37 * (line % 7), 112 + 28 * line), fill=(40, 40, 40))
    draw.rectangle((140, 1_260, 990, 1_520), outline=(20, 60, 160), width=6)
    packed = io.BytesIO()
    page.save(packed, "WEBP", quality=80, method=0)
    return packed.getvalue()


_NAMES: dict[ModelKind, str] = {"image": "image model", "late": "late interaction on pages"}
_WITHOUT: dict[ModelKind, str] = {
    "image": N_("words find figures, and pictures find pages that look like them"),
    "late": N_("words find places on pages"),
}
_FIRST: dict[ModelKind, str] = {"image": "siglip", "late": "colmodernvbert"}


class Cards:
    """Cards and capabilities of models; no model is loaded for them."""

    def __init__(
        self,
        choice: ModelChoice,
        weights: Weights,
        benches: Benches,
        embeddings: Mapping[ModelKind, Embedding],
        pages: PageList,
        trouble: Callable[[ModelKind], str],
    ) -> None:
        """Set up; `trouble` returns why a model does not embed new pages now; "" where it does."""
        self._choice, self._weights, self._benches = choice, weights, benches
        self._embeddings, self._pages, self._trouble = embeddings, pages, trouble

    def all(self) -> tuple[ModelCard, ...]:
        """Return every known model, and other models in use: a directory, or one that a package declares."""
        known = {description.name: description for description in self._weights.all()}
        used: dict[ModelKind, Description | None] = {kind: self._choice.model_to_use(kind) for kind in self._embeddings}
        for description in used.values():
            if description is not None:
                known.setdefault(description.name, description)
        counts = {kind: embedding.store.counts() for kind, embedding in self._embeddings.items()}
        total = self._pages.images()
        return tuple(
            self._card(one, counts[one.kind].get(one.fingerprint, 0), total, used[one.kind]) for one in known.values()
        )

    def of(self, description: Description) -> ModelCard:
        """Return the card of one model."""
        count = self._embeddings[description.kind].store.counts().get(description.fingerprint, 0)
        return self._card(description, count, self._pages.images(), self._choice.model_to_use(description.kind))

    def capability(self, kind: ModelKind) -> Capability:
        """Return whether the kind is present, missing or off, its speed here, and the command that adds it."""
        name, without = _NAMES[kind], _(_WITHOUT[kind])
        description = self._choice.model_to_use(kind)
        first = _FIRST[kind]
        if description is None and self._choice.forbids(kind):
            return Capability(name, "off", _("not used"), _("unset {kind}").format(kind=self._choice.forbids(kind)))
        if description is None:
            present = [one.name for one in self._weights.all() if one.kind == kind and one.state == "present"]
            if present:
                return Capability(
                    name,
                    "off",
                    _("with one, {without}").format(without=without),
                    _("docmind models enable {present}").format(present=present[0]),
                )
            return Capability(
                name,
                "missing",
                _("with one, {without}").format(without=without),
                _("docmind models pull {first}").format(first=first),
            )
        if description.state != "present":
            return Capability(name, "missing", f"{description.name}: {description.reason}", description.hint)
        embedding = self._embeddings[kind]
        counts, served = embedding.store.counts(), embedding.serving.now()
        seen, total = counts.get(description.fingerprint, 0), self._pages.images()
        bench = self._benches.of(description)
        rate = (
            _("{seconds_per_page} s a page here").format(seconds_per_page=f"{bench.seconds_per_page:.2g}")
            if bench
            else _("not measured here yet")
        )
        detail = _("{name}, {rate}, {seen} of {total} page images").format(
            name=description.name, rate=rate, seen=seen, total=total
        )
        if self._trouble(kind):
            return Capability(name, "present", f"{detail}; {self._trouble(kind)}", "docmind models list")
        if served.fingerprint != description.fingerprint and counts.get(served.fingerprint):
            detail = _("{detail}; the pages were embedded by {name}").format(detail=detail, name=served.name)
            return Capability(name, "present", detail, _("docmind embed --model {name}").format(name=description.name))
        if bench is None:
            return Capability(name, "present", detail, _("docmind models bench {name}").format(name=description.name))
        return Capability(name, "present", detail)

    def _card(self, one: Description, pages: int, total: int, used: Description | None) -> ModelCard:
        bench = self._benches.of(one) if one.fingerprint else None
        return ModelCard(
            name=one.name,
            kind=one.kind,
            repository=one.repository,
            state=one.state,
            dim=one.dim,
            architecture=one.architecture,
            revision=one.revision,
            fingerprint=one.fingerprint,
            bytes=one.bytes,
            licence=one.licence,
            about=one.about,
            reason=one.reason,
            hint=one.hint,
            in_use=used is not None and used.name == one.name,
            seconds_per_page=bench.seconds_per_page if bench else None,
            pages=pages,
            pages_total=total,
        )
