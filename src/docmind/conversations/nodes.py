"""Steps of a turn: contextualise, recognise, then reply, or retrieve and quote; then remember.

Where a language model is there, it answers beside these quotes: answer (or agent, or summarise), then verify. Each step
writes a channel of the state. What a run uses and does not store is in `context`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from langgraph.runtime import Runtime

from docmind.answers import Extract, Intent, Verified, Verifier, not_found, with_looks
from docmind.config import LLMSettings
from docmind.conversations.direct import DirectAnswers, Reply, Scope, is_told, lacking, told_alone
from docmind.conversations.following import completed, has_topic, may_go_on, meets, page_step, points_back
from docmind.conversations.guidance import Guidance
from docmind.conversations.pictures import PageImages, blind, seen
from docmind.conversations.prompts import first_messages, room_of
from docmind.conversations.retrieval import Retrieval
from docmind.conversations.run_context import RunContext, written_of
from docmind.conversations.state import (
    NO_DOCUMENTS,
    Found,
    State,
    intent_of,
    plain_answer,
    plain_intent,
    query_of,
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
from docmind.wording import N_, _

UNFINISHED = N_("it has not finished its answer.")
"""Why a language model is missing while it writes, or where the end of the process cut it off."""

_WRITTEN: tuple[Outcome, ...] = ("answer", "maybe", "not found", "summary")


def awaits_model(answer: Answer, context: RunContext) -> bool:
    """Return whether a language model is to write beside this answer: neither rows of tables nor facts answer."""
    if context.model is None or answer.computed is not None:
        return False
    is_partly_told = answer.outcome == "told" and not is_told(answer.question, answer.told)
    return answer.outcome in _WRITTEN or is_partly_told


class Steps:
    """The steps over one vault. Thread-safe: the data of a run is in its `RunContext`."""

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

    def contextualise(self, state: State, runtime: Runtime[RunContext]) -> dict[str, Any]:
        """Resolve the question in its conversation, and choose the documents it may fall back on."""
        context = runtime.context
        context.report("reading the question")
        asked = " ".join(question_of(state).split())
        kept = state.get("kept") or NO_DOCUMENTS
        goes_on = bool(context.topics) and points_back(asked)
        step, page = page_step(asked) if goes_on else None, None
        if step is not None and kept["place"]:
            doc_id, page_no = kept["place"]
            page = [doc_id, page_no + step]
        whole = "" if page else self._completed(asked, state, context)
        goes_on = goes_on or bool(whole)
        # A completed question says by itself which documents it is about.
        recall = (kept["cited"] or kept["retrieved"]) if goes_on and not whole else []
        return {
            "asked": {
                "text": self._memories.expand(whole or asked, thread_id=context.thread_id),
                "is_contextual": goes_on,
                "page": page,
                "recall": list(recall),
                "is_cited": bool(kept["cited"]),
                "has_topic": bool(whole) or has_topic(asked),
                "completed": whole,
            }
        }

    def _completed(self, asked: str, state: State, context: RunContext) -> str:
        """Return a question with the words of the one before, where it answers better so; else an empty text.

        It does where a query over tables answers it so, or where its first quote is surer so. A question that refers to
        nothing is also left as it is where the quote has fewer of its own words so.
        """
        if not context.topics or context.stop() or not may_go_on(asked):
            return ""
        whole = completed(asked, context.topics[-1], self._direct.alike)
        scope = self._scope(state, context, asked)
        intent = self._direct.recognise(asked, scope)
        if whole == asked or self._direct.is_sure(intent, scope):
            return ""
        if self._table_of(whole, self._scope(state, context, whole), context) is not None:
            return whole
        if intent.is_direct:
            return ""
        texts = (self._memories.expand(text, thread_id=context.thread_id) for text in (asked, whole))
        alone, joined = (self._retrieval.extract(text, state["question"], context) for text in texts)
        if not joined.sources or joined.confidence <= alone.confidence:
            return ""
        first, other = (one.sources[0].quote if one.sources else "" for one in (alone, joined))
        return whole if points_back(asked) or meets(asked, other) >= meets(asked, first) else ""

    def _table_of(self, whole: str, scope: Scope, context: RunContext) -> Intent | None:
        """Return what a completed question asks of tables, where they answered the question before."""
        intent = self._direct.recognise(whole, scope)
        goes_on = intent.kind == "table" and self._direct.recognise(context.topics[-1], scope).kind == "table"
        return intent if goes_on else None

    def recognise(self, state: State, runtime: Runtime[RunContext]) -> dict[str, Any]:
        """Recognise what the question asks for; only what tables answer needs words of the question before."""
        context = runtime.context
        resolved, scope = state["asked"], self._scope(state, context, search_words_of(state))
        whole = resolved.get("completed", "") if resolved is not None else ""
        of_table = self._table_of(whole, scope, context) if whole else None
        intent = of_table or self._direct.recognise(question_of(state), scope)
        changed: dict[str, Any] = {"intent": plain_intent(intent)}
        if intent.is_direct:
            search_words = whole or " ".join(question_of(state).split())
            changed["asked"] = {
                "text": search_words,
                "is_contextual": bool(whole),
                "page": None,
                "recall": [],
                "is_cited": False,
                "completed": whole,
            }
        return changed

    def way(self, state: State) -> Literal["reply", "retrieve"]:
        """Return the step that follows what was recognised."""
        return "reply" if intent_of(state).is_direct else "retrieve"

    def reply(self, state: State, runtime: Runtime[RunContext]) -> dict[str, Any]:
        """Answer what needs no search, unless the user stopped it."""
        context = runtime.context
        context.report("searching")
        is_stopped = context.stop()
        reply = Reply(Verified("", (), ()), "not found")
        if not is_stopped:
            reply = self._direct.reply(intent_of(state), self._scope(state, context, search_words_of(state)))
        context.lasted("total", context.started)
        answer = reply.answer(question_of(state), context.timings_ms["total"], tuple(context.degraded))
        answer = _marked_unfinished(answer, context)
        return {
            "found": {"nodes": [], "pages": [], "recalled": []},
            "written": {**written_of("", "", context), "is_stopped": is_stopped},
            "answer": plain_answer(answer),
        }

    def retrieve(self, state: State, runtime: Runtime[RunContext]) -> dict[str, Any]:
        """Retrieve hits for the question.

        A contextual question prefers the documents of the latest answer; one without any hits falls back on them.
        """
        context = runtime.context
        context.report("searching")
        self._retrieval.ensure(state, context)
        found = context.search
        assert found is not None
        context.passages = self._retrieval.passages(found.hits)
        context.show(found.hits)
        resolved = state["asked"]
        is_told = context.is_recalled and resolved is not None and (resolved["is_cited"] or bool(resolved["page"]))
        recalled = sorted({hit.doc_id for hit in found.hits}) if is_told else []
        return {"found": _plain_found(found, recalled)}

    def quote(self, state: State, runtime: Runtime[RunContext]) -> dict[str, Any]:
        """Quote the documents; an answer that a language model is to complete says so."""
        context = runtime.context
        self._retrieval.ensure(state, context)
        assert context.search is not None
        at = time.perf_counter()
        is_stopped = context.model is None and context.stop()
        if context.model is None and state["question"]["mode"] == "agent":
            context.degraded.append(Degraded("agent mode", _("there is no language model")))
        answer = Answer(question_of(state), "", False) if is_stopped else self._quoted(state, context)
        context.lasted("quotes", at)
        context.lasted("total", context.started)
        answer = replace(
            answer,
            degraded=tuple(dict.fromkeys((*context.search.degraded, *context.degraded, *answer.degraded))),
            timings_ms=(*context.search.timings_ms[:-1], *context.timings_ms.items()),
        )
        is_missing = not answer.found and answer.is_searched
        answer = _marked_unfinished(answer, context)
        return {
            "answer": plain_answer(answer, closest(context.search.hits) if is_missing else ()),
            "written": {**written_of("", "", context), "is_stopped": is_stopped},
        }

    def _quoted(self, state: State, context: RunContext) -> Answer:
        """Return the quotes, or the remembered facts where these alone answer; what is missing is that of this step."""
        question, intent = question_of(state), intent_of(state)
        checked, outcome = self._quotes(state, context)
        recalled = self._memories.facts_about(question, thread_id=context.thread_id)
        facts = tuple(memory.text for memory in recalled.memories)
        if told_alone(question, facts, outcome):
            return replace(Reply.of_facts(facts).answer(question, 0.0), degraded=recalled.degraded)
        needs = intent.needs if context.model is None else ""
        lead = intent.lead if needs else intent.lead.removeprefix(intent.needs).strip()
        checked, outcome = lacking(checked, outcome, lead)
        checked = with_looks(checked, context.looks, self._catalog, self._catalog.epoch())
        return Answer(
            question=question,
            answer=checked.answer,
            found=bool(checked.sources),
            sources=checked.sources,
            degraded=(*recalled.degraded, *checked.degraded),
            sentences=checked.sentences,
            outcome=outcome,
            told=facts,
            needs=needs,
        )

    def writer(self, state: State) -> Literal["answer", "agent", "summarise"]:
        """Return the step in which a language model writes."""
        if intent_of(state).kind == "summary":
            return "summarise"
        return "agent" if state["question"]["mode"] == "agent" else "answer"

    def answer(self, state: State, runtime: Runtime[RunContext]) -> dict[str, Any]:
        """Stream the model's text; where it is stopped or fails at once, the text is empty."""
        context = runtime.context
        model = context.model
        if model is None or context.stop():
            return {"written": written_of("", "", context)}
        context.report("writing", restart=True)
        at = time.perf_counter()
        pieces: list[str] = []
        failure: list[str] = []
        try:
            for piece in self._pieces(model, state, context):
                if not pieces:
                    context.lasted("first token", at)
                pieces.append(piece)
                context.report("writing", piece)
        except LanguageModelError as error:
            failure = [str(error), error.hint]
        context.lasted("write", at)
        text, name = "".join(pieces), model.info.name
        return {"written": written_of(text, name, context, failure)}

    def _pieces(self, model: ChatModel, state: State, context: RunContext) -> Iterator[str]:
        """Yield the pieces of the answer; a model that refuses page images is asked again without them."""
        try:
            yield from model.stream(self.messages(state, context), context.stop)
        except ImagesRefusedError as error:
            blind(context, error)
            yield from model.stream(self.messages(state, context), context.stop)

    def messages(self, state: State, context: RunContext, *, is_agent: bool = False) -> list[Message]:
        """Build the messages for the model, with room left for its answer, and images where it accepts any."""
        question = question_of(state)
        memories, instructions = self._guidance.of(question, context)
        most = context.model.info.context_tokens if context.model is not None else 0
        room = room_of(self._settings, most)
        self._images.attach(state, context, room)
        return first_messages(
            question,
            context.passages,
            context.earlier_turns,
            memories,
            room=room - sum(picture.tokens for picture in context.pictures),
            images=[(picture.label, picture.jpeg) for picture in context.pictures],
            instructions=instructions,
            is_agent=is_agent,
        )

    def verify(self, state: State, runtime: Runtime[RunContext]) -> dict[str, Any]:
        """Find the places that support each sentence that the model wrote; there is no answer where it wrote none."""
        context = runtime.context
        written = state["written"]
        assert written is not None
        if written["failure"] or not written["text"].strip():
            return {"answer": None, "written": {**written, "text": ""}}
        context.report("checking")
        self._retrieval.ensure(state, context)
        assert context.search is not None
        at = time.perf_counter()
        images, epoch = seen(self._catalog, written.get("images", [])), self._catalog.epoch()
        checked = self._verifier.verify(
            written["text"], context.passages, question=question_of(state), images=images, epoch=epoch
        )
        context.lasted("verify", at)
        checked = with_looks(checked, context.looks, self._catalog, epoch)
        context.timings_ms.pop("total", None)
        context.lasted("total", context.started)
        answer = Answer(
            question=question_of(state),
            answer=checked.answer,
            found=bool(checked.sources),
            sources=checked.sources,
            degraded=tuple(dict.fromkeys((*context.search.degraded, *context.degraded, *checked.degraded))),
            timings_ms=(*context.search.timings_ms[:-1], *context.timings_ms.items()),
            sentences=checked.sentences,
            model=written["model"],
            model_place=context.model.info.place if context.model is not None else "",
        )
        return {"answer": plain_answer(answer), "written": {**written, "text": "", "leads": checked.leads}}

    def remember(self, state: State, runtime: Runtime[RunContext]) -> dict[str, Any]:
        """Store what the next turn may refer to, and propose what the user may want remembered."""
        context = runtime.context
        context.report("remembering")
        answer, found = state["answer"], state["found"]
        assert answer is not None
        assert found is not None
        kept = state.get("kept") or NO_DOCUMENTS
        cited = list(dict.fromkeys(source["doc_id"] for source in answer["sources"]))
        retrieved = list(dict.fromkeys(page.split("::page::")[0] for page in found["pages"]))
        first = answer["sources"][0] if answer["sources"] else None
        may_propose = context.thread_id is not None and not intent_of(state).is_direct
        proposals = self._memories.propose(question_of(state)) if may_propose else ()
        return {
            "kept": {
                "cited": cited or kept["cited"],
                "retrieved": retrieved or kept["retrieved"],
                "place": [first["doc_id"], first["page_no"]] if first else kept["place"],
            },
            "memories": list(proposals),
        }

    def _scope(self, state: State, context: RunContext, search_words: str) -> Scope:
        """Return where the question looks: its filters and lists, and the documents of the conversation."""
        question, kept = state["question"], state.get("kept") or NO_DOCUMENTS
        talked_about = tuple(kept["cited"] or kept["retrieved"][:1])
        query = replace(query_of(question), mode=None, web=False)
        return Scope(query, context.thread_id, talked_about, search_words, context.shared)

    def _quotes(self, state: State, context: RunContext) -> tuple[Verified, Outcome]:
        found = context.search
        assert found is not None
        resolved = state["asked"]
        assert resolved is not None
        direct = self._direct
        extractive = direct.lenient if context.is_pointed_at else direct.extractive
        led = context.led if resolved["is_contextual"] and not resolved.get("completed") else ()
        query = query_of(state["question"])
        extract: Extract = extractive.extract(
            search_words_of(state), found, led, query.filters, newest_first=query.newest_first
        )
        context.degraded += extract.degraded
        if not extract.sources:
            return Verified(not_found(found), (), ()), "not found"
        extract = extract.as_of(self._catalog.epoch())
        return extract.quoted(), extract.outcome


def _marked_unfinished(answer: Answer, context: RunContext) -> Answer:
    if not awaits_model(answer, context):
        return answer
    return replace(answer, degraded=(*answer.degraded, Degraded("language model", _(UNFINISHED))))


def _plain_found(found: SearchResult, recalled: list[str]) -> Found:
    return {
        "nodes": [hit.node_id for hit in found.hits],
        "pages": [hit.page_id for hit in found.hits],
        "recalled": recalled,
    }
