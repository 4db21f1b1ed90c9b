"""Steps of a turn: contextualise, recognise, then reply, summarise, or retrieve, answer and verify; then remember.

Each writes a channel of the state. What a run uses and does not store is in `course`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from langgraph.runtime import Runtime

from docmind.answers import (
    Extract,
    Reply,
    Scope,
    Verified,
    lacking,
    not_found,
    quoted,
    with_looks,
)
from docmind.conversations.course import Course, Means, written_of
from docmind.conversations.pictures import blind, look, seen
from docmind.conversations.prompts import first_messages, room_of, understand
from docmind.conversations.retrieval import Retrieval
from docmind.conversations.state import (
    NOTHING_KEPT,
    Found,
    State,
    intent_of,
    plain_answer,
    plain_intent,
    query_of,
)
from docmind.errors import (
    DamagedError,
    ImagesRefusedError,
    LanguageModelError,
)
from docmind.llm import ChatModel, Message
from docmind.records.answers import Answer, Outcome
from docmind.records.conversations import MemoryList, closest
from docmind.records.search import Degraded, SearchResult


class Steps:
    """The steps over one vault. Thread-safe: the data of a run is in its `Course`."""

    def __init__(self, means: Means) -> None:
        self._means, self.retrieval = means, Retrieval(means)

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
        intent = self._means.direct.recognise(state["question"]["text"], self._scope(state, course))
        changed: dict[str, Any] = {"intent": plain_intent(intent)}
        if intent.is_direct:
            text = " ".join(state["question"]["text"].split())
            changed["asked"] = {"text": text, "is_contextual": False, "page": None, "recall": [], "is_cited": False}
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
        self.retrieval.ensure(state, course)
        found = course.search
        assert found is not None
        course.passages = self.retrieval.passages(found.hits)
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
            blind(course, error)
            yield from model.stream(self.messages(state, course), course.stop)

    def messages(self, state: State, course: Course, *, is_agent: bool = False) -> list[Message]:
        """Build the messages for the model, with room left for its answer, and images where it accepts any."""
        asked = state["question"]["text"]
        try:
            recalled = self._means.recall(asked, course.thread_id)
        except DamagedError as error:
            recalled = MemoryList((), (Degraded("memory", str(error)),))
        course.degraded += recalled.degraded
        memories = [memory.text for memory in recalled.memories]
        most = course.model.info.context_tokens if course.model is not None else 0
        room = room_of(self._means.settings.llm, most)
        look(self._means, state, course, room)
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

    def verify(self, state: State, runtime: Runtime[Course]) -> dict[str, Any]:
        """Find the places that support each sentence; quote the documents where nothing was written."""
        course = runtime.context
        course.tell("checking")
        self.retrieval.ensure(state, course)
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
            images = seen(self._means.catalog, written.get("images", []))
            epoch = self._means.epoch()
            checked = self._means.verifier.verify(written["text"], course.passages, images=images, epoch=epoch)
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
        proposals = self._means.propose(state["question"]["text"]) if may_propose else ()
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
        return Scope(replace(query_of(question), mode=None, web=False), course.thread_id, talked_about)

    def _quotes(self, state: State, course: Course) -> tuple[Verified, Outcome]:
        found = course.search
        assert found is not None
        asked = state["asked"]
        assert asked is not None
        direct = self._means.direct
        extractive = direct.lenient if course.is_pointed_at else direct.extractive
        besides = course.quoted if asked["is_contextual"] else ()
        extract: Extract = extractive.extract(found.query, found, besides)
        course.degraded += extract.degraded
        if not extract.sources:
            return Verified(not_found(found), (), ()), "not found"
        epoch = self._means.epoch()
        sources = [replace(source, index_epoch=epoch) for source in extract.sources]
        return quoted(sources, extract.outcome), extract.outcome


def _plain_found(found: SearchResult, recalled: list[str]) -> Found:
    return {
        "nodes": [hit.node_id for hit in found.hits],
        "pages": [hit.page_id for hit in found.hits],
        "recalled": recalled,
    }
