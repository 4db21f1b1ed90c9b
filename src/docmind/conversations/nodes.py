"""Steps of a turn: contextualise, recognise, then reply, summarise, or retrieve, answer and verify; then remember.

Each writes a channel of the state. What a run uses and does not store is in `course`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from langgraph.runtime import Runtime

from docmind.answers import Extract, Verified, Verifier, not_found, quoted, with_looks
from docmind.config import LLMSettings
from docmind.conversations.course import Course, written_of
from docmind.conversations.direct import DirectAnswers, Reply, Scope, lacking
from docmind.conversations.guidance import Guidance
from docmind.conversations.pictures import PageImages, blind, seen
from docmind.conversations.prompts import first_messages, room_of, understand
from docmind.conversations.retrieval import Retrieval
from docmind.conversations.state import (
    NOTHING_KEPT,
    Found,
    State,
    filters_of,
    intent_of,
    lists_of,
    plain_answer,
    plain_intent,
    question_of,
    search_words_of,
)
from docmind.documents import Catalog
from docmind.errors import ImagesRefusedError, LanguageModelError
from docmind.llm import ChatModel, Message
from docmind.memory import Memories
from docmind.records.answers import Answer, Outcome
from docmind.records.conversations import closest
from docmind.records.search import Degraded, SearchResult


class Steps:
    """The steps over one vault. Thread-safe: the data of a run is in its `Course`."""

    def __init__(
        self,
        settings: LLMSettings,
        *,
        catalog: Catalog,
        retrieval: Retrieval,
        images: PageImages,
        guidance: Guidance,
        memories: Memories,
        direct: DirectAnswers,
        verifier: Verifier,
    ) -> None:
        self._settings, self._catalog, self._retrieval, self._images = settings, catalog, retrieval, images
        self._guidance, self._memories, self._direct, self._verifier = guidance, memories, direct, verifier

    def contextualise(self, state: State, runtime: Runtime[Course]) -> dict[str, Any]:
        """Resolve the question in its conversation, and choose the documents it may fall back on."""
        course = runtime.context
        course.tell("reading the question")
        understood = understand(question_of(state), course.topics)
        kept = state.get("kept") or NOTHING_KEPT
        page = None
        if understood.page_step is not None and kept["place"]:
            doc_id, page_no = kept["place"]
            page = [doc_id, page_no + understood.page_step]
        recall = (kept["cited"] or kept["retrieved"]) if understood.is_contextual else []
        return {
            "asked": {
                "text": self._memories.expand(understood.search_words, thread_id=course.thread_id),
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
        intent = self._direct.recognise(question_of(state), self._scope(state, course))
        changed: dict[str, Any] = {"intent": plain_intent(intent)}
        if intent.is_direct:
            search_words = " ".join(question_of(state).split())
            changed["asked"] = {
                "text": search_words,
                "is_contextual": False,
                "page": None,
                "recall": [],
                "is_cited": False,
            }
        return changed

    def way(self, state: State, runtime: Runtime[Course]) -> Literal["reply", "retrieve", "summarise"]:
        """Return the step that follows what was recognised; a summary is written where a language model is there."""
        intent = intent_of(state)
        if intent.kind == "summary" and runtime.context.model is not None:
            return "summarise"
        return "reply" if intent.is_direct else "retrieve"

    def reply(self, state: State, runtime: Runtime[Course]) -> dict[str, Any]:
        """Answer what needs no search, unless the user stopped it."""
        course = runtime.context
        course.tell("searching")
        is_stopped = course.stop()
        reply = Reply(Verified("", (), ()), "not found")
        if not is_stopped:
            reply = self._direct.reply(intent_of(state), self._scope(state, course))
        course.lasted("total", course.started)
        answer = reply.answer(question_of(state), course.timings_ms["total"], tuple(course.degraded))
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
        self._retrieval.ensure(state, course)
        found = course.search
        assert found is not None
        course.passages = self._retrieval.passages(found.hits)
        course.show(found.hits)
        resolved = state["asked"]
        is_told = course.is_recalled and resolved is not None and (resolved["is_cited"] or bool(resolved["page"]))
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
            blind(course, error)
            yield from model.stream(self.messages(state, course), course.stop)

    def messages(self, state: State, course: Course, *, is_agent: bool = False) -> list[Message]:
        """Build the messages for the model, with room left for its answer, and images where it accepts any."""
        question = question_of(state)
        memories, instructions = self._guidance.of(question, course)
        most = course.model.info.context_tokens if course.model is not None else 0
        room = room_of(self._settings, most)
        self._images.attach(state, course, room)
        return first_messages(
            question,
            course.passages,
            course.said,
            memories,
            room=room - sum(picture.tokens for picture in course.pictures),
            images=[(picture.label, picture.jpeg) for picture in course.pictures],
            instructions=instructions,
            is_agent=is_agent,
        )

    def verify(self, state: State, runtime: Runtime[Course]) -> dict[str, Any]:
        """Find the places that support each sentence; quote the documents where nothing was written."""
        course = runtime.context
        course.tell("checking")
        self._retrieval.ensure(state, course)
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
            images = seen(self._catalog, written.get("images", []))
            epoch = self._catalog.epoch()
            checked = self._verifier.verify(written["text"], course.passages, images=images, epoch=epoch)
            course.lasted("verify", at)
        elif written["is_stopped"]:
            checked = Verified("", (), ())
        else:
            checked, outcome = self._quotes(state, course)
            intent = intent_of(state)
            needs = intent.needs
            checked, outcome = lacking(checked, outcome, intent.lead)
            recalled = self._memories.told(question_of(state), thread_id=course.thread_id)
            told = tuple(memory.text for memory in recalled.memories)
            course.degraded += recalled.degraded
            course.lasted("quotes", at)
        if not written["is_stopped"]:
            checked = with_looks(checked, course.looks, self._catalog, self._catalog.epoch())
        course.lasted("total", course.started)
        answer = Answer(
            question=question_of(state),
            answer=checked.answer,
            found=bool(checked.sources),
            sources=checked.sources,
            degraded=tuple(dict.fromkeys((*course.search.degraded, *course.degraded, *checked.degraded))),
            timings_ms=(*course.search.timings_ms[:-1], *course.timings_ms.items()),
            sentences=checked.sentences,
            model=written["model"] if is_written else "",
            model_place=course.model.info.place if is_written and course.model is not None else "",
            outcome=outcome,
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
        proposals = self._memories.propose(question_of(state)) if may_propose else ()
        return {
            "kept": {
                "cited": cited or kept["cited"],
                "retrieved": retrieved or kept["retrieved"],
                "place": [first["doc_id"], first["page_no"]] if first else kept["place"],
            },
            "memories": list(proposals),
        }

    def _scope(self, state: State, course: Course) -> Scope:
        """Return where the question looks: its filters and lists, and the documents of the conversation."""
        question, kept = state["question"], state.get("kept") or NOTHING_KEPT
        talked_about = tuple(kept["cited"] or kept["retrieved"][:1])
        return Scope(filters_of(question["filters"]), lists_of(question), course.thread_id, talked_about)

    def _quotes(self, state: State, course: Course) -> tuple[Verified, Outcome]:
        found = course.search
        assert found is not None
        resolved = state["asked"]
        assert resolved is not None
        direct = self._direct
        extractive = direct.lenient if course.is_pointed_at else direct.extractive
        besides = course.quoted if resolved["is_contextual"] else ()
        extract: Extract = extractive.extract(search_words_of(state), found, besides)
        course.degraded += extract.degraded
        if not extract.sources:
            return Verified(not_found(found), (), ()), "not found"
        epoch = self._catalog.epoch()
        sources = [replace(source, index_epoch=epoch) for source in extract.sources]
        return quoted(sources, extract.outcome), extract.outcome


def _plain_found(found: SearchResult, recalled: list[str]) -> Found:
    return {
        "nodes": [hit.node_id for hit in found.hits],
        "pages": [hit.page_id for hit in found.hits],
        "recalled": recalled,
    }
