"""The part of the facade that looks at pages: models, searches, embedding, heat maps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from docmind.artifacts import Artifacts
from docmind.catalog import Catalog
from docmind.config import Settings
from docmind.database import Database
from docmind.pagevectors import PageVectors
from docmind.preferences import Preferences
from docmind.querycache import QueryCache
from docmind.schema import Capability, Filters
from docmind.seeing import (
    EmbeddingProgress,
    HeatMap,
    ModelBench,
    ModelCard,
    ModelKind,
    PageHits,
    PageScores,
    PagesEmbedded,
    PullProgress,
)
from docmind.visual.benches import Benches
from docmind.visual.cards import Cards
from docmind.visual.choice import Choice
from docmind.visual.embedding import Counts, Embedding
from docmind.visual.finder import Finder
from docmind.visual.follower import Follower
from docmind.visual.interactive import Check, Interactive
from docmind.visual.jobs import EmbeddingJob, EmbeddingJobs
from docmind.visual.opened import Opened
from docmind.visual.pages import PageList
from docmind.visual.pulls import Progress, Pulls
from docmind.visual.runs import Runs
from docmind.visual.scoring import Scoring
from docmind.visual.searching import Searching, checked_count, checked_question, words_or_picture
from docmind.visual.serving import IndexedImages, IndexedLate, Serving
from docmind.visual.stores import ImageStore, LateStore, Store
from docmind.weights import Description, Weights, models_dir_of

_HERE = "here"  # the id of a run that is no job


class Visual:
    """Safe from any thread. Nothing is opened or loaded before it is needed; without a model nothing ever is.

    Errors that every method may raise: `VaultError`. Those of models: `VisualModelError` where a model fails or its
    files are gone, `ConfigError` where the kind is off or the model cannot run here, `ExtraMissingError`,
    `IndexMismatchError` where the pages have been embedded by another model than the one in use.
    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        catalog: Catalog,
        artifacts: Artifacts,
        finder: Finder,
        cache: QueryCache,
    ) -> None:
        self._settings, self._catalog, self._artifacts = settings, catalog, artifacts
        visual, preferences = settings.visual, Preferences(database)
        self._weights, self._opened = Weights(models_dir_of(settings)), Opened(visual)
        vectors, self._pages = PageVectors(database), PageList(database)
        one, many = Serving("image", database, catalog), Serving("late", database, catalog)
        self._late = LateStore(settings, database, catalog, self._pages, self._opened, finder)
        self.images, self.late = IndexedImages(one, vectors), IndexedLate(many, self._late)
        """What the mirror takes vectors of pages from; many a page only for an index that holds originals."""

        serving: dict[ModelKind, Serving] = {"image": one, "late": many}
        self._choice = Choice(visual, preferences, self._weights, serving)
        seen = ImageStore(database, catalog, self._pages, vectors, self._opened, finder.mirror)
        self._interactive, embeddings = Interactive(), dict[ModelKind, Embedding]()
        self._benches = Benches(preferences, self._opened)
        self._runs = Runs(visual, self._choice, self._benches, self._pages, embeddings)
        stores: dict[ModelKind, Store] = {"image": seen, "late": self._late}
        for kind, store in stores.items():
            embeddings[kind] = Embedding(
                kind, store, serving[kind], self._pages, catalog, artifacts, self._interactive, self._runs.switched
            )
        self._embeddings = embeddings
        self._follower = Follower(self._runs.by_themselves, self._begin, self._tidy)
        self._pulls = Pulls(self._weights, visual.hub_url, lambda _: self._follower.retry())
        self._jobs = EmbeddingJobs(database, self._runs.work, visual.budget_s)
        self._cards = Cards(
            self._choice, self._weights, self._benches, embeddings, self._pages,
            lambda kind: self._follower.trouble.get(kind, ""),
        )  # fmt: skip
        self._searching = Searching(finder, self._choice, self._opened, self._pages, catalog, cache, self._is_moving)
        self._scoring = Scoring(
            visual, self._searching, embeddings, catalog, vectors, self._late, self._benches, self._interactive
        )

    # models

    def models(self) -> tuple[ModelCard, ...]:
        """Every known model and those in use, described without loading one."""
        return self._cards.all()

    def enable(self, name: str) -> ModelCard:
        """Use this model (a name of `models`, or a directory) for its kind; pages are not embedded again by that.

        Raises `ConfigError` for a name that is none and where a setting decides, `VisualModelError` where its files
        are not here.
        """
        description = self._runs.present(name)
        self._choice.choose(description.kind, description.name)
        self._follower.retry()
        return self._cards.of(description)

    def disable(self, kind: ModelKind) -> None:
        """Use no model of this kind; what it made is kept. Raises `ConfigError` where a setting decides."""
        self._choice.choose(kind, None)
        self._opened.forget(self._embeddings[kind].serving.now().fingerprint)

    def is_on(self, kind: ModelKind) -> bool:
        """Whether a model of this kind is to be used; a search says why one that is on cannot be."""
        return self._choice.model_to_use(kind) is not None

    def pull(self, name: str, progress: Progress | None = None, check: Check | None = None) -> ModelCard:
        """Fetch a model, here and now. Raises `ConfigError`, `DownloadError`, `DiskFullError`, what `check` raises."""
        return self._cards.of(self._pulls.pull(name, progress, check))

    def submit_pull(self, name: str) -> None:
        """Fetch a model in the background. Raises `ConfigError`."""
        self._pulls.submit(name)

    def pulls(self) -> tuple[PullProgress, ...]:
        """The downloads of this process, the last of each model."""
        return self._pulls.all()

    def cancel_pull(self, name: str) -> None:
        """Stop a download; what has arrived is kept. Harmless where there is none."""
        self._pulls.cancel(name)

    def bench(self, name: str, *, pages: int = 3) -> ModelBench:
        """Measure a model on a few pages of this vault, or on a drawn one, and keep the figures."""
        description = self._runs.present(name)
        images: list[bytes] = []
        wanted = {place.image: place for place in self._pages.asked()}
        for place in list(wanted.values())[: max(1, pages)]:
            image = self._embeddings[description.kind].image_of(place)
            if image is not None:
                images.append(image)
        return self._benches.measure(description, images)

    # searching

    def search_images(
        self, question: str | None = None, *, picture: bytes | None = None, k: int = 20, filters: Filters = Filters()
    ) -> PageHits:
        """Pages that fit the words, or look like the picture (PNG, JPEG, WebP, …), by cosine; at most `k`.

        Raises `ConfigError` without either, and where both are given; `TooLargeError`. Scores compare within one call.
        """
        words = words_or_picture(question, picture, self._settings.reading.max_file_mb)
        with self._interactive.search():
            return self._searching.images(self._embeddings["image"], words, picture, checked_count(k), filters)

    def search_late(self, question: str, *, k: int = 20, filters: Filters = Filters()) -> PageHits:
        """Pages by late interaction; `score` is an unbounded MaxSim. Raises `ConfigError` for an empty question."""
        with self._interactive.search():
            return self._searching.late(
                self._embeddings["late"], self._late, checked_question(question), checked_count(k), filters
            )

    def score_pages(
        self, kind: ModelKind, places: Sequence[tuple[str, int]], question: str | None, picture: bytes | None = None
    ) -> PageScores:
        """How well each page, `(doc_id, page_no)`, fits the words, or looks like the picture (image models only).

        Late interaction looks at pages that it has not seen as long as DOCMIND_VISUAL__RERANK_BUDGET_S lasts.
        """
        if kind == "late":
            return self._scoring.late(places, checked_question(question or ""))
        words = words_or_picture(question, picture, self._settings.reading.max_file_mb)
        return self._scoring.image(places, words, picture)

    def heat_map(self, question: str, doc_id: str, page_no: int) -> HeatMap:
        """How much each patch of a page answers each token. Raises `NotFoundError` where it has no multivectors."""
        page = self._catalog.page(doc_id, page_no)
        words = checked_question(question)
        with self._interactive.search():
            return self._searching.heat_map(self._embeddings["late"], self._late, page, words)

    def has_heat(self, doc_id: str, page_no: int) -> bool:
        """Whether `heat_map` has something to say of this page."""
        served = self._embeddings["late"].serving.now().fingerprint
        if not served or not self.is_on("late"):
            return False
        page = self._pages.image_at(doc_id, page_no)
        return page is not None and self._late.has(served, page)

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
        """Show pages to a model, here and now: those it has not seen, or all with `force`; of all documents or these.

        Where another model's vectors are in use, its own are made beside them, and searches switch to them when they
        are complete. `check` may raise to stop it; what was done stays. Raises `NotFoundError`, `DiskFullError`.
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
        """Pages that the model has not seen, and the seconds they take here; None where that was never measured."""
        self._check(doc_ids)
        return self._runs.estimate(name, doc_ids)

    def submit_embedding(self, name: str, doc_ids: Sequence[str] = (), *, force: bool = False) -> str:
        """`embed` as a job that can be paused, outlives this process, and is paused after DOCMIND_VISUAL__BUDGET_S."""
        description = self._runs.usable(name)
        self._check(doc_ids)
        return self._jobs.submit(description.name, doc_ids, len(self._pages.asked(doc_ids)), force=force)

    def embeddings(self) -> tuple[EmbeddingProgress, ...]:
        """Every embedding job that is kept, the oldest first."""
        return self._jobs.all()

    def embedding(self, job_id: str) -> EmbeddingProgress:
        """Raises `NotFoundError`."""
        return self._jobs.get(job_id)

    def pause(self, job_id: str) -> None:
        """Stop a job between two pages; `resume` goes on there, also after a restart. Raises `NotFoundError`."""
        self._jobs.pause(job_id)

    def resume(self, job_id: str) -> None:
        """Go on with a job that is paused or has failed. Raises `NotFoundError`."""
        self._jobs.resume(job_id)

    def cancel(self, job_id: str) -> None:
        """Stop a job for good between two pages; what was embedded stays. Raises `NotFoundError`."""
        self._jobs.cancel(job_id)

    # care

    def capabilities(self) -> tuple[Capability, ...]:
        """One line a kind of model."""
        return self._cards.capability("image"), self._cards.capability("late")

    def follow(self) -> None:
        """Show new pages to the models in use from now on, in the background. Harmless twice."""
        self._follower.follow()

    def wake(self) -> None:
        """Pages have come or gone."""
        self._follower.wake()

    def sweep(self) -> None:
        """Leave nothing of deleted pages in the files beside the vault; costs nothing where there are none."""
        self._late.sweep()

    def close(self) -> None:
        """Stop everything after the page that is being looked at, and end the models' processes. Harmless twice."""
        self._follower.close()
        self._jobs.close()
        self._opened.close()
        self._pulls.close()
        self._follower.join()
        self._jobs.join()
        self._late.close()

    def _begin(self) -> None:
        self.sweep()  # what a crash or a full disk left of deleted pages
        self._runs.warm()

    def _tidy(self) -> None:
        for embedding in self._embeddings.values():
            embedding.settle(self._follower.check)

    def _is_moving(self, description: Description) -> bool:
        return self._runs.has_begun(description) or self._jobs.is_working(description.name)

    def _check(self, doc_ids: Sequence[str]) -> None:
        for doc_id in doc_ids:
            self._catalog.document(doc_id)
