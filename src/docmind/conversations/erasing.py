"""Erasing what conversations hold of a document: its quotes, the sentences that cite it, and its name in answers.

Every stored state is read and written with LangGraph's serializer, on all branches, and so is every pending write. A
turn stays with its question, its other sources and the sentences that cite those; a source of the document keeps its
number and its page number, and is marked as erased. What the user wrote (questions, memories) is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from docmind.conversations.checkpoints import Checkpoints
from docmind.conversations.runs import Runs
from docmind.records.answers import ERASED_TEXT, Outcome

_LEAST = 12  # characters of a quote that is looked for in other texts; a shorter one stands there by chance
_MARKERS = re.compile(r"\[\d+\]")
_LISTS: tuple[Outcome, ...] = ("documents", "summary", "list")


@dataclass(slots=True)
class _Erasing:
    """One pass over the channels of a state. `texts` are what is replaced wherever it stands in an answer."""

    doc_id: str
    texts: Sequence[str]
    erased: int = 0
    """Quotes, sentences and other texts that were replaced or removed."""

    def channels(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the channels without what they hold of the document."""
        made = dict(values)
        answer, written = made.get("answer"), made.get("written")
        before = self.erased
        if isinstance(answer, dict):
            made["answer"] = self._both(answer)
        if isinstance(written, dict):
            made["written"] = self._written(written, made.get("answer"), values.get("found"), self.erased > before)
        return made

    def _written(self, written: dict[str, Any], answer: Any, found: Any, is_erased: bool) -> dict[str, Any]:
        """Return what a model wrote: the answer as it is now, where anything was erased from it."""
        text = written.get("text", "")
        if is_erased and isinstance(answer, dict):
            text = answer["answer"] if text else text
        elif answer is None and text and isinstance(found, dict) and self._is_found(found):
            text = ERASED_TEXT  # stopped before it was checked against the pages
            self.erased += text != written["text"]
        images = [place for place in written.get("images", ()) if place[0] != self.doc_id]
        made = {**written, "text": self._replaced(text)}
        return {**made, "images": images} if "images" in written else made

    def _is_found(self, found: dict[str, Any]) -> bool:
        return any(str(page).startswith(f"{self.doc_id}::") for page in found.get("pages", ()))

    def _both(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the answer, and the other one beside it: what a model wrote may come from what the quotes cite."""
        other = answer.get("other")
        if not other:
            return self._answer(answer, may_rest=False)
        may_rest = any(source["doc_id"] == self.doc_id for one in (answer, other) for source in one["sources"])
        return {**self._answer(answer, may_rest=may_rest), "other": self._answer(other, may_rest=may_rest)}

    def _answer(self, answer: dict[str, Any], *, may_rest: bool) -> dict[str, Any]:
        sources, cited = [], set()
        for source in answer["sources"]:
            if source["doc_id"] == self.doc_id:
                cited.add(source["n"])
                self.erased += bool(source["quote"])
                source = _erased_source(source)
            sources.append(source)
        computed = answer.get("computed")
        is_computed = computed is not None and self.doc_id in computed["doc_ids"]
        if is_computed:  # the result rests on all of its rows, also on those that are not sources
            cited |= {source["n"] for source in sources}
        nearest = [hit for hit in answer.get("nearest", ()) if hit["doc_id"] != self.doc_id]
        self.erased += len(answer.get("nearest", ())) - len(nearest)
        text, sentences = self._sentences(answer, cited, may_rest=may_rest or bool(cited))
        degraded = [
            {name: self._replaced(value) if isinstance(value, str) else value for name, value in part.items()}
            for part in answer["degraded"]
        ]
        changed = {"answer": text, "sources": sources, "sentences": sentences, "degraded": degraded}
        if "nearest" in answer:
            changed["nearest"] = nearest
        kept = {**answer, **changed}
        listing = answer.get("listing")
        if listing is not None and any(one["doc_id"] == self.doc_id for one in listing["documents"]):
            del kept["listing"]  # it names the document, and its words may be the document's
            self.erased += 1
        elif listing is not None:  # it may say that the document was not read
            kept["listing"] = {**listing, "unread": [self._replaced(reason) for reason in listing["unread"]]}
        if is_computed:
            del kept["computed"]  # its rows are the document's text, and its query names values of it
            self.erased += 1
        return kept

    def _sentences(
        self, answer: dict[str, Any], cited: set[int], *, may_rest: bool
    ) -> tuple[str, list[dict[str, Any]]]:
        """Return the answer's text and its sentences, with those of the document replaced and all spans moved."""
        text: str = answer["answer"]
        if not answer["sentences"]:
            return (self._gap(text, bool(cited) and answer["found"]), [])
        is_written = bool(answer["model"])
        parts: list[str] = []
        sentences: list[dict[str, Any]] = []
        at = length = 0
        for before, sentence in zip(self._over_quotes(answer, cited), answer["sentences"], strict=True):
            gap, end = self._gap(before, False), sentence["end"]
            said = text[sentence["start"] : sentence["end"]]
            rests_on_it = bool(cited & set(sentence["sources"]))
            # Whatever a model wrote beside a citation of the document, without a source, may come from it too.
            may_rest_on_it = may_rest and is_written and not sentence["sources"] and sentence["is_claim"]
            if said != ERASED_TEXT and (rests_on_it or may_rest_on_it or any(one in said for one in self.texts)):
                said = ERASED_TEXT
                self.erased += 1
                sentence = {**sentence, "supported": False, "is_claim": False}
            start = length + len(gap)
            sentences.append({**sentence, "start": start, "end": start + len(said)})
            parts += [gap, said]
            at, length = end, start + len(said)
        parts.append(self._gap(text[at:], False))
        return "".join(parts), sentences

    def _over_quotes(self, answer: dict[str, Any], cited: set[int]) -> list[str]:
        """Return the texts before the sentences of an answer, without the words that are over a quote of the document.

        These are its label, before the quote, and paragraphs over several quotes: a heading in a summary, or a change
        in the words of both versions. The numbers of sources stay.
        """
        text, sentences = answer["answer"], answer["sentences"]
        ends = [0, *(sentence["end"] for sentence in sentences)]
        gaps = [text[end : sentence["start"]] for end, sentence in zip(ends, sentences, strict=False)]
        if answer["model"] or answer.get("outcome") not in _LISTS:
            return gaps
        is_below = False
        for number in range(len(gaps) - 1, -1, -1):
            is_quote = bool(cited & set(sentences[number]["sources"]))
            is_below = is_below or is_quote
            *paragraphs, label = gaps[number].split("\n\n")
            is_headed = any(map(_words_in, paragraphs))
            paragraphs = [self._unworded(one) if is_below else one for one in paragraphs]
            gaps[number] = "\n\n".join([*paragraphs, self._unworded(label) if is_quote else label])
            is_below = is_below and not is_headed
        return gaps

    def _unworded(self, part: str) -> str:
        if _words_in(part) in ("", ERASED_TEXT):
            return part
        self.erased += 1
        return ERASED_TEXT + (": " if part.endswith(": ") else "")

    def _gap(self, text: str, is_all_of_it: bool) -> str:
        """Return text outside of sentences; where it is all of the document, only the numbers of its sources stay."""
        if is_all_of_it and text != ERASED_TEXT and not text.startswith(ERASED_TEXT + " ["):
            self.erased += 1
            return " ".join([ERASED_TEXT, *_MARKERS.findall(text)])
        return self._replaced(text)

    def _replaced(self, text: str) -> str:
        for one in self.texts:
            if one in text:
                text = text.replace(one, ERASED_TEXT)
                self.erased += 1
        return text


def _words_in(gap: str) -> str:
    return _MARKERS.sub("", gap).strip(" \n:")


def _erased_source(source: dict[str, Any]) -> dict[str, Any]:
    nothing = {"document": "", "quote": "", "boxes": [], "image_artifact_id": "", "image_artifact_suffix": ""}
    return {**source, **nothing, "gone": "erased"}


class Erasing:
    """The quotes of one document in all conversations. Every call reads each stored state once."""

    def __init__(self, *, checkpoints: Checkpoints, runs: Runs) -> None:
        """Set up; `runs` has the locks of conversations, which are held so that no turn is written meanwhile."""
        self._checkpoints, self._runs = checkpoints, runs

    def erase(self, doc_id: str, traces: Sequence[str]) -> int:
        """Erase what conversations hold of a document; return how many quotes and sentences. Idempotent.

        `traces` are texts that stand in no other document. Each state is one transaction. Raises `DiskFullError`.
        """
        texts = self._texts(doc_id, traces)
        erased = 0
        for thread_id in self._checkpoints.threads():
            with self._runs.alone(thread_id):
                erased += self._erase_in(thread_id, doc_id, texts)
        return erased

    def left(self, doc_id: str, traces: Sequence[str]) -> int:
        """Return how many quotes, sentences and texts of a document conversations still hold.

        A damaged state that cannot be decoded and names the document counts as one.
        """
        texts = self._texts(doc_id, traces)
        left = 0
        for thread_id in self._checkpoints.threads():
            for _, values in self._states(thread_id, doc_id, texts):
                if values is None:
                    left += 1
                    continue
                erasing = _Erasing(doc_id, texts)
                erasing.channels(values)
                left += erasing.erased
        return left

    def _texts(self, doc_id: str, traces: Sequence[str]) -> list[str]:
        """Return the traces, and every quote of the document that conversations have, the longest first."""
        quotes = {
            source["quote"]
            for thread_id in self._checkpoints.threads()
            for _, values in self._states(thread_id, doc_id, ())
            if values is not None and isinstance(values.get("answer"), dict)
            for answer in (values["answer"], values["answer"].get("other") or {"sources": ()})
            for source in answer["sources"]
            if source["doc_id"] == doc_id and len(source["quote"]) >= _LEAST
        }
        return sorted({*quotes, *traces}, key=len, reverse=True)

    def _erase_in(self, thread_id: str, doc_id: str, texts: Sequence[str]) -> int:
        erased = 0
        for place, values in list(self._states(thread_id, doc_id, texts)):
            if values is None:  # damaged: it is shown to nobody, and `left` counts it
                continue
            erasing = _Erasing(doc_id, texts)
            channels = erasing.channels(values)
            if erasing.erased:
                self._checkpoints.rewrite(place, channels)
                erased += erasing.erased
        return erased

    def _states(self, thread_id: str, doc_id: str, texts: Sequence[str]) -> Iterator[tuple[Any, dict[str, Any] | None]]:
        """Yield the place and the channels of the states and writes that name the document or hold one of the texts."""
        wanted = [one.encode() for one in (doc_id, *texts)]
        yield from self._checkpoints.channels(thread_id, lambda data: any(one in data for one in wanted))
