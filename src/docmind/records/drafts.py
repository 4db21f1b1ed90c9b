"""What a check of a text against the documents returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from docmind.records.answers import Source
from docmind.records.search import Degraded
from docmind.wording import N_

Verdict = Literal["supported", "contradicted", "not found", "no claim"]
"""A page says it; a page says the same with another number, date, name or a negation; no page says it; or there is
nothing to check: a heading, a question, a greeting."""

VERDICTS: dict[Verdict, str] = {
    "supported": N_("Supported"),
    "contradicted": N_("Contradicted"),
    "not found": N_("Not found"),
    "no claim": N_("No claim"),
}
"""The words for each verdict, wherever a checked text is shown."""


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence of a draft, and what the documents say to it.

    `start` and `end` are its place in the draft; `text` has its words on one line.

    `source` is the passage that supports or contradicts it, and None with any other verdict. A sentence that two
    passages support, each a part of it, has the second one in `also`.
    """

    text: str
    start: int
    end: int
    verdict: Verdict
    source: Source | None = None
    also: Source | None = None

    def __post_init__(self) -> None:
        if (self.source is not None) != (self.verdict in ("supported", "contradicted")):
            raise ValueError("A sentence has a source where a page supports or contradicts it.")

    @property
    def sources(self) -> tuple[Source, ...]:
        """The passages, the first one first."""
        return tuple(one for one in (self.source, self.also) if one is not None)


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
