"""The visual models of a vault: which are in use, and embedding pages with them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from docmind.config import Settings
from docmind.documents import Catalog, FigureVectors, PageList, PageVectors
from docmind.index import SearchIndex
from docmind.model_files import Progress, Pulls, Weights, models_dir_of
from docmind.reading import PagePictures
from docmind.records.documents import Capability
from docmind.records.models import (
    Description,
    EmbeddingProgress,
    ModelBench,
    ModelCard,
    ModelKind,
    PagesEmbedded,
    PullProgress,
)
from docmind.runtime import Check, Interactive
from docmind.storage import Database, Preferences
from docmind.visual.cards import Benches, Cards
from docmind.visual.embed_pages import Counts, Embedding
from docmind.visual.figure_looks import FigureLooks
from docmind.visual.former_paths import name_former_paths
from docmind.visual.jobs import EmbeddingJob, EmbeddingJobs, Follower, Runs
from docmind.visual.open_models import Opened
from docmind.visual.served import IndexedImages, IndexedLate, ModelChoice, ModelUse
from docmind.visual.vector_stores import ImageStore, LateStore, Store

_HERE = "here"  # the id of a run that is not a job


class Visual:
    """Visual models of a vault. Thread-safe. Nothing is opened or loaded before it is needed.

    `search.PageSearch` searches with them: it uses the parts of this object that have no underscore.

    Every method may raise `VaultError`. Methods that use a model raise `VisualModelError` where it fails or its files
    are missing, `ConfigError` where the kind is off or the model cannot run here, `ExtraMissingError`, and
    `IndexMismatchError` where the pages were embedded by another model than the one in use.
    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        catalog: Catalog,
        pictures: PagePictures,
        index: SearchIndex,
    ) -> None:
        self._settings, self._catalog = settings, catalog
        visual, preferences = settings.visual, Preferences(database)
        self._weights, self.opened = Weights(models_dir_of(settings)), Opened(visual)
        name_former_paths(database, preferences, self._weights)
        self.vectors, self.pages = PageVectors(database), PageList(database)
        one, many = ModelUse("image", database, catalog), ModelUse("late", database, catalog)
        self.late_store = LateStore(settings, database, catalog, self.pages, self.opened, index)
        self.images, self.late = IndexedImages(one, self.vectors), IndexedLate(many, self.late_store)
        """The mirror's sources of page vectors; multivectors only for an index that holds originals."""

        serving: dict[ModelKind, ModelUse] = {"image": one, "late": many}
        self.choice = ModelChoice(visual, preferences, self._weights, serving)
        seen = ImageStore(database, catalog, self.pages, self.vectors, self.opened, index.mirror)
        self.interactive, embeddings = Interactive(), dict[ModelKind, Embedding]()
        self.benches = Benches(preferences, self.opened)
        self.figure_looks = FigureLooks(FigureVectors(database), pictures, self.opened, self.interactive)
        self._runs = Runs(visual, self.choice, self.benches, self.pages, embeddings, self.figure_looks)
        stores: dict[ModelKind, Store] = {"image": seen, "late": self.late_store}
        for kind, store in stores.items():
            embeddings[kind] = Embedding(
                kind, store, serving[kind], self.pages, catalog, pictures, self.interactive, self._runs.switched
            )
        self.by_kind = embeddings
        self._follower = Follower(self._runs.by_themselves, self._begin, self._tidy, self._runs.look_at_figures)
        self._pulls = Pulls(self._weights, visual.hub_url, lambda _: self._follower.retry())
        self._jobs = EmbeddingJobs(database, self._runs.work, visual.budget_s)
        self._cards = Cards(
            self.choice, self._weights, self.benches, embeddings, self.pages,
            lambda kind: self._follower.trouble.get(kind, ""),
        )  # fmt: skip

    # models

    def models(self) -> tuple[ModelCard, ...]:
        """Return every known model and those in use, described without loading one."""
        return self._cards.all()

    def enable(self, name: str) -> ModelCard:
        """Use this model (a name of `models`, or a directory) for its kind; this does not embed pages again.

        Raises `ConfigError` for an unknown name and where a setting decides, `VisualModelError` where its files are
        missing.
        """
        description = self._runs.present(name)
        self.choice.choose(description.kind, description.name)
        self._follower.retry()
        return self._cards.of(description)

    def disable(self, kind: ModelKind) -> None:
        """Use no model of this kind; its vectors are kept. Raises `ConfigError` where a setting decides."""
        self.choice.choose(kind, None)
        self.opened.drop(self.by_kind[kind].serving.now().fingerprint)

    def is_on(self, kind: ModelKind) -> bool:
        """Return whether a model of this kind is to be used; a search reports why it cannot be."""
        return self.choice.model_to_use(kind) is not None

    def pull(self, name: str, progress: Progress | None = None, check: Check | None = None) -> ModelCard:
        """Download a model in this thread. Raises `ConfigError`, `DownloadError`, `DiskFullError`, as `check` does."""
        return self._cards.of(self._pulls.pull(name, progress, check))

    def submit_pull(self, name: str) -> None:
        """Download a model in the background. Raises `ConfigError`."""
        self._pulls.submit(name)

    def pulls(self) -> tuple[PullProgress, ...]:
        """Return the downloads of this process, the last of each model."""
        return self._pulls.all()

    def cancel_pull(self, name: str) -> None:
        """Stop a download; received data is kept. Without a download this does nothing."""
        self._pulls.cancel(name)

    def bench(self, name: str, *, pages: int = 3) -> ModelBench:
        """Measure a model on a few pages of this vault, or on a drawn one, and store the figures."""
        description = self._runs.present(name)
        images: list[bytes] = []
        wanted = {place.image: place for place in self.pages.asked()}
        for place in list(wanted.values())[: max(1, pages)]:
            image = self.by_kind[description.kind].image_of(place)
            if image is not None:
                images.append(image)
        return self.benches.measure(description, images)

    # embedding

    def embed(
        self,
        name: str,
        doc_ids: Sequence[str] = (),
        *,
        force: bool = False,
        report: Callable[[EmbeddingProgress], None] | None = None,
        check: Check | None = None,
    ) -> PagesEmbedded:
        """Embed pages in this thread: those without vectors, or all with `force`; of all documents or these.

        Where another model's vectors are in use, its own are made beside them, and searches switch to them when they
        are complete. `check` may raise to stop it; completed work stays. Raises `NotFoundError`, `DiskFullError`.
        """
        job = EmbeddingJob(_HERE, name, tuple(doc_ids), force, "running")
        started = time.monotonic()

        def told(_counts: Counts) -> None:
            if report is not None:
                report(job.progress())

        self._check(doc_ids)
        self._runs.run(job, told, lambda _: None, check or (lambda: None))
        return job.counts.result(job.model, started)

    def estimate(self, name: str, doc_ids: Sequence[str] = ()) -> tuple[int, float | None]:
        """Return the number of pages to embed, and the seconds that takes; None where it was never measured."""
        self._check(doc_ids)
        return self._runs.estimate(name, doc_ids)

    def submit_embedding(self, name: str, doc_ids: Sequence[str] = (), *, force: bool = False) -> str:
        """Run `embed` as a job: it can be paused, survives this process, and pauses after DOCMIND_VISUAL__BUDGET_S."""
        description = self._runs.usable(name)
        self._check(doc_ids)
        return self._jobs.submit(description.name, doc_ids, len(self.pages.asked(doc_ids)), force=force)

    def embeddings(self) -> tuple[EmbeddingProgress, ...]:
        """Return every stored embedding job, the oldest first."""
        return self._jobs.all()

    def embedding(self, job_id: str) -> EmbeddingProgress:
        """Return the progress of an embedding job. Raises `NotFoundError`."""
        return self._jobs.get(job_id)

    def pause(self, job_id: str) -> None:
        """Stop a job between two pages; `resume` continues it, also after a restart. Raises `NotFoundError`."""
        self._jobs.pause(job_id)

    def resume(self, job_id: str) -> None:
        """Continue a job that is paused or has failed. Raises `NotFoundError`."""
        self._jobs.resume(job_id)

    def cancel(self, job_id: str) -> None:
        """Stop a job for good between two pages; completed work stays. Raises `NotFoundError`."""
        self._jobs.cancel(job_id)

    # care

    def capabilities(self) -> tuple[Capability, ...]:
        """Return one capability per kind of model."""
        return self._cards.capability("image"), self._cards.capability("late")

    def follow(self) -> None:
        """Start embedding new pages with the models in use, in the background. Idempotent."""
        self._follower.follow()

    def wake(self) -> None:
        """Tell the background thread that pages were added or deleted."""
        self._follower.wake()

    def sweep(self) -> None:
        """Remove deleted pages from the files beside the vault; without such files this does nothing."""
        self.late_store.sweep()

    def close(self) -> None:
        """Stop everything after the current page, and end the models' processes. Idempotent."""
        self._follower.close()
        self._jobs.close()
        self.opened.close()
        self._pulls.close()
        self._follower.join()
        self._jobs.join()
        self.late_store.close()

    def _begin(self) -> None:
        self.sweep()  # deleted pages that a crash or a full disk left in the files
        self._runs.warm()

    def _tidy(self) -> None:
        for embedding in self.by_kind.values():
            embedding.settle(self._follower.check)

    def is_moving(self, description: Description) -> bool:
        """Return whether embedding pages with a model is running or has begun."""
        return self._runs.has_begun(description) or self._jobs.is_working(description.name)

    def _check(self, doc_ids: Sequence[str]) -> None:
        for doc_id in doc_ids:
            self._catalog.document(doc_id)
