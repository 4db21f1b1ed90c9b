"""What pages say to the sentences of a text that the user wrote: support, now or before, contradiction, or nothing."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from docmind.answers.align import Claim, Leaf, Span
from docmind.answers.draft_faults import FORM, counts_otherwise, names_apart, said_of_another
from docmind.answers.sentences import is_row, shorten
from docmind.answers.support import Evidence, Fault, edits_of, is_certain, likelihood_of
from docmind.answers.verify import Passage, clean, denies, pages_of, pieces
from docmind.answers.versions import most_alike
from docmind.embedding import TextEmbedder, name_of
from docmind.records.drafts import Verdict
from docmind.records.search import Degraded

_KEPT = 96  # pages prepared for comparison; neighbouring sentences share most of theirs
_TITLE = 10  # words of a line that may be a heading without a mark
_FEW = 3  # words of a line that is one whatever its capitals
_NUMBERED = 0.9  # what a number in its place adds to the weight of a span, up to two of them
_SAME = 0.8  # cosine from which a sentence of a page states the same in other words
_SAME_NUMBER = 0.7  # the same where a number of two digits or more stands in its place
_ALIKE = 0.7  # cosine from which several sentences of a page together support one of a draft
_LABEL = 2  # words of a row's label that name it
_LONGEST = 2_000  # characters of a row of a table or a block of code, as of a cell of a document; the rest is apart
_TELLING = re.compile(r"\d\D?\d")  # a number of two digits or more; "five" stands on many pages
_ENDS = re.compile(r"[.!?…:;,][\s\"'”’»)\]*_]*$")
_LEADS = re.compile(r"[\s>*+•·▪●‣-]")


@dataclass(frozen=True, slots=True)
class DraftSentence:
    """A sentence of a draft, and its place. `is_title` marks a short line that may be a heading without a mark."""

    text: str
    start: int
    end: int
    is_claim: bool
    is_title: bool = False


Place = tuple[Passage, tuple[int, int]]
"""A passage, which has a page, and a span of the text of that page."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What pages say to a sentence, and where."""

    verdict: Verdict
    places: tuple[Place, ...] = ()
    degraded: tuple[Degraded, ...] = ()

    @property
    def doc_ids(self) -> set[str]:
        """The documents of its places."""
        return {passage.hit.doc_id for passage, _span in self.places}


NO_CLAIM = Finding("no claim")
"""What is told of a sentence that states nothing."""


def sentences_of(draft: str) -> tuple[str, list[DraftSentence]]:
    """Return a clean draft (plain or Markdown), and its sentences, rows of tables and blocks of code in their order.

    Marks such as `[1]` and a closing list of sources are left out. Headings, questions and greetings are no claims;
    what a text denies is one. Rows and code above 2,000 characters are cut into parts, as long sentences are, so that
    all of them is compared.
    """
    text = clean(draft)
    found: list[DraftSentence] = []
    for piece in pieces(text):
        for start, end in shorten(text, piece.start, piece.end, _LONGEST):
            said = text[start:end] if piece.kind == "code" else " ".join(text[start:end].split())
            is_denial = piece.kind == "prose" and not said.endswith("?") and denies(said)
            is_title = piece.kind == "prose" and _is_title(text, start, end)
            is_claim = (piece.is_claim and any(map(str.isalnum, said))) or is_denial
            found.append(DraftSentence(said, start, end, is_claim, is_title))
    return text, found


def _is_title(text: str, start: int, end: int) -> bool:
    """Return whether a sentence is a line of its own, with text below, that looks like a heading."""
    line = text.rfind("\n", 0, start) + 1
    after = text[end:].lstrip(" \t")
    said = text[start:end]
    words = said.split()
    if line != start or _LEADS.match(said) or not after.startswith("\n") or not after.strip():
        return False
    if len(words) > _TITLE or _ENDS.search(said) or any(char.isdigit() for char in said):
        return False
    return len(words) <= _FEW or all(word[:1].isupper() for word in words if len(word) > 3)


class DraftVerifier:
    """The check of single sentences against pages. Used by one thread; pages stay for the next ones."""

    def __init__(self, embedder: TextEmbedder) -> None:
        self._embedder = embedder
        self._leaves: OrderedDict[str, Leaf] = OrderedDict()

    def find(self, sentence: DraftSentence, passages: Sequence[Passage]) -> Finding:
        """Return what the whole pages of `passages` say to a sentence."""
        groups = pages_of(passages)
        leaves = [self._leaf(group) for group in groups]
        evidence = _DraftEvidence(self._embedder, leaves)
        (judged,) = evidence.judge([sentence.text])
        spans = judged.spans or ([judged.against] if judged.against is not None else [])
        places = tuple((groups[leaves.index(span.leaf)][0], span.bounds) for span in spans)
        verdict: Verdict = "supported" if judged.spans else "contradicted" if spans else "not found"
        if verdict == "not found" and sentence.is_title:
            verdict = "no claim"
        return Finding(verdict, places, evidence.degraded)

    def find_newest(
        self, sentence: DraftSentence, passages: Sequence[Passage], newest: Mapping[str, str], found: Finding
    ) -> Finding:
        """Return what the newest versions say to a sentence to which superseded ones say what was `found`.

        `newest` has the newest version of each superseded document among the passages, by id. A sentence that only a
        superseded version supports is outdated; its second place is what the newest version says instead.
        """
        now = self.find(sentence, [one for one in passages if one.hit.doc_id not in newest])
        degraded = tuple(dict.fromkeys((*found.degraded, *now.degraded)))
        if now.verdict == "supported" or found.verdict != "supported":
            return replace(now if now.places else found, degraded=degraded)
        old = next(place for place in found.places if place[0].hit.doc_id in newest)
        newer = newest[old[0].hit.doc_id]
        instead = next((place for place in now.places if place[0].hit.doc_id == newer), None)
        if instead is None:
            instead = self._most_alike(old, [one for one in passages if one.hit.doc_id == newer])
        return Finding("outdated", (old, instead) if instead is not None else (old,), degraded)

    def _most_alike(self, place: Place, passages: Sequence[Passage]) -> Place | None:
        """Return the sentence on the pages of passages that states the same as a place; None where none is alike."""
        passage, (start, end) = place
        units = [(group[0], (unit.start, unit.end)) for group in pages_of(passages) for unit in self._leaf(group).units]
        at = most_alike(passage.page.text[start:end], (one.page.text[slice(*span)] for one, span in units))
        return units[at] if at is not None else None

    def _leaf(self, group: Sequence[Passage]) -> Leaf:
        """Return the page of these passages, prepared for comparison."""
        page = group[0].page
        windows = tuple((one.start, one.end) for one in group)
        leaf = self._leaves.pop(page.page_id, None)
        if leaf is None:
            leaf = Leaf(page, name_of(group[0].hit.document, ""), windows)
        leaf.windows = windows
        self._leaves[page.page_id] = leaf
        while len(self._leaves) > _KEPT:
            self._leaves.popitem(last=False)
        return leaf


class _DraftEvidence(Evidence):
    """The evidence for a sentence that a person wrote, who rewords more than a model does, and errs in other places."""

    compared = 5

    def claim(self, text: str) -> Claim:
        """Return a sentence whose first word has a small letter where the pages write it so: it is no name there."""
        first = re.match(r"[A-ZÀ-Ý][a-zà-ÿ]+(?= [a-zà-ÿ0-9])", text)
        if first and any(re.search(rf"\b{first[0].lower()}\b", leaf.record.text) for leaf in self.library.leaves):
            text = text[0].lower() + text[1:]
        return Claim(text)

    def fault(self, claim: Claim, span: Span) -> Fault | None:
        """Return the part of a claim that a span does not support, told also by counts, subjects and joined names.

        What it says beyond the span is not judged: a person knows more than one sentence of a page.
        """
        found = self.contradiction(claim, span)
        if found is None and counts_otherwise(claim, span):
            return Fault("number", True)
        if found is None and (share := said_of_another(claim, span)):
            return Fault("name", share == 1)
        return found or (Fault("name", False) if names_apart(claim, span, edits_of(claim, span.leaf)) else None)

    def spans(self, claim: Claim) -> list[Span]:
        """Return the spans, and the best sentence of each alone where the others add only forms of its own words.

        They add more where each states a part of the claim: then they stand or fall together.
        """
        found = self.library.spans(claim, with_cores=True)
        wide = {(id(span.leaf), span.core): span for span in found if span.first != span.last}
        return [
            span
            for span in found
            if span.first != span.last
            or (wider := wide.get((id(span.leaf), span.core))) is None
            or _adds_nothing(claim, wider)
        ]

    def best(self, claim: Claim, spans: Sequence[Span]) -> Span | None:
        """Return the span that supports a claim best.

        Numbers that all stand in their places make up for words that differ. Words that lie in several sentences of a
        page do not: each of them may be about something else.
        """
        written = [claim.text[figure.start : figure.end] for figure in claim.figures if figure.is_required]
        more = _NUMBERED * min(2, sum(_TELLING.search(one) is not None for one in written))
        good = [
            (span, likelihood_of(span, more))
            for span in spans
            if span.first == span.last or span.cosine is None or span.cosine >= _ALIKE
        ]
        good = [
            (span, chance)
            for span, chance in good
            if chance >= 0.5 or is_certain(span) or _is_same(span, has_number=more > 0) or _is_row_of(claim, span)
        ]
        return max(good, key=lambda one: one[1] + one[0].bonus)[0] if good else None

    def outweighs(self, span: Span, against: Span) -> bool:
        """Return whether a span supports a claim although another contradicts it, which may only be a wider one."""
        is_within = against.leaf is span.leaf and against.first <= span.first and span.last <= against.last
        return is_within or super().outweighs(span, against)


def _is_same(span: Span, *, has_number: bool) -> bool:
    """Return whether one sentence of a page is so alike that it states the same in other words."""
    least = _SAME_NUMBER if has_number else _SAME
    return span.first == span.last and span.cosine is not None and span.cosine >= least


def _is_row_of(claim: Claim, span: Span) -> bool:
    """Return whether a span is one row of a table whose label the claim has, with a number of it in its place."""
    unit = span.leaf.units[span.core]
    if span.first != span.last or not is_row(unit.text):
        return False
    starts = {word[:FORM] for word in claim.words}
    label = [word for word in unit.content if not any(map(str.isdigit, word))]
    told = [one for one in claim.figures if one.is_required and not one.is_year]
    is_telling = any(_TELLING.search(claim.text[one.start : one.end]) is not None for one in told)
    return is_telling and len(label) >= _LABEL and all(word[:FORM] in starts for word in label)


def _adds_nothing(claim: Claim, span: Span) -> bool:
    """Return whether each word of a claim that only the other sentences of a span have is a form of one in its core."""
    units = span.leaf.units
    core = set(units[span.core].content)
    others = {word for unit in units[span.first : span.last + 1] for word in unit.content} - core
    begins = {word[:FORM] for word in core}
    return all(word[:FORM] in begins for word in claim.words if word in others)
