"""What a check of a text against the documents returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from docmind.records.answers import Source
from docmind.records.search import Degraded
from docmind.wording import N_

Verdict = Literal["supported", "outdated", "contradicted", "not found", "no claim"]
"""A page says it; only a page of a superseded version says it; a page says the same with another number, date, name or
a negation; no page says it; or there is nothing to check: a heading, a question, a greeting."""

VERDICTS: dict[Verdict, str] = {
    "supported": N_("Supported"),
    "outdated": N_("Outdated"),
    "contradicted": N_("Contradicted"),
    "not found": N_("Not found"),
    "no claim": N_("No claim"),
}
"""The words for each verdict, wherever a checked text is shown."""

IN_EARLIER, IN_NEWEST = N_("in an earlier version"), N_("in the newest version")
"""The words beside the two sources of a sentence that is outdated."""

WITH_SOURCE: tuple[Verdict, ...] = ("supported", "outdated", "contradicted")
"""The verdicts that rest on a passage."""

UNPROVEN: tuple[Verdict, ...] = ("outdated", "contradicted", "not found")
"""The verdicts of sentences that the documents, as they are now, do not say."""


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence of a draft, and what the documents say to it.

    `start` and `end` are its place in the draft; `text` has its words on one line.

    `source` is the passage that supports or contradicts it, and None with any other verdict. A sentence that two
    passages support, each a part of it, has the second one in `also`; one that is outdated has there what the newest
    version says in that place, where it says anything like it.
    """

    text: str
    start: int
    end: int
    verdict: Verdict
    source: Source | None = None
    also: Source | None = None

    def __post_init__(self) -> None:
        if (self.source is not None) != (self.verdict in WITH_SOURCE):
            raise ValueError("A sentence has a source where a page supports or contradicts it.")

    @property
    def sources(self) -> tuple[Source, ...]:
        """The passages, the first one first."""
        return tuple(one for one in (self.source, self.also) if one is not None)

    def remark(self, source: Source) -> str:
        """Return the words beside a source of a sentence that is outdated: of which version it is; else nothing."""
        if self.verdict != "outdated":
            return ""
        return IN_EARLIER if source == self.source else IN_NEWEST


@dataclass(frozen=True, slots=True)
class CheckedDraft:
    """A draft without marks of its own, such as `[1]`; its sentences in their order; what the check went without.

    Sources are numbered from 1 in the order of their first mention; sentences with the same passage share its number.
    """

    text: str
    sentences: tuple[CheckedSentence, ...]
    degraded: tuple[Degraded, ...] = ()

    def count(self, verdict: Verdict) -> int:
        """Return how many sentences have a verdict."""
        return sum(one.verdict == verdict for one in self.sentences)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The passages of all sentences, each once, in the order of their numbers."""
        return tuple({source.n: source for one in self.sentences for source in one.sources}.values())
