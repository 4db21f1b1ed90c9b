"""Extractive answers, without a language model: the sentences of the pages that best match the question, verbatim.

An estimate says whether the documents answer the question at all.

Above 500 lines: choice, order and confidence are worked out from one set of passages and one matrix of vectors.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp, log
from typing import Literal

import numpy as np

from docmind.answers.across import confidence_across, is_other_language, nearest_across
from docmind.answers.attributes import in_one_clause, tells_attribute
from docmind.answers.compound import parts_of
from docmind.answers.corrections import Exchanges, earlier_of, numbered
from docmind.answers.extremes import most_extreme
from docmind.answers.kinds import (
    Asked,
    asked_of,
    asking_words,
    content_words,
    holds,
    is_clause,
    is_contact,
    is_echo,
    is_labelled,
    is_of_another_year,
    is_of_values,
    is_statement,
    language_of_question,
    without_mail_words,
)
from docmind.answers.newest import EQUALLY_WELL, day_in, day_of_heading, wishes_newest, without_wish
from docmind.answers.ordinals import Ordinal, has_ordinals, number_of, ordinals_asked, ordinals_in
from docmind.answers.passages import Passage, code_passages, edges, has_verb, headed_passages, is_heading, passages
from docmind.answers.row_columns import may_tell
from docmind.answers.sentences import leans
from docmind.answers.spelling import spelled
from docmind.answers.values import met_spans
from docmind.answers.verify import MAYBE, Verified, page_source, quoted
from docmind.answers.versions import Earlier, lead_of, most_alike, superseded, without
from docmind.config import AnswerSettings
from docmind.documents import Catalog, PageRecord, Words
from docmind.embedding import (
    TextEmbedder,
    VectorCache,
    is_multilingual,
    name_of,
    prefix,
    reads_as_english,
    sentence_ends,
    words,
)
from docmind.errors import DamagedError, DocMindError
from docmind.records.answers import Outcome, Source
from docmind.records.documents import DocumentInfo, Provenance
from docmind.records.search import Degraded, Filters, Hit, SearchResult
from docmind.wording import _, language_name, ngettext

PAGES, WEIGHED = 8, 3  # pages read for quotes; of them, how many count for the confidence
CANDIDATES = 24  # passages embedded: 2-3 ms each on one core
CANDIDATES_OF_PART = 14  # of each part of a question in two parts, so that both cost little more than one question
READ = 4_096  # vectors of passages that are kept in memory: 12 MB of both text models, the passages of 300 pages
SHORTEST = 8  # characters
IN_WINDOW = 0.3  # preference for passages of the page's best window when candidates are chosen
COSINE, COVERAGE, PAGE = 1.2, 1.0, 0.6  # weights of a passage's score
DIVERSITY = 0.5  # of maximal marginal relevance (Carbonell & Goldstein 1998)
KEPT_FROM = 0.7  # of the best quote's score; quotes below it add nothing to an answer
KEPT_UNSURE = 0.5  # the same where the first quote is not sure to answer
SAME_PAGE = 0.3  # penalty for each quote already taken from the same page
CUT_OFF = 0.15  # penalty for a quote that begins or ends in mid-sentence, as at the end of a page
MISFIT = 0.35  # penalty for a quote without a value of the kind that is asked for
NO_ANSWER = 0.6  # penalty for a quote that answers nothing: a title, a caption, a question, a sentence with a hole
CLAUSE = 2.0  # preference for the clause of the number that is asked for
CLAUSE_FOUND = 0.9  # probability that the clause of the number that is asked for answers
LACKING = 0.05  # probability that pages answer which count what is asked for without the one that is asked for
CLAUSES = 4  # passages of such clauses that count
LOOKED_UP, LOOKED_THROUGH = 3, 400  # documents, and pages of each, in which such a clause is looked for
LABELLED = 0.3  # preference for a value whose label has no word that the question lacks: "Hot water 760"
ANOTHER_YEAR = 0.3  # penalty for a quote about other years than the question
QUOTED = 0.5  # penalty for what a mail quotes from an earlier one, which its own words may correct
FIELD = 1.0  # preference for the line of the header of a mail that states what is asked for
STANDING_OUT, NOISE = 6.0, 0.02  # most deviations that count, and what is added to a deviation of cosines
LEAD = 0.7  # weight of words that only the header or lead-in of a quote has
HEADED = 0.7  # weight of words that only the heading above a quote has
LEAD_NEAR = 300  # characters: a header or lead-in farther above its row is quoted without being highlighted
ONLY_OLDER = 0.1  # by how much surer an earlier version must be to be quoted in place of the newest one
NAMED_FROM = 0.85  # of the best score: what a document needs whose name is in the question, to be quoted alone
_SENTENCE_ENDS = (".", "!", "?")
_OUTCOMES: tuple[Outcome, ...] = ("not found", "maybe", "answer")  # the surer, the later
_SHORT, _ENDINGS = 4, ("s", "ed", "es", "d", "ing", "er", "ment", "ments")
_SHORTEST_STEM, _PLURALS = 3, ("s", "es", "ment", "ments")
PREFIX_MATCH = 0.7  # a word matched only by its first letters, against 1 for the word itself
WEAK = 0.3  # weight of words that say little about what is asked for

_SAYS = re.compile(r"[:=|]|\b(?!(?:19|20)\d\d\b)\w*\d\w*")
_LOOKED_BELOW = 4  # rows with the first one
_SEVERAL = re.compile(
    r"[¿\s]*(?:.{0,40}\bnext\b|quels|quelles|quais|cuales|cuáles|welche|(?:which|what|que|qué) [a-z]{2,}s(?<!ss))\b"
)
_OF_ONE = frozenset({"number", "amount", "count", "sum", "mean", "date", "duration"})
"""Kinds of questions that one row answers where no other fits as well."""
_BEGINS = re.compile(r"[.?!¿¡]\s{0,2}$")
# `How long` asks for a number: a page need not contain `long`.
_MEASURE = re.compile(r"\bhow (?:long|much|many|often|far|old|big|large|high|tall|soon)\b", re.IGNORECASE)


def _logistic(fitted: tuple[float, np.ndarray], evidence: np.ndarray) -> float:
    intercept, weights = fitted
    return 1 / (1 + exp(-(intercept + float(evidence @ weights))))


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# Words of a question that no page needs, and words that are only worth WEAK of others.
_ASKING = _set(
    """i my me mine we our us you your he him his she her am been had may can could should would must shall any some
    please tell s t d ll re ve meu minha meus minhas eu posso pode podem devo deve preciso quem qual quais onde aonde
    quando quanto quanta quantos quantas como porque ha houve mi mis yo puedo puede debo debe necesito quien quienes
    cual cuales donde adonde cuando cuanto cuanta cuantos cuantas hay hubo
    wer wen wem wessen wann wo wohin wie viel viele lange welche welcher welches welchen welchem ist sind war hat haben
    ich du er sie es wir ihr man mein meine meinen unser unsere kann darf muss soll wird werden der die das den dem des
    ein eine einen einem einer im in am zum zur von fur mit und oder nicht was
    qui quand ou combien comment pourquoi quel quelle quels quelles est sont etait qu que je tu il elle on nous vous ils
    elles mon ma mes notre nos puis peut dois doit faut le la les l un une des du de d au aux et pour dans par avec ce
    cette t"""
)
_LIGHT = _set(
    """keep get got have made make need happen happens happened put give gave given go goes went gone take takes took
    taken use used long name number mean means come comes came want find know say says said work works start starts
    began begin begins turn turned run runs ran set done left cost costs called tem ter tinha faz fez fica acontece
    aconteceu vai vao leva levou custa custou custam chama significa tiene tener tuvo hace hizo pasa paso cuesta costo
    cuestan lleva llama va van about diz dizem dice dicen sobre acerca kostet kosten zahlt macht gibt geht heisst steht
    sagt coute coutent fait dit passe"""
)

_KIND_OF_FILE = _set(
    """document file pdf paper report article book text txt docx csv xlsx xls md documento ficheiro arquivo relatorio
    artigo livro texto archivo fichero informe articulo libro my our meu minha mi mis nuestro"""
)

# Logistic regressions on the evidence of `Ranked`: that the documents answer, and that the first quote does. `MANY` is
# for a text model of many languages, `ANY` for none. `scripts/eval FOLDER fit-answers` prints these lines for the model
# in use; docs/adr/0043, 0057, 0058 and 0131. Only `FOUND_MANY` was fitted with the last number among the evidence;
# MiniLM's were fitted before the last two.
FOUND = -11.75, np.array([5.12, 6.84, 3.20, 1.55, 3.32, 0.55, 2.12, 0.00, 0.00])
FIRST = -11.39, np.array([0.00, 7.41, 1.59, 0.74, 6.08, 2.40, 1.11, 0.00, 0.00])
FOUND_MANY = -9.14, np.array([7.86, 4.93, 3.45, 0.00, 0.00, 0.00, 0.00, 0.31, 2.13])
FIRST_MANY = -8.56, np.array([0.00, 5.30, 4.15, -0.40, 2.24, 0.99, -0.52, 0.87, 0.00])
FOUND_ANY = -3.61, np.array([0.00, 0.00, 3.83, 0.67, 2.08, 0.57, -0.16, 0.00, 0.00])
FIRST_ANY = -5.23, np.array([0.00, 0.00, 3.20, 2.67, 2.26, 1.19, -0.30, 0.00, 0.00])
_FOUND = {"none": FOUND_ANY, "english": FOUND, "many": FOUND_MANY}
_FIRST = {"none": FIRST_ANY, "english": FIRST, "many": FIRST_MANY}


@dataclass(frozen=True, slots=True)
class Extract:
    """Sources in citation order, and the probability that the documents answer the question.

    `degraded` says what was missing, beside what the search has said. `languages` are those of the pages where these
    were found across languages. `earlier` has what earlier versions of the first source's document say in its place;
    their sources are numbered after the others. `leading` is how many of the first sources are the answer together:
    one of each part of a question with two.
    """

    sources: tuple[Source, ...]
    confidence: float
    outcome: Outcome = "not found"
    degraded: tuple[Degraded, ...] = ()
    languages: tuple[str, ...] = ()
    earlier: tuple[Earlier, ...] = ()
    leading: int = 1

    def as_of(self, epoch: int) -> Extract:
        """Return it with the state of the index in which the pages were found noted in each source."""
        return replace(
            self,
            sources=tuple(replace(source, index_epoch=epoch) for source in self.sources),
            earlier=tuple(replace(one, source=replace(one.source, index_epoch=epoch)) for one in self.earlier),
        )

    def quoted(self) -> Verified:
        """Return the answer that is made of these sources."""
        return quoted(self.sources, self.outcome, self.lead, self.earlier, self.leading)

    @property
    def lead(self) -> str:
        """The words before passages that may answer."""
        if not self.languages:
            return MAYBE
        named = ", ".join(map(language_name, self.languages))
        return ngettext("On a page in {language}:", "On pages in {language}:", len(self.languages)).format(
            language=named
        )


@dataclass(frozen=True, slots=True)
class _Page:
    """A found page with the name of its document and the span of its best window."""

    hit: Hit
    record: PageRecord
    label: str
    window: tuple[int, int]
    words: Words | None  # of a page that OCR read, to know how sure it is
    passages: tuple[tuple[str, Passage], ...]  # each with the heading above it

    @property
    def title(self) -> str:
        """The first heading on the page."""
        return next((heading for heading, _unused in self.passages if heading), "")

    @property
    def text(self) -> str:
        return self.record.text


def _above(page: _Page, heading: str, passage: Passage) -> str:
    """Return what names the subject of a passage: the sentence before one that begins with "it", else its heading."""
    if not leans(passage.text(page.text)):
        return heading or page.title
    before = [one for _heading, one in page.passages if one.end <= passage.start]
    return max(before, key=lambda one: one.end).text(page.text) if before else heading or page.title


@dataclass(slots=True)
class _Unit:
    page: int
    passage: Passage
    heading: str
    text: str
    meets: np.ndarray  # (terms,) how far each word of the question stands in it
    coverage: float = 0.0

    def own(self, page: _Page) -> str:
        """Return the words of the passage without those above it."""
        return page.text[self.passage.start : self.passage.end]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Passages in citation order, each with its page, and the evidence that they answer the question.

    `shares` are their scores, the best one's being 1.

    The evidence is the nearest cosine of the search; the first passage's cosine; how much of the question, by weight,
    is on the best of the first three pages, in the first passage, and in it with its heading and document; whether it
    is on the first page that was found; whether the question is English (MiniLM's cosines are higher in others); by how
    many standard deviations the first passage's cosine stands out of those of the others, at most `STANDING_OUT`; and
    `is_fitting`.
    `cosines` tells whether they are those of a model of English or of many languages, `is_fitting` whether the first
    passage has every name and value that the question has, and a value of the kind that it asks for. `clauses` is how
    many documents have a clause of the number that is asked for. `is_lacking` tells that the pages count what the
    question picks by an ordinal, and do not have that one.
    """

    quotes: tuple[tuple[_Page, _Unit], ...]
    shares: tuple[float, ...]
    evidence: np.ndarray
    cosines: Literal["none", "english", "many"]
    is_fitting: bool
    clauses: int = 0
    is_lacking: bool = False
    degraded: tuple[Degraded, ...] = ()

    def confidence(self) -> float:
        """Return the probability that the documents answer the question."""
        if self.clauses:
            return CLAUSE_FOUND
        return LACKING * self.is_lacking or _logistic(_FOUND[self.cosines], self.evidence)

    def first_confidence(self) -> float:
        """Return the probability that the first passage does; of clauses of several documents any may be meant."""
        if self.clauses:
            return CLAUSE_FOUND if self.clauses == 1 else 1 - CLAUSE_FOUND
        return _logistic(_FIRST[self.cosines], self.evidence)

    def sources(self, kept_from: float = KEPT_FROM) -> tuple[Source, ...]:
        """Return the passages whose score is at least this share of the best one's as sources."""
        kept = [one for one, share in zip(self.quotes, self.shares, strict=True) if share >= kept_from]
        return tuple(
            source_of(n, page.record, page.hit.document, unit.passage, page.words)
            for n, (page, unit) in enumerate(kept, 1)
        )


class Extractive:
    """The extraction of quotes from search results. Thread-safe."""

    def __init__(
        self,
        settings: AnswerSettings,
        catalog: Catalog,
        embedder: TextEmbedder,
        *,
        least_certainty: float = 0.0,
        read: VectorCache | None = None,
    ) -> None:
        """Set up; passages with a line of which OCR is less sure than `least_certainty`, 0..1, are not quoted.

        `read` has the vectors of passages that were read before, and is created where none is given.
        """
        self._read = read or VectorCache(READ, "passages")
        self._settings, self._catalog, self._embedder = settings, catalog, embedder
        self._exchanges = Exchanges(catalog)
        self._least_certainty = least_certainty
        self._cosines: Literal["english", "many"] = "many" if is_multilingual(embedder) else "english"

    def without_threshold(self) -> Extractive:
        """Return one that quotes pages whatever its confidence, for pages that a question itself points to."""
        settings = self._settings.model_copy(update={"threshold": 0.0})
        return Extractive(
            settings, self._catalog, self._embedder, least_certainty=self._least_certainty, read=self._read
        )

    def drop(self) -> None:
        """Drop the vectors of passages that are kept in memory, because a document is erased."""
        self._read.drop()

    def extract(
        self,
        question: str,
        found: SearchResult,
        led: Collection[str] = (),
        filters: Filters = Filters(),
        *,
        newest_first: bool = False,
    ) -> Extract:
        """Return quotes from the first pages of `found`; none where the confidence is below the threshold.

        The pages, their order and their scores are those of the text search, by which the confidence was fitted: what
        lists of page images add changes no outcome.

        Embeds at most 24 passages, without those that were read lately. Without pages: no quotes, confidence 0. What
        answers as well as a quote in `led`, those that led the previous answer, comes before it.

        Of several versions of a document the newest one is quoted, unless only an earlier one answers. What a later
        mail of an exchange corrects is quoted as it is corrected, where `filters` allow that mail. The two parts of a
        question are answered by themselves, where the pages answer both, and a quote of each is all that is returned,
        unless `led` tells that more is asked for. With `newest_first`, or where the question asks for the newest,
        the newest of the passages that answer equally well comes first.
        """
        parts = parts_of(question) if self._settings.quotes > 1 else None
        each = list[Extract]()
        for part in parts or ():
            wish = newest_first or wishes_newest(question)
            newest = self._newest(part, found, led, CANDIDATES_OF_PART, newest_first=wish)
            each.append(self._corrected(part, newest, filters))
            if not each[-1].sources:
                break
        if not each or not each[-1].sources:
            newest = self._newest(question, found, led, newest_first=newest_first or wishes_newest(question))
            return self._corrected(question, newest, filters)
        return _joined(each, self._settings.quotes, is_more=bool(led))

    def _newest(
        self,
        question: str,
        found: SearchResult,
        led: Collection[str],
        candidates: int = CANDIDATES,
        *,
        newest_first: bool,
    ) -> Extract:
        older = superseded(self._catalog.versions({hit.doc_id for hit in found.ranked_by_words[:PAGES]}))
        if not older:
            return self._extract(question, found, led, candidates, newest_first=newest_first)
        newest = self._extract(question, without(found, older), led, candidates, newest_first=newest_first)
        every = self._extract(question, found, led, candidates, newest_first=newest_first)
        more = _OUTCOMES.index(every.outcome) - _OUTCOMES.index(newest.outcome)
        if more > 0 or (more == 0 and every.outcome == "maybe" and every.confidence > newest.confidence + ONLY_OLDER):
            return every
        return self._with_earlier(newest, [hit for hit in found.ranked_by_words[:PAGES] if hit.doc_id in older])

    def _corrected(self, question: str, extract: Extract, filters: Filters) -> Extract:
        """Return quotes with the correction of the first one before it, or with what the first one corrects."""
        if not extract.sources or extract.earlier:
            return extract
        first = extract.sources[0]
        later = self._exchanges.correction(question, first, filters)
        if later is not None:
            new = source_of(1, later.page, later.info.document, later.passage)
            if extract.outcome != "answer":
                return replace(extract, sources=numbered((new, *extract.sources)))
            sources = numbered((new, *extract.sources[1:]))
            old = replace(first, n=len(sources) + 1)
            return replace(extract, sources=sources, earlier=(earlier_of(self._catalog.document(old.doc_id), old),))
        before = self._exchanges.corrected(question, first, filters) if extract.outcome == "answer" else None
        if before is None:
            return extract
        old = source_of(len(extract.sources) + 1, before.page, before.info.document, before.passage)
        others = numbered([one for one in extract.sources if one.quote != old.quote])
        return replace(extract, sources=others, earlier=(earlier_of(before.info, replace(old, n=len(others) + 1)),))

    def _extract(
        self, question: str, found: SearchResult, led: Collection[str], candidates: int, *, newest_first: bool
    ) -> Extract:
        ranked = self.rank(question, found, led, candidates=candidates, newest_first=newest_first)
        confidence = ranked.confidence() if ranked is not None else 0.0
        if ranked is None or confidence < self._settings.threshold:
            across = self._across(question, found)
            return across or Extract((), confidence, degraded=ranked.degraded if ranked is not None else ())
        is_sure = ranked.first_confidence() >= self._settings.sure and ranked.is_fitting
        if not is_sure and is_other_language(question, ranked.quotes[0][0].hit.language):
            across = self._across(question, found)  # words that both languages have say little
            if across is not None:
                return across
        sources = ranked.sources(KEPT_FROM if is_sure else KEPT_UNSURE)
        return Extract(sources, confidence, "answer" if is_sure else "maybe", ranked.degraded)

    def _with_earlier(self, extract: Extract, hits: Sequence[Hit]) -> Extract:
        """Return quotes with what earlier versions, of which pages were found, say in place of the first one."""
        if extract.outcome != "answer":  # what may answer is a list, in which an earlier version would be one more
            return extract
        first, earlier = extract.sources[0], list[Earlier]()
        versions = self._catalog.versions({first.doc_id, *(hit.doc_id for hit in hits)})
        series = versions[first.doc_id].series if first.doc_id in versions else ""
        for doc_id, version in versions.items():
            if version.series != series or doc_id == first.doc_id:
                continue
            said = [
                (page, passage)
                for page in self._pages([hit for hit in hits if hit.doc_id == doc_id])
                for _heading, passage in page.passages
            ]
            at = most_alike(first.quote, (passage.text(page.text) for page, passage in said))
            if at is not None:
                page, passage = said[at]
                number = len(extract.sources) + len(earlier) + 1
                source = source_of(number, page.record, page.hit.document, passage, page.words)
                earlier.append(Earlier(lead_of(version), source))
        return replace(extract, earlier=tuple(earlier))

    def rank(
        self,
        question: str,
        found: SearchResult,
        led: Collection[str] = (),
        *,
        candidates: int = CANDIDATES,
        newest_first: bool = False,
    ) -> Ranked | None:
        """Return the best passages, whatever their confidence; None where the pages have none.

        `candidates` is how many passages are embedded at most. With `newest_first` those that answer as well as the
        best one come before others, the newest first.
        """
        pages = self._pages(found.ranked_by_words[:PAGES])
        spoken = [page.text for page in pages if not is_other_language(question, page.hit.language)]
        question = spelled(question, spoken, self._embedder)
        asked, target = asked_part(question), asked_of(_asking(question))
        terms = asked_words(asked)
        if target.field and any(one.field == target.field for page in pages for _heading, one in page.passages):
            terms = without_mail_words(terms)
        if newest_first:
            terms = without_wish(terms)
        units = [unit for at, page in enumerate(pages) for unit in _units_of(at, page, terms)]
        units = [
            unit for unit in units
            if not is_echo(target, unit.own(pages[unit.page]))
            and (unit.passage.field != "Subject" or target.field == "Subject")  # it stands above the mail as well
        ]  # fmt: skip
        clauses: list[_Unit] = []
        if target.clause:
            clauses = _of_clause(target.clause, pages, units) or self._looked_up(target.clause, pages, units, terms)
        if not units:
            return None
        weights = _weights(units, terms)
        weights /= float(weights.sum()) or 1.0
        for unit in units:
            unit.coverage = float(unit.meets @ weights)
        chosen = clauses + _choose([unit for unit in units if unit not in clauses], pages, candidates)
        extreme = None
        if target.kind == "extreme" and not newest_first:
            at = most_extreme(asked, [unit.own(pages[unit.page]) for unit in units], [unit.coverage for unit in units])
            extreme = units[at] if at is not None else None
        if extreme is not None and all(one is not extreme for one in chosen):
            chosen.append(extreme)
        nearest = found.nearest_cosine
        vectors, degraded = self._vectors([question, *(" ".join(unit.text.split()) for unit in chosen)], nearest)
        if degraded:
            nearest = None
        cosines = vectors[1:] @ vectors[0]
        picked = ordinals_asked(asked)
        fitting = [
            _fits(target, unit, pages[unit.page]) + MISFIT * (not _is_picked(picked, unit, pages[unit.page]))
            for unit in chosen
        ]
        best, shares = _rank(asked, chosen, pages, cosines, vectors[1:], fitting, self._settings.quotes, led)
        best, shares = _own_first(target, chosen, best, shares, fitting)
        proof = best[0]  # of statements of one form any shows that there are such
        if extreme is not None:
            at = next(at for at, one in enumerate(chosen) if one is extreme)
            best, shares = [at, *(one for one in best if one != at)][: len(best)], (1.0, *shares[:-1])
        if newest_first:
            own = np.array([unit.coverage for unit in chosen]) + COSINE * cosines - np.array(fitting)
            best, shares = self._newest_of(chosen, pages, own, best, shares)
        lead = chosen[proof]
        page = pages[lead.page]
        context = f"{page.label} {page.title} {lead.heading} {lead.text}"
        on_pages = [float(_meets(f"{one.label} {one.text}", terms) @ weights) for one in pages[:WEIGHED]]
        is_fitting = (
            (lead in clauses or names_are_met(asked, context))
            and fitting[proof] <= 0
            and not (extreme is None and _is_one_of_many(question, target, lead, units))
            and _may_tell(question, lead, page)
            and _is_told(question, target, lead, page)
            and not (target.kind == "count" and not _is_counted(question, lead))
        )
        return Ranked(
            tuple((pages[chosen[at].page], chosen[at]) for at in best),
            shares,
            np.array(
                [
                    nearest or 0.0,
                    float(cosines[proof]),
                    max(on_pages),
                    lead.coverage,
                    float(_meets(context, terms) @ weights),
                    lead.page == 0,
                    reads_as_english(asked),
                    _standing_out(cosines, proof),
                    is_fitting,
                ],
                np.float64,
            ),
            cosines="none" if nearest is None else self._cosines,
            is_fitting=is_fitting,
            clauses=len({pages[unit.page].hit.doc_id for unit in clauses}),
            is_lacking=not is_other_language(question, page.hit.language)
            and _counts_past(picked, units, pages, lead.page),
            degraded=degraded,
        )

    def _newest_of(
        self,
        chosen: Sequence[_Unit],
        pages: Sequence[_Page],
        own: np.ndarray,
        best: list[int],
        shares: tuple[float, ...],
    ) -> tuple[list[int], tuple[float, ...]]:
        """Return the best passages so that those that say as much as the first one lead, the newest before others.

        `own` are the scores of all passages by their words and meaning, without those of their pages.
        """
        known = self._catalog.provenance_of({page.hit.doc_id for page in pages})

        def day(at: int) -> str:
            unit = chosen[at]
            page = pages[unit.page]
            of_document = known.get(page.hit.doc_id, Provenance()).dated or day_in(page.label)
            in_row = day_in(unit.own(page)) if unit.passage.is_row else ""
            return in_row or day_of_heading(unit.heading) or of_document

        alike = [
            at for at, unit in enumerate(chosen)
            if at in best or unit.passage.is_whole
            if own[at] >= EQUALLY_WELL * own[best[0]] > 0
        ]  # fmt: skip
        newest = max(alike, key=lambda at: (day(at), own[at]), default=best[0])
        first = sorted({newest, *(at for at in best if at in alike)}, key=lambda at: (day(at), own[at]), reverse=True)
        share_of = dict(zip(best, shares, strict=True))
        order = [*first, *(at for at in best if at not in first)][: len(best)]
        return order, (1.0, *(share_of.get(at, 1.0) for at in order[1:]))

    def _across(self, question: str, found: SearchResult) -> Extract | None:
        """Return the best passages of the closest pages in other languages; None where none may answer."""
        if found.nearest_cosine is None or self._cosines != "many":
            return None
        pages = self._pages(found.ranked_by_words[:PAGES])
        if not any(is_other_language(question, page.hit.language) for page in pages):
            return None
        passages = [
            (page, heading, one)
            for page in pages
            for heading, one in page.passages
            if one.start < page.window[1] and one.end > page.window[0] and one.is_whole and one.is_own
        ]
        said = [(_above(page, heading, one), one.text(page.text)) for page, heading, one in passages]
        # German writes every noun with a capital.
        asked = question.lower() if language_of_question(question) == "de" else question
        picked = ordinals_asked(question)
        near = [(*passages[at], cosine) for at, cosine in nearest_across(question, said, self._embedder, self._read)]
        if not near or not is_other_language(question, near[0][0].hit.language):
            return None  # what the question's own language has is nearer, and was not found to answer
        near = [
            (page, one, cosine)
            for page, heading, one, cosine in near
            if is_other_language(question, page.hit.language)
            and names_are_met(asked, f"{page.label} {page.title} {one.text(page.text)}")
            and has_ordinals(picked, f"{page.label}\n{page.title}\n{heading}\n{one.text(page.text)}")
        ]
        if not near:
            return None
        languages = tuple(dict.fromkeys(page.hit.language for page, *_unused in near))
        sources = tuple(
            source_of(n, page.record, page.hit.document, one, page.words)
            for n, (page, one, _cosine) in enumerate(near, 1)
        )
        return Extract(sources, confidence_across(near[0][2]), "maybe", languages=languages)

    def _looked_up(self, number: str, pages: list[_Page], units: list[_Unit], terms: list[str]) -> list[_Unit]:
        """Return passages of the clause on further pages of the first documents; add these to `pages` and `units`."""
        known = {(page.hit.doc_id, page.hit.page_no) for page in pages}
        firsts = {page.hit.doc_id: page.hit for page in reversed(pages)}
        hits: list[Hit] = []
        for doc_id in list(dict.fromkeys(page.hit.doc_id for page in pages))[:LOOKED_UP]:
            for page_no in range(1, LOOKED_THROUGH + 1):
                record = self._catalog.pages([(doc_id, page_no)]).get((doc_id, page_no))
                if record is None:
                    break
                if (doc_id, page_no) not in known and any(is_clause(number, line) for line in record.text.splitlines()):
                    place = replace(firsts[doc_id], page_no=page_no, page_id=record.page_id, node_id=record.page_id)
                    hits.append(replace(place, text=record.text, score=0.0))
                    if len(hits) >= PAGES:
                        break
        begin = len(pages)
        pages += self._pages(hits)
        more = [unit for at, page in enumerate(pages[begin:], begin) for unit in _units_of(at, page, terms)]
        units += more
        return _of_clause(number, pages, more)

    def _vectors(self, texts: list[str], nearest_cosine: float | None) -> tuple[np.ndarray, tuple[Degraded, ...]]:
        """Return unit vectors; zeros where the search had to do without the text model, or where it fails now."""
        nothing = np.zeros((len(texts), self._embedder.dim), np.float32)
        if nearest_cosine is None:
            return nothing, ()
        try:
            return self._read.rows(self._embedder.fingerprint, texts, self._embedder.embed_documents), ()
        except (DocMindError, OSError, RuntimeError) as error:
            return nothing, (Degraded("dense", _("the text model cannot be used: {error}").format(error=error)),)

    def _pages(self, hits: Sequence[Hit]) -> list[_Page]:
        pages = []
        labels: dict[str, str] = {}
        beside = [(hit.doc_id, no) for hit in hits for no in range(hit.page_no - 1, hit.page_no + 2)]
        records = self._catalog.pages(beside)
        for hit in hits:
            record = records.get((hit.doc_id, hit.page_no))
            try:
                structure = record.structure() if record is not None else ()
                named = self._catalog.name_and_title(hit.doc_id) if hit.doc_id not in labels else None
            except DamagedError:  # damaged since the search: every later search reports it
                self._catalog.note_damage(hit.doc_id, hit.page_no)
                continue
            if named is not None:
                labels[hit.doc_id] = name_of(*named)
            if record is None or hit.doc_id not in labels:  # deleted since the search
                continue
            start = record.text.find(hit.text)
            others = [records.get((hit.doc_id, hit.page_no + step)) for step in (-1, 1)]
            running = set().union(*(edges(other.text) for other in others if other is not None))
            # The words of a figure may stand nowhere on its page.
            window = (start, start + len(hit.text)) if start >= 0 else (0, len(record.text))
            if hit.modality == "code":
                found = code_passages(record.text, structure)
            else:
                found = headed_passages(record.text, running, structure)
            is_seen = record.text_source == "ocr" or record.ocr is not None
            placed = Words.unpack(record.words) if is_seen and self._least_certainty else None
            if placed is not None:  # passages of which OCR is not sure are not quoted
                found = [one for one in found if placed.certainty_of(one[1].start, one[1].end) >= self._least_certainty]
            pages.append(_Page(hit, record, labels[hit.doc_id], window, placed, tuple(found)))
        return pages


def _joined(each: Sequence[Extract], most: int, *, is_more: bool) -> Extract:
    """Return the answers to the parts of a question as one: their first sources, which lead.

    With `is_more` the others follow, up to `most`. The unsurest outcome counts. A passage that answers several parts is
    there once. What earlier versions say is left to the single questions.
    """
    firsts = [one.sources[0] for one in each]
    further = [source for one in each for source in one.sources[1:]] if is_more else []
    sources: dict[tuple[str, int, str], Source] = {}
    for source in (*firsts, *further):
        sources.setdefault((source.doc_id, source.page_no, source.quote), source)
    return Extract(
        tuple(replace(source, n=n) for n, source in enumerate(list(sources.values())[:most], 1)),
        min(one.confidence for one in each),
        _OUTCOMES[min(_OUTCOMES.index(one.outcome) for one in each)],
        tuple(dict.fromkeys(missing for one in each for missing in one.degraded)),
        tuple(dict.fromkeys(language for one in each for language in one.languages)),
        leading=len({(source.doc_id, source.page_no, source.quote) for source in firsts}),
    )


def first_passage(catalog: Catalog, info: DocumentInfo) -> Source | None:
    """Return the first whole sentence of a document's first page as a source, else its first passage.

    None where the page has no words.
    """
    page = catalog.pages([(info.doc_id, 1)]).get((info.doc_id, 1))
    if page is None:
        return None
    try:
        found = passages(page.text, (), page.structure())
        ended = [one for one in found if page.text[one.start : one.end].rstrip().endswith(_SENTENCE_ENDS)]
        first = next(iter([one for one in ended if one.is_whole] or found), None)
        return source_of(1, page, info.document, first) if first is not None else None
    except DamagedError:  # its words or blocks cannot be read
        catalog.note_damage(info.doc_id, 1)
        return None


def passage_source(page: PageRecord, document: str, passage: Passage) -> Source:
    """Return a passage of a page as a source, which is numbered later."""
    return source_of(1, page, document, passage)


def source_of(n: int, page: PageRecord, document: str, passage: Passage, placed: Words | None = None) -> Source:
    """Return a passage of a page as source `n`; a header far above its row is quoted without being highlighted.

    `placed` are the words of the page where they are unpacked already.
    """
    placed, lead = placed or Words.unpack(page.words), passage.lead
    is_near = lead is not None and passage.start - lead[1] <= LEAD_NEAR
    spans = passage.spans() if is_near else ((passage.start, passage.end),)
    boxes = [box for span in spans for box in placed.boxes_of(*span)]
    return page_source(n, document, page, quote=passage.text(page.text), boxes=boxes)


def asked_part(question: str) -> str:
    """Return the sentences that ask, without the measures of `how long` and the like."""
    return _MEASURE.sub("how", _asking(question))


def _asking(question: str) -> str:
    """Return the sentences that ask, if any: others ("if it does not apply, say so") are not evidence."""
    bounds = pairwise((0, *sentence_ends(question, typed=True), len(question)))
    asking = [s for start, end in bounds if (s := question[start:end]).rstrip().endswith("?")]
    return " ".join(s.strip() for s in asking) or question


def asked_words(asked: str) -> list[str]:
    """Return the words of a question that an answer may contain."""
    found = list(dict.fromkeys(words(asked)))
    return [word for word in found if word not in _ASKING] or found


def names(asked: str) -> set[str]:
    """Return words that name something: a capital inside the question, or a digit."""
    return {word for _unused, token in _placed_names(asked) for word in words(token)}


def names_are_met(asked: str, text: str) -> bool:
    """Return whether a text has every name, number and identifier of a question; of `FY2022` the number is enough."""
    held = set(words(text))
    starts = {prefix(word) for word in held}

    def is_met(token: str) -> bool:
        whole, *runs = words(token) or [""]
        numbers = [run for run in runs if run[0].isdigit()]
        return not whole or _is_met(whole, held, starts) or (bool(numbers) and held.issuperset(numbers))

    unmet = [(at, token) for at, token in _placed_names(asked) if not is_met(token)]
    spans = met_spans(asked, text) if any(any(map(str.isdigit, token)) for _unused, token in unmet) else []
    return all(any(start <= at < end for start, end in spans) for at, _unused in unmet)


def is_named(topic: str, name: str) -> bool:
    """Return whether a document's name has every word of a topic, or a form of it; not where the topic has none."""
    held = set(words(name))
    starts = {prefix(word) for word in held}
    asked = [word for word in words(topic) if word not in _KIND_OF_FILE] or words(topic)
    return bool(asked) and all(_is_met(word, held, starts) for word in asked)


_HEADER = frozenset(("From", "To", "Cc", "Bcc", "Date", "Subject", "Attachments"))
_FIELD_OF = {"date": "When", "place": "Where"}  # lines of an invitation


def _fits(target: Asked, unit: _Unit, page: _Page) -> float:
    """Return the penalty of a passage that cannot be the answer for what it is, 0 for one that can.

    It is negative for the clause of the number that is asked for, for a value with the label that is asked for, and for
    the line of the header of a mail that is asked for. What a mail quotes comes after its own words.
    """
    field = unit.passage.field
    if field and field in (target.field, _FIELD_OF.get(target.kind)):
        return -FIELD
    if field and field in _HEADER:
        return NO_ANSWER
    return _fits_text(target, unit, page) + QUOTED * unit.passage.is_quoted


def _fits_text(target: Asked, unit: _Unit, page: _Page) -> float:
    if target.clause:
        is_named = is_clause(target.clause, unit.own(page)) or is_clause(target.clause, unit.heading)
        return -CLAUSE if is_named else MISFIT
    own, around = unit.own(page), f"{page.label} {page.title} {unit.heading}"
    if is_of_another_year(target, unit.text, around):
        return ANOTHER_YEAR
    is_title = not unit.passage.is_row and (all(map(is_heading, own.splitlines())) or _heads(unit, page))
    is_title = is_title or _names_columns(unit, page) or (is_of_values(target) and _is_title_of(unit, page))
    is_aside = unit.passage.is_aside and not is_contact(target, own)
    if is_title or is_aside or not is_statement(own):
        return NO_ANSWER
    told = own if unit.passage.is_row and target.kind in ("person", "organisation", "place") else unit.text
    if not holds(target, told, heading=unit.heading):  # the names of columns are no people
        return MISFIT
    return -LABELLED if is_labelled(target, own) else 0.0


def _is_picked(picked: Sequence[Ordinal], unit: _Unit, page: _Page) -> bool:
    """Return whether a passage, or what stands above it, has the ordinals by which a question picks one of several."""
    return not picked or has_ordinals(picked, f"{page.label}\n{page.title}\n{unit.heading}\n{unit.text}")


def _counts_past(picked: Sequence[Ordinal], units: Sequence[_Unit], pages: Sequence[_Page], page_no: int) -> bool:
    """Return whether a page counts what the question picks, up to others: rows of the floors 2 to 6, and no first."""
    if not picked or not any(ordinals_in(unit.text) for unit in units if unit.page == page_no):
        return False
    nouns = [one.noun for one in picked]
    return not any(
        _is_picked(picked, unit, pages[unit.page]) and _meets(f"{unit.heading}\n{unit.text}", nouns).all()
        for unit in units
    )


def _names_several(question: str, unit: _Unit) -> bool:
    """Return whether several columns are named alike well: `jars` of `Jars made | Jars sold`."""
    names_of_columns = unit.text.partition("\n")[0].split(" | ") if unit.passage.lead is not None else []
    terms = asked_words(question)
    met = sorted((float(_meets(one, terms).sum()) for one in names_of_columns), reverse=True)
    return len(met) > 1 and met[0] > 0 and met[0] == met[1]


def _is_counted(question: str, unit: _Unit) -> bool:
    """Return whether a passage, its header or its heading names what is counted: `chairs`, in the question's words."""
    counted = content_words(question)[:1]
    return not counted or bool(_meets(f"{unit.heading} {unit.text}", asked_words(counted[0])).any())


def _names_columns(unit: _Unit, page: _Page) -> bool:
    """Return whether a row that nothing marks as a header is one: it alone has no digits, and rows follow."""
    own = unit.passage
    if not own.is_row or own.lead is not None or any(map(str.isdigit, unit.own(page))):
        return False
    rows = [one for _heading, one in page.passages if one.is_row and one.lead is None and one.start >= own.start]
    below = [page.text[one.start : one.end] for one in rows[1:_LOOKED_BELOW]]
    before = any(one.is_row and 0 < own.start - one.end < 3 for _heading, one in page.passages)
    return len(below) > 1 and not before and all(any(map(str.isdigit, text)) for text in below)


def _is_one_of_many(question: str, target: Asked, lead: _Unit, units: Sequence[_Unit]) -> bool:
    """Return whether a row of a table is told of which the question needs others too, or where others fit as well.

    A sum, a mean or an extreme is of several rows, but where the row has the word for it: `Total costs`.
    """
    if not lead.passage.is_row:
        return False
    if target.kind == "comparison":
        return True
    if target.kind in ("sum", "mean", "extreme") and asking_words(question).isdisjoint(words(lead.text)):
        return True
    if target.kind in ("number", "amount", "count") and _names_several(question, lead):
        return True
    is_of_one = target.kind in _OF_ONE or _SEVERAL.match(question.lower()) is not None
    return is_of_one and any(
        one.page == lead.page
        and one.passage.is_row
        and one.passage.start != lead.passage.start
        and one.passage.lead == lead.passage.lead
        and (one.meets >= lead.meets).all()
        for one in units
    )


def _may_tell(question: str, lead: _Unit, page: _Page) -> bool:
    """Return whether a row under the names of its columns may tell what is asked; True of any other passage."""
    if not lead.passage.is_row or lead.passage.lead is None:
        return True
    header = page.text[slice(*lead.passage.lead)]
    return may_tell(question, header, lead.own(page), f"{lead.heading} {page.title} {page.label}")


def _is_told(question: str, target: Asked, lead: _Unit, page: _Page) -> bool:
    """Return whether a passage surely tells what is asked about a thing."""
    around = f"{page.text[slice(*lead.passage.lead)] if lead.passage.lead else ''}\n{lead.heading}"
    own = lead.own(page)
    if target.is_cost and not lead.passage.is_row and not in_one_clause(content_words(question), own):
        return False
    return target.kind != "other" or tells_attribute(question, own, around)


def _heads(unit: _Unit, page: _Page) -> bool:
    """Return whether a passage is the title of its document: first lines that say nothing but a name and a year."""
    own = unit.own(page)
    is_first = page.record.page_no == 1 and unit.passage is page.passages[0][1]
    return is_first and not _SAYS.search(own) and not own.rstrip().endswith(_SENTENCE_ENDS) and not has_verb(own)


def _is_title_of(unit: _Unit, page: _Page) -> bool:
    """Return whether a passage is the title of its document: a number in it is that of a model or a version."""
    return bool(own := words(unit.own(page))) and own == words(page.title)


def _placed_names(asked: str) -> list[tuple[int, str]]:
    """Return tokens with a capital that begin no sentence, or with a digit, each with its place; `I` is no name."""
    found = [(match.start(), match.group()) for match in re.finditer(r"\w+", asked)]
    return [(at, word) for at, word in found[1:] if any(map(str.isdigit, word)) or _is_capitalised(asked, at, word)]


def _is_capitalised(asked: str, at: int, word: str) -> bool:
    return word[0].isupper() and word != "I" and not _BEGINS.search(asked, max(0, at - 3), at)


def _units_of(index: int, page: _Page, terms: list[str]) -> list[_Unit]:
    found = []
    for heading, one in page.passages:
        own = _meets(page.text[one.start : one.end], terms)
        adds = one.lead is None or (own > _meets(page.text[slice(*one.lead)], terms)).any()
        if not adds and not (one.is_row or one.is_quoted or one.field or one.leans):
            one = replace(one, lead=None)  # what stands above already says all that this adds
        if one.end - one.start >= SHORTEST:
            text = one.text(page.text)
            meets = own if one.lead is None or not adds else np.maximum(own, LEAD * _meets(text, terms))
            meets = np.maximum(meets, HEADED * _meets(heading, terms))
            found.append(_Unit(index, one, heading, text, meets))
    return found


def _of_clause(number: str, pages: Sequence[_Page], units: Sequence[_Unit]) -> list[_Unit]:
    """Return the passages that begin with the number of a clause, else the first ones below a heading that does."""
    begun = [unit for unit in units if is_clause(number, unit.own(pages[unit.page]))]
    return (begun or [unit for unit in units if is_clause(number, unit.heading)])[:CLAUSES]


def _meets(text: str, terms: list[str]) -> np.ndarray:
    held = set(words(text))
    starts = {prefix(word) for word in held}
    met = [1.0 if t in held else PREFIX_MATCH if _is_met(t, held, starts) else 0.0 for t in terms]
    if any(numbers := [number_of(term) for term in terms]):
        counted = ordinals_in(text)
        met = [max(one, float(number in counted)) for one, number in zip(met, numbers, strict=True)]
    return np.array(met)


def _is_met(term: str, held: set[str], starts: set[str | None]) -> bool:
    """Return whether the word or a form of it is there: same first letters, or an ending (`last`, `lasts`; `dog`)."""
    if term in held:
        return True
    if term[:1].isdigit():
        return False
    start = prefix(term)
    if start is not None:
        return start in starts or any(term.endswith(end) and term[: -len(end)] in held for end in _PLURALS)
    endings = _ENDINGS if len(term) == _SHORT else _PLURALS if len(term) == _SHORTEST_STEM else ()
    return any(term + end in held for end in endings) or (term.endswith("s") and term[:-1] in held)


def _weights(found: list[_Unit], terms: list[str]) -> np.ndarray:
    """Return the IDF of the question's words among the given passages, which needs no corpus; less for weak words."""
    held = np.sum([unit.meets > 0 for unit in found], axis=0) if terms else np.zeros(0)
    idf = [log(1 + (len(found) - n + 0.5) / (n + 0.5)) for n in held]
    return np.array([value * (WEAK if term in _LIGHT else 1.0) for value, term in zip(idf, terms, strict=True)])


def _choose(found: list[_Unit], pages: Sequence[_Page], most: int) -> list[_Unit]:
    def worth(unit: _Unit) -> tuple[float, int, int]:
        window = pages[unit.page].window
        inside = unit.passage.start < window[1] and unit.passage.end > window[0]
        return (-(unit.coverage + IN_WINDOW * inside), unit.page, unit.passage.start)

    return sorted(found, key=worth)[:most]


def _rank(
    asked: str,
    chosen: list[_Unit],
    pages: Sequence[_Page],
    cosines: np.ndarray,
    vectors: np.ndarray,
    fitting: Sequence[float],
    quotes: int,
    led: Collection[str],
) -> tuple[list[int], tuple[float, ...]]:
    """Return the best passages, by maximal marginal relevance: each is good and unlike the ones before it.

    Those of one document follow each other; the best one is the first. The second result are their scores as shares of
    the best one's. A passage that begins or ends in mid-sentence is the first or none. `fitting` has the penalties of
    passages that cannot be the answer. What answers as well as a quote in `led` comes before it.
    """
    scores = np.array([page.hit.score for page in pages])
    spread = float(scores.max() - scores.min()) or 1.0
    of_page = (scores - scores.min()) / spread
    worth = np.array([COVERAGE * u.coverage + PAGE * of_page[u.page] for u in chosen]) + COSINE * cosines
    worth -= CUT_OFF * np.array([not u.passage.is_whole for u in chosen])
    worth -= np.array(fitting)
    worth *= np.where([unit.text in led for unit in chosen] & (worth > 0), EQUALLY_WELL, 1.0)
    likeness = DIVERSITY * vectors @ vectors.T
    page_of = np.array([unit.page for unit in chosen])
    says = [" ".join(unit.text.split()).casefold() for unit in chosen]
    taken: list[int] = []
    free = _in_named_document(asked, chosen, pages, worth)
    while free and len(taken) < quotes:
        cost = np.zeros(len(free))
        if taken:
            again = (page_of[free][:, None] == page_of[taken]).sum(axis=1)
            cost = likeness[np.ix_(free, taken)].max(axis=1) + SAME_PAGE * again
        best = free[int(np.argmax(worth[free] - cost))]
        taken.append(best)
        # The same words on another page add nothing, nor does an item of a list that is quoted whole.
        free = [at for at in free if says[at] != says[best] and not _overlap(chosen[at], chosen[best])]
    first = taken[0]
    shares = {at: float(worth[at] / max(worth[first], 1e-9)) for at in taken} | {first: 1.0}
    taken = [at for at in taken if at == first or (shares[at] >= KEPT_UNSURE and chosen[at].passage.is_whole)]
    documents = [pages[chosen[at].page].hit.doc_id for at in taken]
    taken.sort(key=lambda at: documents.index(pages[chosen[at].page].hit.doc_id))  # stable
    return taken, tuple(shares[at] for at in taken)


def _own_first(
    target: Asked, chosen: Sequence[_Unit], best: list[int], shares: tuple[float, ...], fitting: Sequence[float]
) -> tuple[list[int], tuple[float, ...]]:
    """Return the best passages so that what a mail quotes is never before a value in its own words.

    `No, on the 24th.` has few words of the question, and corrects what is quoted below it.
    """
    first = chosen[best[0]]
    if not first.passage.is_quoted or not is_of_values(target):
        return best, shares
    own = [
        at for at, unit in enumerate(chosen)
        if unit.page == first.page and not unit.passage.is_quoted and not unit.passage.field and fitting[at] <= 0
    ]  # fmt: skip
    if not own:
        return best, shares
    at = max(own, key=lambda one: chosen[one].coverage)
    rest = [(one, share) for one, share in zip(best, shares, strict=True) if one != at]
    return [at, *(one for one, _share in rest)], (1.0, *(share for _one, share in rest))


def _standing_out(cosines: np.ndarray, at: int) -> float:
    """Return by how many standard deviations one of the cosines is above the mean of the others."""
    others = np.delete(cosines, at)
    if not len(others):
        return 0.0
    return float(np.clip((cosines[at] - others.mean()) / (others.std() + NOISE), 0.0, STANDING_OUT))


def _in_named_document(asked: str, chosen: list[_Unit], pages: Sequence[_Page], worth: np.ndarray) -> list[int]:
    """Return the passages of the one document that the question names; all where it names none, or none well."""
    labels = {page.hit.doc_id: set(words(page.label)) for page in pages}
    everything = list(range(len(chosen)))
    if len(labels) < 2:
        return everything
    held, called = set(words(asked)), {name for name in names(asked) if not name[0].isdigit()}
    named = []
    for doc_id, label in labels.items():
        own = {word for word in label if sum(word in other for other in labels.values()) == 1}
        said = {word for word in label if not word[0].isdigit()}
        if called & own or (len(said) > 1 and said <= held):
            named.append(doc_id)
    if len(named) != 1:
        return everything
    inside = [at for at in everything if pages[chosen[at].page].hit.doc_id == named[0]]
    return inside if inside and worth[inside].max() >= NAMED_FROM * worth.max() else everything


def _overlap(one: _Unit, other: _Unit) -> bool:
    if one.page != other.page:
        return False
    return any(a[0] < b[1] and b[0] < a[1] for a in one.passage.spans() for b in other.passage.spans())
