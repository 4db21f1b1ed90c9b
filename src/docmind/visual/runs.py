"""Which model may be run over which pages, and what a run leaves behind beside the vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from docmind.config import VisualSettings
from docmind.errors import VisualModelError
from docmind.seeing import ModelKind
from docmind.visual.benches import Benches
from docmind.visual.choice import Choice, check_fits
from docmind.visual.embedding import Counts, Embedding
from docmind.visual.interactive import Check
from docmind.visual.jobs import EmbeddingJob
from docmind.visual.pages import PageList
from docmind.weights import Description

_GPUS = ("cuda", "mps")
_TELLING = 3  # pages that a run must have shown to a model for its time to be worth keeping


class Runs:
    """Safe from any thread."""

    def __init__(
        self,
        settings: VisualSettings,
        choice: Choice,
        benches: Benches,
        pages: PageList,
        embeddings: Mapping[ModelKind, Embedding],
    ) -> None:
        self._settings, self._choice, self._benches = settings, choice, benches
        self._pages, self._embeddings = pages, embeddings

    def present(self, name: str) -> Description:
        """A model whose files are here and whose vectors fit. Raises `ConfigError`, `VisualModelError`."""
        description = self._choice.describe(name)
        if description.state != "present":
            raise VisualModelError(f"{name} cannot be used: {description.reason}", hint=description.hint)
        check_fits(description)
        return description

    def usable(self, name: str) -> Description:
        """A model that searches may switch to. Raises also where a setting names another of its kind."""
        description = self.present(name)
        self._choice.check_free(description)
        return description

    def run(
        self, job: EmbeddingJob, report: Callable[[Counts], None], note: Callable[[Counts], None], check: Check
    ) -> None:
        """Do what a job asks for, from where it stands; documents that have gone are left out."""
        description = self.usable(job.model)
        if job.fingerprint != description.fingerprint:  # other weights under the same name: what was done is void
            job.fingerprint, job.counts = description.fingerprint, Counts()
        counts = self._embeddings[description.kind].run(
            description,
            self._pages.asked(job.doc_ids),
            force=job.force,
            counts=job.counts,
            report=report,
            note=note,
            check=check,
        )
        if counts.seen >= _TELLING and counts.seconds_per_page is not None:
            self._benches.note(description, counts.seconds_per_page)

    def work(self, job: EmbeddingJob, note: Callable[[Counts], None], check: Check) -> None:
        """`run` for those that look at the job itself to see how far it is."""
        self.run(job, lambda _: None, note, check)

    def estimate(self, name: str, doc_ids: Sequence[str]) -> tuple[int, float | None]:
        """Page images that the model has not seen, and the seconds that takes; None where it was never measured.

        Raises as `usable` does.
        """
        description = self.usable(name)
        wanted = [place.image for place in self._pages.asked(doc_ids)]
        images = self._embeddings[description.kind].store.missing(description.fingerprint, wanted)
        bench = self._benches.of(description)
        return len(images), bench.seconds_per_page * len(images) if bench else None

    def by_themselves(self) -> list[tuple[Embedding, Description]]:
        """The models that see new pages without being asked.

        The image model does. A late one does where the settings say so, or where it was measured to run on a GPU here.
        """
        found: list[tuple[Embedding, Description]] = []
        for kind, embedding in self._embeddings.items():
            description = self._choice.model_to_use(kind)
            if description is not None and (kind == "image" or self._is_fast(description)):
                found.append((embedding, description))
        return found

    def has_begun(self, description: Description) -> bool:
        """Whether the model has seen pages already, or sees them now."""
        embedding = self._embeddings[description.kind]
        return embedding.running == description.fingerprint or bool(
            embedding.store.counts().get(description.fingerprint)
        )

    def warm(self) -> None:
        """Make ready what has seen pages, for the first search. Raises what models raise."""
        for kind, embedding in self._embeddings.items():
            description = self._choice.model_to_use(kind)
            if description is not None and embedding.store.counts().get(description.fingerprint):
                embedding.store.warm(description)

    def switched(self, description: Description) -> None:
        """Searches are answered from this model now: it is the one in use, whatever was chosen before."""
        self._choice.follow(description)

    def _is_fast(self, description: Description) -> bool:
        bench = self._benches.of(description)
        return self._settings.late_on_ingest or (bench is not None and bench.device in _GPUS)
