"""Steps of a turn: contextualise, recognise, then reply, or retrieve, answer and verify; then remember.

Each writes a channel of the state. What a run uses and does not store is in `Means`, the vault's services, and in
`Course`, the run's own data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Protocol

from langgraph.runtime import Runtime

from docmind.answers import (
    NOT_FOUND,
    DirectAnswers,
    Extract,
    Extractive,
    Passage,
    Reply,
    Scope,
    Verified,
    Verifier,
    lacking,
    quoted,
    with_looks,
)
from docmind.config import Settings
from docmind.conversations.checkpoints import refuse
from docmind.conversations.pictures import STAGE, Picture, choose, pictures_of
from docmind.conversations.prompts import first_messages, understand
from docmind.conversations.state import (
    NOTHING_KEPT,
    Found,
    Question,
    State,
    Written,
    filters_of,
    intent_of,
    lists_of,
    plain_answer,
    plain_intent,
)
from docmind.documents import Catalog, PageRecord
from docmind.errors import (
    DamagedError,
    ImagesRefusedError,
    LanguageModelBrokenError,
    LanguageModelError,
    StateRefusedError,
)
from docmind.llm import ChatModel, Message, Stop
from docmind.records.answers import Answer, Outcome
from docmind.records.conversations import MemoryList, RunStage, WebResult, closest
from docmind.records.documents import ArtifactRef
from docmind.records.search import Degraded, Filters, Hit, ListName, MultimodalHit, MultimodalResult, SearchResult

PRIOR = 0.5  # of the best probability of all documents: what those of a conversation need to be preferred


class Search(Protocol):
    """A search of everything for a question, as the facade offers it."""

    def __call__(
        self,
        question: str,
        *,
        k: int | None = None,
        filters: Filters = Filters(),
        lists: Sequence[ListName] | None = None,
    ) -> MultimodalResult: ...


class Tell(Protocol):
    """A report of the current stage and a piece of the answer; `restart` discards the pieces reported so far."""

    def __call__(self, stage: RunStage, piece: str = "", *, restart: bool = False) -> None: ...


@dataclass(frozen=True, slots=True)
class Means:
    """The services that every run uses.

    `recall` returns what a model should know of a question of a thread, `told` the remembered facts that bear on it,
    `expand` the question with what remembered definitions say that its terms stand for.
    `propose` returns facts in what the user typed. `image` returns the file of a page's image. `instructions` returns
    those of the user for a thread, and what of them cannot be read. `web` is None while web search is off.
    """

    settings: Settings
    catalog: Catalog
    search: Search
    extractive: Extractive
    lenient: Extractive
    """The same without a threshold, for pages that the question itself points to."""
    verifier: Verifier
    direct: DirectAnswers
    epoch: Callable[[], int]
    recall: Callable[[str, str | None], MemoryList]
    told: Callable[[str, str | None], MemoryList]
    expand: Callable[[str, str | None], str]
    propose: Callable[[str], tuple[str, ...]]
    image: Callable[[ArtifactRef], bytes]
    instructions: Callable[[str | None], tuple[tuple[str, ...], tuple[Degraded, ...]]]
    web: Callable[[str], tuple[WebResult, ...]] | None = None


@dataclass(slots=True)
class Course:
    """The data of one run; used by its own thread only.

    `said` are earlier turns as (question, answer); `topics` are the questions of those that asked about documents.
    """

    stop: Stop
    tell: Tell
    show: Callable[[Sequence[Hit]], None]
    """A report of the pages that were found, before anything is written about them."""
    model: ChatModel | None = None
    thread_id: str | None = None
    said: tuple[tuple[str, str], ...] = ()
    topics: tuple[str, ...] = ()
    quoted: frozenset[str] = frozenset()
    """The quotes of the previous turn: a follow-up asks for something else."""
    search: SearchResult | None = None
    is_recalled: bool = False
    """Whether documents of the previous turn were searched instead of all, or a page beside the last source."""
    is_pointed_at: bool = False
    """Whether the question itself points to what was searched: its quotes need no threshold."""
    passages: list[Passage] = field(default_factory=list)
    looks: list[MultimodalHit] = field(default_factory=list)
    """Pages found by their look, best first."""
    extract: Extract | None = None
    web: list[WebResult] = field(default_factory=list)
    degraded: list[Degraded] = field(default_factory=list)
    timings_ms: dict[str, float] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    """The page images that the model sees."""
    is_blind: bool = False
    """Whether the model's server refused images in this run."""
    steps: int = 0
    written_tokens: int = 0
    started: float = field(default_factory=time.perf_counter)

    def lasted(self, name: str, since: float) -> None:
        """Add the time from `since` (of `time.perf_counter`) until now to the timing of `name`."""
        self.timings_ms[name] = self.timings_ms.get(name, 0.0) + (time.perf_counter() - since) * 1000


class Steps:
    """The steps over one vault. Thread-safe: the data of a run is in its `Course`."""

    def __init__(self, means: Means) -> None:
        self._means = means

    def contextualise(self, state: State, runtime: Runtime[Course]) -> dict[str, Any]:
        """Resolve the question in its conversation, and choose the documents it may fall back on."""
        course = runtime.context
        course.tell("reading the question")
        understood = understand(state["question"]["text"], course.topics)
        kept = state.get("kept") or NOTHING_KEPT
        page = None
        if understood.page_step is not None and kept["place"]:
            doc_id, page_no = kept["place"]
            page = [doc_id, page_no + understood.page_step]
        recall = (kept["cited"] or kept["retrieved"]) if understood.is_contextual else []
        return {
            "asked": {
                "text": self._means.expand(understood.text, course.thread_id),
                "is_contextual": understood.is_contextual,
                "page": page,
                "recall": list(recall),
                "is_cited": bool(kept["cited"]),
                "has_topic": understood.has_topic,
            }
        }

    def recognise(self, state: State, runtime: Runtime[Course]) -> dict[str, Any]:
        """Recognise what the question asks for; what needs no search leans on no earlier question."""
        course = runtime.context
        scope, has_model = self._scope(state, course), course.model is not None
        intent = self._means.direct.recognise(state["question"]["text"], scope, has_model=has_model)
        changed: dict[str, Any] = {"intent": plain_intent(intent)}
        if intent.is_direct:
            text = " ".join(state["question"]["text"].split())
            changed["asked"] = {"text": text, "is_contextual": False, "page": None, "recall": [], "is_cited": False}
        return changed

    def way(self, state: State) -> Literal["reply", "retrieve"]:
        """Return the step that follows what was recognised."""
        return "reply" if intent_of(state).is_direct else "retrieve"

    def reply(self, state: State, runtime: Runtime[Course]) -> dict[str, Any]:
        """Answer what needs no search, unless the user stopped it."""
        course = runtime.context
        course.tell("searching")
        is_stopped = course.stop()
        reply = Reply(Verified("", (), ()), "not found")
        if not is_stopped:
            reply = self._means.direct.reply(intent_of(state), self._scope(state, course))
        course.lasted("total", course.started)
        answer = reply.answer(state["question"]["text"], course.timings_ms["total"], tuple(course.degraded))
        return {
            "found": {"nodes": [], "pages": [], "recalled": []},
            "written": {**written_of("", "", course), "is_stopped": is_stopped},
            "answer": plain_answer(answer),
        }

    def retrieve(self, state: State, runtime: Runtime[Course]) -> dict[str, Any]:
        """Retrieve hits for the question.

        A contextual question prefers the documents of the latest answer; one without any hits falls back on them.
        """
        course = runtime.context
        course.tell("searching")
        self._searched(state, course)
        found = course.search
        assert found is not None
        course.passages = self._passages(found.hits)
        course.show(found.hits)
        asked = state["asked"]
        is_told = course.is_recalled and asked is not None and (asked["is_cited"] or bool(asked["page"]))
        recalled = sorted({hit.doc_id for hit in found.hits}) if is_told else []
        return {"found": _plain_found(found, recalled)}

    def mode(self, state: State) -> Literal["answer", "agent"]:
        """Return the step that follows the search."""
        return "agent" if state["question"]["mode"] == "agent" else "answer"

    def answer(self, state: State, runtime: Runtime[Course]) -> dict[str, Any]:
        """Stream the model's text; without a model, or where it fails at once, the text is empty."""
        course = runtime.context
        model = course.model
        if model is None or course.stop():
            return {"written": written_of("", "", course)}
        course.tell("writing", restart=True)
        at = time.perf_counter()
        pieces: list[str] = []
        failure: list[str] = []
        try:
            for piece in self._pieces(model, state, course):
                if not pieces:
                    course.lasted("first token", at)
                pieces.append(piece)
                course.tell("writing", piece)
        except LanguageModelError as error:
            failure = [str(error), error.hint]
        course.lasted("write", at)
        text, name = "".join(pieces), model.info.name
        return {"written": written_of(text, name, course, failure)}

    def _pieces(self, model: ChatModel, state: State, course: Course) -> Iterator[str]:
        """Yield the pieces of the answer; a model that refuses page images is asked again without them."""
        try:
            yield from model.stream(self.messages(state, course), course.stop)
        except ImagesRefusedError as error:
            self.blind(course, error)
            yield from model.stream(self.messages(state, course), course.stop)

    def blind(self, course: Course, error: ImagesRefusedError) -> None:
        """Send no more images in this run, and report why."""
        course.is_blind, course.pictures = True, []
        course.degraded.append(Degraded(STAGE, f"{error} It was asked again without them."))

    def messages(self, state: State, course: Course, *, is_agent: bool = False) -> list[Message]:
        """Build the messages for the model, with room left for its answer, and images where it accepts any."""
        asked = state["question"]["text"]
        try:
            recalled = self._means.recall(asked, course.thread_id)
        except DamagedError as error:
            recalled = MemoryList((), (Degraded("memory", str(error)),))
        course.degraded += recalled.degraded
        memories = [memory.text for memory in recalled.memories]
        llm = self._means.settings.llm
        most = course.model.info.context_tokens if course.model is not None else 0
        context = min(llm.context_tokens, most) if most else llm.context_tokens
        room = context - min(llm.max_tokens, context // 2) - 64
        self._look(state, course, room)
        instructions, degraded = self._means.instructions(course.thread_id)
        course.degraded += degraded
        return first_messages(
            asked,
            course.passages,
            course.said,
            memories,
            room=room - sum(picture.tokens for picture in course.pictures),
            images=[(picture.label, picture.jpeg) for picture in course.pictures],
            instructions=instructions,
            is_agent=is_agent,
        )

    def _look(self, state: State, course: Course, room: int) -> None:
        """Set the images of the first pages: of the sources, and of pages found by their look."""
        llm, model = self._means.settings.llm, course.model
        course.pictures = []
        if model is None or not model.info.takes_images or course.is_blind or not llm.images:
            return
        at = time.perf_counter()
        asked, found = state["asked"], course.search
        first = list(found.hits[:1]) if asked is not None and asked["page"] and found is not None else []
        hits = choose([*first, *(passage.hit for passage in course.passages)], course.looks, llm.images)
        records = self._means.catalog.pages((hit.doc_id, hit.page_no) for hit in hits)
        course.pictures, degraded = pictures_of(hits, records, self._means.image, side=llm.image_side_px, room=room)
        course.degraded += degraded
        course.lasted("page images", at)

    def _seen(self, places: Sequence[Sequence[Any]]) -> dict[int, Passage]:
        """Return the pages whose images a model saw, by their numbers, without those that were deleted since."""
        records = self._means.catalog.pages((doc_id, page_no) for doc_id, page_no in places)
        seen = {}
        for number, (doc_id, page_no) in enumerate(places, 1):
            record, name = records.get((doc_id, page_no)), self._means.catalog.name_and_title(doc_id)
            if record is not None and name is not None:
                seen[number] = Passage(_whole(record, name[0]), record, 0, len(record.text))
        return seen

    def verify(self, state: State, runtime: Runtime[Course]) -> dict[str, Any]:
        """Find the places that support each sentence; quote the documents where nothing was written."""
        course = runtime.context
        course.tell("checking")
        self._searched(state, course)
        written = state["written"]
        assert written is not None
        assert course.search is not None
        if written["failure"]:
            course.degraded.append(Degraded("language model", written["failure"][0]))
        at = time.perf_counter()
        outcome: Outcome = "answer"
        told: tuple[str, ...] = ()
        needs = ""
        is_written = bool(written["text"].strip()) and not written["failure"]
        if is_written:
            seen = self._seen(written.get("images", []))
            epoch = self._means.epoch()
            checked = self._means.verifier.verify(written["text"], course.passages, images=seen, epoch=epoch)
            course.lasted("verify", at)
        elif written["is_stopped"]:
            checked = Verified("", (), ())
        else:
            checked, outcome = self._quotes(state, course)
            intent = intent_of(state)
            needs = intent.needs
            checked, outcome = lacking(checked, outcome, intent.lead)
            recalled = self._means.told(state["question"]["text"], course.thread_id)
            told = tuple(memory.text for memory in recalled.memories)
            course.degraded += recalled.degraded
            course.lasted("quotes", at)
        if not written["is_stopped"]:
            checked = with_looks(checked, course.looks, self._means.catalog, self._means.epoch())
        course.lasted("total", course.started)
        answer = Answer(
            question=state["question"]["text"],
            answer=checked.answer,
            found=bool(checked.sources),
            sources=checked.sources,
            degraded=tuple(dict.fromkeys((*course.search.degraded, *course.degraded, *checked.degraded))),
            timings_ms=(*course.search.timings_ms[:-1], *course.timings_ms.items()),
            sentences=checked.sentences,
            model=written["model"] if is_written else "",
            model_place=course.model.info.place if is_written and course.model is not None else "",
            outcome="maybe" if outcome == "not found" and checked.sources else outcome,
            told=told,
            needs=needs,
        )
        return {
            "answer": plain_answer(answer, () if answer.found else closest(course.search.hits)),
            "written": {**written, "text": ""},  # the text is in the answer
        }

    def remember(self, state: State, runtime: Runtime[Course]) -> dict[str, Any]:
        """Store what the next turn may refer to, and propose what the user may want remembered."""
        course = runtime.context
        course.tell("remembering")
        answer, found = state["answer"], state["found"]
        assert answer is not None
        assert found is not None
        kept = state.get("kept") or NOTHING_KEPT
        cited = list(dict.fromkeys(source["doc_id"] for source in answer["sources"]))
        retrieved = list(dict.fromkeys(page.split("::page::")[0] for page in found["pages"]))
        first = answer["sources"][0] if answer["sources"] else None
        may_propose = course.thread_id is not None and not intent_of(state).is_direct
        proposals = self._means.propose(state["question"]["text"]) if may_propose else ()
        return {
            "kept": {
                "cited": cited or kept["cited"],
                "retrieved": retrieved or kept["retrieved"],
                "place": [first["doc_id"], first["page_no"]] if first else kept["place"],
            },
            "memories": list(proposals),
        }

    def widen(self, course: Course, hits: Sequence[Hit]) -> list[Passage]:
        """Add passages that a tool found and return the new ones; known passages are left out."""
        known = {passage.hit.node_id for passage in course.passages}
        more = [passage for passage in self._passages(hits) if passage.hit.node_id not in known]
        course.passages += more
        return more

    def search(self, text: str, question: Question, filters: Filters) -> MultimodalResult:
        """Search as the question wants it: how many pages, and which lists."""
        return self._means.search(text, k=question["k"], filters=filters, lists=lists_of(question))

    def page_hit(self, doc_id: str, page_no: int) -> Hit | None:
        """Return a whole page as a hit; None where there is no such page."""
        page = self._means.catalog.pages([(doc_id, page_no)]).get((doc_id, page_no))
        named = self._means.catalog.name_and_title(doc_id)
        return _whole(page, named[0]) if page is not None and named is not None else None

    def _scope(self, state: State, course: Course) -> Scope:
        """Return where the question looks: its filters and lists, and the documents of the conversation."""
        question, kept = state["question"], state.get("kept") or NOTHING_KEPT
        talked_about = tuple(kept["cited"] or kept["retrieved"][:1])
        return Scope(filters_of(question["filters"]), lists_of(question), course.thread_id, talked_about)

    def _searched(self, state: State, course: Course) -> None:
        """Set `course.search` unless it is set: a run that is resumed has none."""
        if course.search is not None:
            return
        question, asked = state["question"], state["asked"]
        assert asked is not None
        if asked["page"]:
            hit = self.page_hit(*asked["page"])
            if hit is not None:
                course.search = SearchResult(asked["text"], (hit,), timings_ms=(("total", 0.0),))
                course.is_recalled = course.is_pointed_at = True
                return
        filters = filters_of(question["filters"])
        found = self.search(asked["text"], question, filters)
        recall = [doc for doc in asked["recall"] if not filters.doc_ids or doc in filters.doc_ids]
        if recall:
            found = self._preferred(found, recall, state, course)
        course.search, course.looks = found, list(found.looks)

    def _preferred(
        self, found: MultimodalResult, recall: Sequence[str], state: State, course: Course
    ) -> MultimodalResult:
        """Return what the documents of the conversation have, unless others answer the question far better.

        Where no document answers a question without a topic of its own, it is about those of the conversation.
        """
        question, asked = state["question"], state["asked"]
        assert asked is not None
        filters = replace(filters_of(question["filters"]), doc_ids=tuple(recall))
        within = self.search(asked["text"], question, filters)
        extract, threshold = self._means.extractive.extract, self._means.settings.answer.threshold
        of_all, of_these = extract(asked["text"], found), extract(asked["text"], within)
        is_near = of_these.confidence >= max(threshold, PRIOR * of_all.confidence)
        is_lost = not of_all.sources and not asked.get("has_topic", False)
        if not within.hits or not (is_near or is_lost):
            return found
        elsewhere = [source.doc_id for source in of_all.sources[:1] if source.doc_id not in recall]
        course.is_recalled = is_lost or bool(elsewhere)
        course.is_pointed_at = is_lost and asked["is_cited"]
        return within

    def _quotes(self, state: State, course: Course) -> tuple[Verified, Outcome]:
        found = course.search
        assert found is not None
        asked = state["asked"]
        assert asked is not None
        extractive = self._means.lenient if course.is_pointed_at else self._means.extractive
        besides = course.quoted if asked["is_contextual"] else ()
        extract: Extract = extractive.extract(found.query, found, besides)
        if not extract.sources:
            return Verified(NOT_FOUND, (), ()), "not found"
        epoch = self._means.epoch()
        sources = [replace(source, index_epoch=epoch) for source in extract.sources]
        return quoted(sources, extract.outcome), extract.outcome

    def _passages(self, hits: Sequence[Hit]) -> list[Passage]:
        pages = self._means.catalog.pages((hit.doc_id, hit.page_no) for hit in hits)
        passages = []
        for hit in hits:
            page = pages.get((hit.doc_id, hit.page_no))
            if page is not None and hit.text:  # deleted after the search, or a page without words
                start = max(0, page.text.find(hit.text))
                passages.append(Passage(hit, page, start, min(len(page.text), start + len(hit.text))))
        return passages


def _plain_found(found: SearchResult, recalled: list[str]) -> Found:
    return {
        "nodes": [hit.node_id for hit in found.hits],
        "pages": [hit.page_id for hit in found.hits],
        "recalled": recalled,
    }


def written_of(text: str, model: str, course: Course, failure: Sequence[str] = ()) -> Written:
    """Return what a model wrote in a run; a failure where its text cannot be stored in a conversation."""
    try:
        refuse(text, "answer")
    except StateRefusedError:
        failure, text = ("The language model wrote what is no text.", LanguageModelBrokenError.hint), ""
    written: Written = {
        "text": text,
        "model": model,
        "is_stopped": course.stop(),
        "failure": list(failure),
        "web": [asdict(result) for result in course.web],
    }
    return {**written, "images": [list(picture.place) for picture in course.pictures]} if course.pictures else written


def _whole(page: PageRecord, document: str) -> Hit:
    return Hit(
        rank=1,
        score=1.0,
        document=document,
        doc_id=page.doc_id,
        page_no=page.page_no,
        page_id=page.page_id,
        modality="text",
        text=page.text,
        boxes=(),
        node_id=page.page_id,
        language=page.language,
        page_width=page.width,
        page_height=page.height,
    )
