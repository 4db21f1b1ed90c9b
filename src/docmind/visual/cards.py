"""What is told of models: cards for faces, and a line each for what is present or missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from docmind.schema import Capability
from docmind.seeing import ModelCard, ModelKind
from docmind.visual.benches import Benches
from docmind.visual.choice import Choice
from docmind.visual.embedding import Embedding
from docmind.visual.pages import PageList
from docmind.weights import Description, Weights

_NAMES: dict[ModelKind, str] = {"image": "image model", "late": "late interaction on pages"}
_WITHOUT: dict[ModelKind, str] = {
    "image": "words find figures, and pictures find pages that look like them",
    "late": "words find places on pages",
}
_FIRST: dict[ModelKind, str] = {"image": "siglip", "late": "colmodernvbert"}


class Cards:
    """Reads what there is; loads no model."""

    def __init__(
        self,
        choice: Choice,
        weights: Weights,
        benches: Benches,
        embeddings: Mapping[ModelKind, Embedding],
        pages: PageList,
        trouble: Callable[[ModelKind], str],
    ) -> None:
        """`trouble` says why a model does not see new pages now; "" where it does."""
        self._choice, self._weights, self._benches = choice, weights, benches
        self._embeddings, self._pages, self._trouble = embeddings, pages, trouble

    def all(self) -> tuple[ModelCard, ...]:
        """Every known model, and what is in use beside those: a directory, a fake."""
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
        """One model's card."""
        count = self._embeddings[description.kind].store.counts().get(description.fingerprint, 0)
        return self._card(description, count, self._pages.images(), self._choice.model_to_use(description.kind))

    def capability(self, kind: ModelKind) -> Capability:
        """Present, missing or off; what it costs here, and the command that adds it."""
        name, without = _NAMES[kind], _WITHOUT[kind]
        description = self._choice.model_to_use(kind)
        first = _FIRST[kind]
        if description is None and self._choice.forbids(kind):
            return Capability(name, "off", "not used", f"unset {self._choice.forbids(kind)}")
        if description is None:
            present = [one.name for one in self._weights.all() if one.kind == kind and one.state == "present"]
            if present:
                return Capability(name, "off", f"with one, {without}", f"docmind models enable {present[0]}")
            return Capability(name, "missing", f"with one, {without}", f"docmind models pull {first}")
        if description.state != "present":
            return Capability(name, "missing", f"{description.name}: {description.reason}", description.hint)
        embedding = self._embeddings[kind]
        counts, served = embedding.store.counts(), embedding.serving.now()
        seen, total = counts.get(description.fingerprint, 0), self._pages.images()
        bench = self._benches.of(description)
        rate = f"{bench.seconds_per_page:.2g} s a page here" if bench else "not measured here yet"
        detail = f"{description.name}, {rate}, {seen} of {total} page images"
        if self._trouble(kind):
            return Capability(name, "present", f"{detail}; {self._trouble(kind)}", "docmind models list")
        if served.fingerprint != description.fingerprint and counts.get(served.fingerprint):
            detail = f"{detail}; the pages were embedded by {served.name}"
            return Capability(name, "present", detail, f"docmind embed --model {description.name}")
        if bench is None:
            return Capability(name, "present", detail, f"docmind models bench {description.name}")
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
