"""The steps of a turn: contextualise, retrieve, answer, verify, remember. Each leaves a channel of the state."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from langgraph.runtime import Runtime

from docmind.agent.contextualise import understand
from docmind.agent.course import Course, Means
from docmind.agent.extractive import NOT_FOUND, Extract
from docmind.agent.prompts import first_messages
from docmind.agent.state import NOTHING_KEPT, Found, State, Written, filters_of, plain_answer
from docmind.agent.verify import Passage, Verified, quoted
from docmind.catalog import PageRecord
from docmind.checkpoints import refuse
from docmind.conversation import WebResult, closest
from docmind.errors import LanguageModelBrokenError, LanguageModelError, StateRefusedError
from docmind.llm.contract import Message
from docmind.schema import Answer, Degraded, Hit, SearchResult


class Steps:
    """The steps over one vault. Safe from any thread: what a run needs of its own is in its `Course`."""

    def __init__(self, means: Means) -> None:
        self._means = means

    def contextualise(self, state: State, runtime: Runtime[Course]) -> dict[str, Any]:
        """What the question means after what was said, and what it may fall back on."""
        course = runtime.context
        course.tell("reading the question")
        understood = understand(state["question"]["text"], [asked for asked, _ in course.said])
        kept = state.get("kept") or NOTHING_KEPT
        page = None
        if understood.page_step is not None and kept["place"]:
            doc_id, page_no = kept["place"]
            page = [doc_id, page_no + understood.page_step]
        recall = (kept["cited"] or kept["retrieved"]) if understood.is_contextual else []
        return {
            "asked": {
                "text": understood.text,
                "is_contextual": understood.is_contextual,
                "page": page,
                "recall": list(recall),
                "is_cited": bool(kept["cited"]),
            }
        }

    def retrieve(self, state: State, runtime: Runtime[Course]) -> dict[str, Any]:
        """Hits for the question; where a contextual one finds nothing, within the documents of the latest answer."""
        course = runtime.context
        course.tell("searching")
        self._searched(state, course)
        found = course.search
        assert found is not None
        course.passages = self._passages(found.hits)
        recalled = sorted({hit.doc_id for hit in found.hits}) if course.is_recalled else []
        return {"found": _plain_found(found, recalled)}

    def answer(self, state: State, runtime: Runtime[Course]) -> dict[str, Any]:
        """The model's text as it comes; nothing where there is no model, or where it fails before it says anything."""
        course = runtime.context
        model = course.model
        if model is None or course.stop():
            return {"written": written_of("", "", is_stopped=course.stop())}
        course.tell("writing", anew=True)
        at = time.perf_counter()
        pieces: list[str] = []
        failure: list[str] = []
        try:
            for piece in model.stream(self.messages(state, course), course.stop):
                if not pieces:
                    course.lasted("first token", at)
                pieces.append(piece)
                course.tell("writing", piece)
        except LanguageModelError as error:
            failure = [str(error), error.hint]
        course.lasted("write", at)
        text, name = "".join(pieces), model.info.name
        return {"written": written_of(text, name, is_stopped=course.stop(), failure=failure, web=course.web)}

    def messages(self, state: State, course: Course, *, is_agent: bool = False) -> list[Message]:
        """What the model is asked, with room left for its answer."""
        asked = state["question"]["text"]
        recalled = self._means.recall(asked, course.thread_id)
        course.degraded += recalled.degraded
        memories = [memory.text for memory in recalled.memories]
        llm = self._means.settings.llm
        room = llm.context_tokens - llm.max_tokens - 64
        return first_messages(asked, course.passages, course.said, memories, room=room, is_agent=is_agent)

    def verify(self, state: State, runtime: Runtime[Course]) -> dict[str, Any]:
        """Each sentence with the places that support it; quotes where nothing was written."""
        course = runtime.context
        course.tell("checking")
        self._searched(state, course)
        written = state["written"]
        assert written is not None
        assert course.search is not None
        if written["failure"]:
            course.degraded.append(Degraded("language model", written["failure"][0]))
        at = time.perf_counter()
        is_written = bool(written["text"].strip()) and not written["failure"]
        if is_written:
            checked = self._means.verifier.verify(written["text"], course.passages, epoch=self._means.epoch())
            course.lasted("verify", at)
        elif written["is_stopped"]:
            checked = Verified("", (), ())
        else:
            checked = self._quotes(state, course)
            course.lasted("quotes", at)
        course.lasted("total", course.started)
        answer = Answer(
            question=state["question"]["text"],
            answer=checked.answer,
            found=bool(checked.sources),
            sources=checked.sources,
            degraded=(*course.search.degraded, *course.degraded, *checked.degraded),
            timings_ms=(*course.search.timings_ms[:-1], *course.timings_ms.items()),
            sentences=checked.sentences,
            model=written["model"] if is_written else "",
        )
        return {
            "answer": plain_answer(answer, () if answer.found else closest(course.search.hits)),
            "written": {**written, "text": ""},  # it is in the answer
        }

    def remember(self, state: State, runtime: Runtime[Course]) -> dict[str, Any]:
        """What the next turn may lean on, and what the user may want to be remembered."""
        course = runtime.context
        course.tell("remembering")
        answer, found = state["answer"], state["found"]
        assert answer is not None
        assert found is not None
        kept = state.get("kept") or NOTHING_KEPT
        cited = list(dict.fromkeys(source["doc_id"] for source in answer["sources"]))
        retrieved = list(dict.fromkeys(page.split("::page::")[0] for page in found["pages"]))
        first = answer["sources"][0] if answer["sources"] else None
        proposals = self._means.propose(state["question"]["text"]) if course.thread_id else ()
        return {
            "kept": {
                "cited": cited or kept["cited"],
                "retrieved": retrieved or kept["retrieved"],
                "place": [first["doc_id"], first["page_no"]] if first else kept["place"],
            },
            "memories": list(proposals),
        }

    def widen(self, course: Course, hits: Sequence[Hit]) -> list[Passage]:
        """Further passages for the answer, found by a tool; those of pages that are there already are left out."""
        known = {passage.hit.node_id for passage in course.passages}
        more = [passage for passage in self._passages(hits) if passage.hit.node_id not in known]
        course.passages += more
        return more

    def page_hit(self, doc_id: str, page_no: int) -> Hit | None:
        """A whole page as a hit; None where there is none."""
        page = self._means.catalog.pages([(doc_id, page_no)]).get((doc_id, page_no))
        named = self._means.catalog.name_and_title(doc_id)
        return _whole(page, named[0]) if page is not None and named is not None else None

    def _searched(self, state: State, course: Course) -> None:
        """`course.search`, unless it is there already: a run that is taken up again has none."""
        if course.search is not None:
            return
        question, asked = state["question"], state["asked"]
        assert asked is not None
        if asked["page"]:
            hit = self.page_hit(*asked["page"])
            if hit is not None:
                course.search = SearchResult(asked["text"], (hit,), timings_ms=(("total", 0.0),))
                course.is_recalled = True
                return
        filters = filters_of(question["filters"])
        found = self._means.search(asked["text"], k=question["k"], filters=filters)
        recall = [doc for doc in asked["recall"] if not filters.doc_ids or doc in filters.doc_ids]
        if recall and not self._means.extractive.extract(asked["text"], found).sources:
            again = self._means.search(asked["text"], k=question["k"], filters=replace(filters, doc_ids=tuple(recall)))
            if again.hits:
                found, course.is_recalled = again, True
        course.search = found

    def _quotes(self, state: State, course: Course) -> Verified:
        found = course.search
        assert found is not None
        asked = state["asked"]
        assert asked is not None
        is_pointed_at = course.is_recalled and (asked["is_cited"] or bool(asked["page"]))
        extractive = self._means.lenient if is_pointed_at else self._means.extractive
        besides = course.quoted if asked["is_contextual"] else ()
        extract: Extract = extractive.extract(found.query, found, besides)
        if not extract.sources:
            return Verified(NOT_FOUND, (), ())
        epoch = self._means.epoch()
        return quoted([replace(source, index_epoch=epoch) for source in extract.sources])

    def _passages(self, hits: Sequence[Hit]) -> list[Passage]:
        pages = self._means.catalog.pages((hit.doc_id, hit.page_no) for hit in hits)
        passages = []
        for hit in hits:
            page = pages.get((hit.doc_id, hit.page_no))
            if page is not None:  # else deleted since the search
                start = max(0, page.text.find(hit.text))
                passages.append(Passage(hit, page, start, min(len(page.text), start + len(hit.text))))
        return passages


def _plain_found(found: SearchResult, recalled: list[str]) -> Found:
    return {
        "nodes": [hit.node_id for hit in found.hits],
        "pages": [hit.page_id for hit in found.hits],
        "recalled": recalled,
    }


def written_of(
    text: str, model: str, *, is_stopped: bool, failure: Sequence[str] = (), web: Sequence[WebResult] = ()
) -> Written:
    """What a model wrote; a failure where its text is none that a conversation can keep."""
    try:
        refuse(text, "answer")
    except StateRefusedError:
        failure, text = ("The language model wrote what is no text.", LanguageModelBrokenError.hint), ""
    return {
        "text": text,
        "model": model,
        "is_stopped": is_stopped,
        "failure": list(failure),
        "web": [asdict(result) for result in web],
    }


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
