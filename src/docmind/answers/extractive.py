"""Extractive answers, without a language model: the sentences of the pages that best match the question, verbatim.

An estimate says whether the documents answer the question at all.

Above 500 lines: choice, order and confidence are worked out from one set of passages and one matrix of vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, sqrt

import numpy as np

from docmind.answers import fitted
from docmind.answers.comparisons import COMPARES, MAY_COMPARE, likelihood, side_by_side
from docmind.answers.compound import parts_of
from docmind.answers.corrections import Exchanges, earlier_of, numbered
from docmind.answers.evidence import (
    By,
    Comparison,
    Judge,
    Page,
    Question,
    Unit,
    asked_part,
    asked_words,
    asking_part,
    compare,
    has_all,
    is_foreign,
    is_told,
    read_question,
    shares_of,
    units_of,
)
from docmind.answers.extremes import most_extreme
from docmind.answers.kinds import asked_of, is_clause, is_echo, without_mail_words
from docmind.answers.newest import EQUALLY_WELL, day_in, day_of_heading, wishes_newest, without_wish
from docmind.answers.order import by_document, order_of, own_first
from docmind.answers.passages import Passage, code_passages, edges, headed_passages, passages
from docmind.answers.verify import MAYBE, Verified, page_source, quoted
from docmind.answers.versions import Earlier, lead_of, most_alike, superseded, without
from docmind.config import AnswerSettings
from docmind.documents import Catalog, PageRecord, PassageVectors, Words
from docmind.embedding import (
    PassageReaders,
    TextEmbedder,
    VectorCache,
    is_measured,
    is_multilingual,
    name_of,
    of_many_languages,
    words,
)
from docmind.errors import DamagedError, DocMindError
from docmind.records.answers import Outcome, Source
from docmind.records.documents import DocumentInfo, Provenance
from docmind.records.search import Degraded, Filters, Hit, SearchResult
from docmind.wording import _, language_name, ngettext

PAGES = 8  # read for quotes
CANDIDATES = 32  # passages embedded for a question, beside those with kept vectors: 3-5 ms each on one core
CLOSELY = 64  # passages that are read closely, of those with a vector
CANDIDATES_OF_PART = 16  # of each part of a question in two parts, so that both cost little more than one question
JUDGED = 24  # passages that the passage reader reads with the question; half of them of each of two parts
JUDGEMENTS = 256  # of the last questions: one is compared up to four times for its parts and for versions
KEPT = 4_096  # vectors of passages that are kept in memory: 12 MB of both text models, the passages of 300 pages
IN_WINDOW = 0.3  # preference for passages of the page's best window when candidates are chosen
OF_PAGE = 0.6  # and for those of the best pages
CLAUSE_FOUND = 0.9  # probability that the clause of the number that is asked for answers
CLAUSES = 4  # passages of such clauses that count
LOOKED_UP, LOOKED_THROUGH = 3, 400  # documents, and pages of each, in which such a clause is looked for
LED = 1.0  # taken from the score, a logarithm of odds, of what led the previous answer
_FIRST_OF_ALL = 1e3  # added to the score of what is looked up
OF_MANY = sqrt(3) / 2  # the scale of cosines of the pair of text models
KEPT_FROM = 0.1  # of the best probability: quotes below it add nothing (ADR 0143)
LEAD_NEAR = 300  # characters: a header or lead-in farther above its row is quoted without being highlighted
ONLY_OLDER = 0.1  # by how much surer an earlier version must be to be quoted in place of the newest one
_SENTENCE_ENDS = (".", "!", "?")
_OUTCOMES: tuple[Outcome, ...] = ("not found", "maybe", "answer")  # the surer, the later
_KIND_OF_FILE = frozenset(
    """document file pdf paper report article book text txt docx csv xlsx xls md documento ficheiro arquivo relatorio
    artigo livro texto archivo fichero informe articulo libro my our meu minha mi mis nuestro""".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Extract:
    """Sources in citation order, and the probability that the first of them answers the question.

    `degraded` says what was missing, beside what the search has said. `languages` are those of the pages where these
    were found across languages. `earlier` has what earlier versions of the first source's document say in its place;
    their sources are numbered after the others. `leading` is how many of the first sources are the answer together:
    one of each part of a question with two. `ranked` are the passages of all pages found, where they were ranked for
    the whole question.
    """

    sources: tuple[Source, ...]
    confidence: float
    outcome: Outcome = "not found"
    degraded: tuple[Degraded, ...] = ()
    languages: tuple[str, ...] = ()
    earlier: tuple[Earlier, ...] = ()
    leading: int = 1
    ranked: Ranked | None = field(default=None, repr=False, compare=False)

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
class Ranked:
    """Passages in citation order, each with its page and its probability among all that were compared.

    `certainty` are the numbers of `evidence.CERTAINTY`, which count by `certain_by`: by words alone where nobody knows
    what the cosines of a model mean. `is_told` is `evidence.is_told` of the first passage. `clauses` is how many
    documents have a clause of the number that is asked for. `compared` are all passages that were compared, in the
    order of `comparison`.
    """

    quotes: tuple[tuple[Page, Unit], ...]
    shares: tuple[float, ...]
    certainty: np.ndarray
    certain_by: By
    is_told: bool
    comparison: Comparison
    compared: tuple[tuple[Page, Unit], ...]
    odds: np.ndarray
    vectors: np.ndarray | None = None
    clauses: int = 0
    languages: tuple[str, ...] = ()
    degraded: tuple[Degraded, ...] = ()

    def confidence(self) -> float:
        """Return the probability that the documents are about what is asked."""
        return CLAUSE_FOUND if self.clauses else self._probability(fitted.FOUND)

    def first_confidence(self) -> float:
        """Return the probability that the first passage does; of clauses of several documents any may be meant."""
        if self.clauses:
            return CLAUSE_FOUND if self.clauses == 1 else 1 - CLAUSE_FOUND
        return self._probability(fitted.FIRST)

    def _probability(self, weights: Mapping[tuple[By, Judge], fitted.Logistic]) -> float:
        intercept, slopes = weights[self.certain_by, self.comparison.judge]
        return 1 / (1 + exp(-float(np.clip(intercept + self.certainty @ np.array(slopes), -50.0, 50.0))))

    def sides(self) -> tuple[tuple[Page, Unit], ...]:
        """Return the passages of the two things that a question compares; none where no two go together."""
        if self.vectors is None:
            return ()
        documents = [page.hit.doc_id for page, _unit in self.compared]
        order = side_by_side([unit for _page, unit in self.compared], documents, self.odds, self.vectors)
        return tuple(self.compared[at] for at in order)

    def sources(self, kept_from: float = 0.0) -> tuple[Source, ...]:
        """Return the first passage and those whose probability is at least this share of the best one's as sources."""
        least = kept_from * max(self.shares)
        kept = [one for at, one in enumerate(self.quotes) if at == 0 or self.shares[at] >= least]
        return numbered([_source_of(one) for one in kept])


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
        vectors: PassageVectors | None = None,
        readers: PassageReaders | None = None,
        judgements: VectorCache | None = None,
    ) -> None:
        """Set up; passages with a line of which OCR is less sure than `least_certainty`, 0..1, are not quoted.

        `vectors` are those of passages that the library keeps, where it keeps any; `read` has those of others that were
        read before, and is created where none is given. `readers` judge the best passages; `judgements` has
        their last ones.
        """
        self._readers = readers or PassageReaders()
        self._vectors = vectors
        self._read = read or VectorCache(KEPT, "passages")
        self._judgements = judgements or VectorCache(JUDGEMENTS, "judgements")
        self._settings, self._catalog, self._embedder = settings, catalog, embedder
        self._exchanges = Exchanges(catalog)
        self._least_certainty = least_certainty

    def without_threshold(self) -> Extractive:
        """Return one that quotes pages whatever its confidence, for pages that a question itself points to."""
        settings = self._settings.model_copy(update={"threshold": 0.0})
        return Extractive(
            settings,
            self._catalog,
            self._embedder,
            least_certainty=self._least_certainty,
            read=self._read,
            vectors=self._vectors,
            readers=self._readers,
            judgements=self._judgements,
        )

    def warm(self) -> None:
        """Load the passage reader of English, where there is one. Raises what `PassageReader.scores` raises.

        That of other languages is loaded by the first question that it reads: many libraries have none.
        """
        if self._readers.english is not None:
            self._readers.english.warm()

    def drop(self) -> None:
        """Drop what is kept in memory of passages, because a document is erased."""
        self._read.drop()
        self._judgements.drop()

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

        Embeds `CANDIDATES` passages at most, beside those with kept vectors. Without pages: no quotes, confidence 0.
        What answers as well as a quote in `led`, those that led the previous answer, comes before it.

        Of several versions of a document the newest one is quoted, unless only an earlier one answers. What a later
        mail of an exchange corrects is quoted as it is corrected, where `filters` allow that mail. The two parts of a
        question are answered by themselves, where the pages answer both, and a quote of each is all that is returned,
        unless `led` tells that more is asked for. Behind the first quote of a question that compares two things stand
        those of both, also of an earlier version of a document. With `newest_first`, or where the question asks for the
        newest, the newest of the passages that answer equally well comes first.
        """
        is_newest = newest_first or wishes_newest(question)
        usual = self._of_parts(question, found, led, filters, is_newest=is_newest)
        if usual is None:
            usual = self._corrected(question, self._newest(question, found, led, newest_first=is_newest), filters)
        if self._settings.quotes == 1 or is_newest or usual.earlier or not usual.sources:
            return usual
        is_sure, has_parts = usual.outcome == "answer", usual.leading > 1
        if is_sure and has_parts:
            return usual
        likely = self._likelihood_of_two(question, found)
        if likely < (COMPARES if is_sure or has_parts else MAY_COMPARE):
            return usual
        return self._with_sides(usual, question, found, led)

    def _of_parts(
        self, question: str, found: SearchResult, led: Collection[str], filters: Filters, *, is_newest: bool
    ) -> Extract | None:
        """Return the quotes of the two parts of a question; None where it has none, or the pages do not answer both."""
        parts = parts_of(question) if self._settings.quotes > 1 else None
        each = list[Extract]()
        for part in parts or ():
            newest = self._newest(part, found, led, CANDIDATES_OF_PART, newest_first=is_newest)
            each.append(self._corrected(part, newest, filters))
            if not each[-1].sources:
                return None
        return _joined(each, self._settings.quotes, is_more=bool(led)) if each else None

    def _likelihood_of_two(self, question: str, found: SearchResult) -> float:
        """Return the probability that a question compares two things; 0 where no text model tells."""
        if found.nearest_cosine is None or not is_measured(self._embedder) or not is_multilingual(self._embedder):
            return 0.0
        try:
            vector = of_many_languages(self._embedder, self._asked(question))
        except (DocMindError, OSError, RuntimeError):  # which `rank` has told
            return 0.0
        return likelihood(question, vector) if vector is not None else 0.0

    def _with_sides(self, usual: Extract, question: str, found: SearchResult, led: Collection[str]) -> Extract:
        """Return the usual quotes with those of both sides of a comparison behind what leads, as sure as they are."""
        ranked = usual.ranked or self.rank(question, found, led)
        sides = ranked.sides() if ranked is not None else ()
        if ranked is None or not sides:
            return usual
        firsts = usual.sources[: usual.leading]
        kept = numbered([*firsts, *map(_source_of, sides), *usual.sources])[: self._settings.quotes]
        degraded = tuple(dict.fromkeys((*usual.degraded, *ranked.degraded)))
        languages = usual.languages if usual.outcome == "answer" else ranked.languages or usual.languages
        return replace(usual, sources=kept, degraded=degraded, languages=languages)

    def _asked(self, question: str) -> np.ndarray:
        """Return the vector `(dim,)` of a question. Raises what the text model raises."""
        embedder = self._embedder
        return self._read.get(f"{embedder.fingerprint}:question", question, lambda: embedder.embed_query(question))

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
        newest = replace(newest, ranked=every.ranked)
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
        if ranked is None:
            return Extract((), 0.0)
        confidence = ranked.first_confidence()
        if ranked.confidence() < self._settings.threshold:
            return Extract((), confidence, degraded=ranked.degraded)
        is_sure = confidence >= self._settings.sure and ranked.is_told
        is_sure = is_sure and not ranked.languages  # of a quote in another language is said in which one
        outcome: Outcome = "answer" if is_sure else "maybe"
        sources = ranked.sources(KEPT_FROM)
        return Extract(
            sources, confidence, outcome, degraded=ranked.degraded, languages=ranked.languages, ranked=ranked
        )

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

        `candidates` is how many passages without a kept vector are embedded at most. With `newest_first` those that
        answer as well as the best one come before others, the newest first.
        """
        pages = self._pages(found.ranked_by_words[:PAGES])
        asking = asking_part(question)
        asked, target = asked_part(question), asked_of(asking)
        terms = asked_words(asked)
        fields = [target.field] if target.field and _has_field(target.field, pages) else []
        if fields:
            terms = without_mail_words(terms)
        if newest_first:
            terms = without_wish(terms)
        units = [unit for at, page in enumerate(pages) for unit in units_of(at, page, terms)]
        units = [
            unit for unit in units
            if not is_echo(target, unit.own(pages[unit.page]))
            and (unit.passage.field not in _HEADER or unit.passage.field in fields)  # it stands above the mail as well
        ]  # fmt: skip
        led_by: list[Unit] = []  # passages that are looked up, not compared
        clauses: list[Unit] = []
        if target.clause:
            clauses = _of_clause(target.clause, pages, units) or self._looked_up(target.clause, pages, units, terms)
        if not units:
            return None
        read = read_question(asked, target, terms, units)
        vectors, cosines, is_known, degraded = self._cosines(
            question, read, units, pages, found.nearest_cosine, candidates
        )
        led_by += clauses + [unit for unit in units if unit.passage.field and unit.passage.field in fields]
        chosen = [at for at, unit in enumerate(units) if is_known[at] or unit in led_by]
        there, cosines = [units[at] for at in chosen], cosines[chosen]
        has_model = found.nearest_cosine is not None and not degraded
        by: By = "words" if not has_model else "many" if is_multilingual(self._embedder) else "english"
        weights = fitted.PASSAGE[by]

        def likely(quick: np.ndarray) -> list[int]:
            first = np.argsort(-(quick @ np.array(weights)), kind="stable")[: max(CLOSELY, candidates)].tolist()
            return first + [at for at, unit in enumerate(there) if unit in led_by and at not in first]

        comparison, compared = compare(read, there, pages, cosines, by, found.nearest_cosine or 0.0, likely)
        scores = comparison.scores(weights)
        most = JUDGED if candidates > CANDIDATES_OF_PART else JUDGED // 2
        comparison, unread = self._judged(asking, comparison, compared, pages, scores, most)
        degraded += unread
        scores = self._with_judged(comparison, scores)
        odds = scores = scores - LED * np.array([unit.text in led for unit in compared])
        shares = shares_of(scores)
        scores = scores + _FIRST_OF_ALL * np.array([unit in led_by for unit in compared])
        order = order_of(compared, scores, self._settings.quotes)
        proof = order[0]  # of statements of one form any shows that there are such
        order = own_first(target, compared, order, comparison, scores)
        if target.kind == "extreme" and not newest_first:
            at = most_extreme(asked, [one.own(pages[one.page]) for one in compared], [one.coverage for one in compared])
            order = [at, *(one for one in order if one != at)][: len(order)] if at is not None else order
        if newest_first:
            own = self._with_judged(comparison, comparison.scores(weights, with_pages=False))
            order = self._newest_of(compared, pages, own, order)
        order = by_document(order, compared, pages)
        first = compared[order[0]]
        row_of = {id(unit): at for at, unit in enumerate(units)}
        many = (
            of_many_languages(self._embedder, vectors[[row_of[id(unit)] for unit in compared]]) if has_model else None
        )
        return Ranked(
            tuple((pages[compared[at].page], compared[at]) for at in order),
            tuple(float(shares[at]) for at in order),
            comparison.certainty(shares, proof),
            by if is_measured(self._embedder) else "words",
            is_told(asking, first, pages[first.page], comparison.evidence[order[0]]),
            comparison,
            tuple((pages[unit.page], unit) for unit in compared),
            odds,
            many,
            clauses=len({pages[unit.page].hit.doc_id for unit in clauses}),
            languages=_languages(read, [pages[compared[at].page] for at in order]),
            degraded=degraded,
        )

    def _cosines(
        self,
        question: str,
        read: Question,
        units: Sequence[Unit],
        pages: Sequence[Page],
        nearest: float | None,
        most: int,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[Degraded, ...]]:
        """Return the vector of each passage and its cosine with the question, which are known, and what failed.

        Without a text model all are 0 and known. Of passages without a kept vector the best `most` by words, window and
        page are embedded. Passages in another language are compared by the model of many languages alone.
        """
        nothing = np.zeros((len(units), self._embedder.dim)), np.zeros(len(units)), np.ones(len(units), bool)
        if nearest is None:
            return *nothing, ()
        texts = [" ".join(unit.text.split()) for unit in units]
        embedder, fingerprint = self._embedder, self._embedder.fingerprint
        try:
            vectors, is_known = self._kept(fingerprint, texts, units, pages)
            new = [at for at in _likely(units, pages) if not is_known[at]][:most]
            if new:
                vectors[new] = self._read.rows(fingerprint, [texts[at] for at in new], embedder.embed_documents)
                is_known[new] = True
            asked = self._asked(question)
            cosines = vectors @ asked
            other = np.array([is_foreign(read.language, pages[unit.page]) for unit in units])
            many, of_many = of_many_languages(embedder, vectors), of_many_languages(embedder, asked)
            if many is not None and of_many is not None and other.any():
                scale = 1.0 if many.shape[1] == embedder.dim else OF_MANY
                cosines = np.where(other, scale * (many @ of_many), cosines)
            return vectors, cosines, is_known, ()
        except (DocMindError, OSError, RuntimeError) as error:
            told = _("the text model cannot be used: {error}").format(error=error)
            return *nothing, (Degraded("dense", told),)

    def _judged(
        self,
        asked: str,
        comparison: Comparison,
        units: Sequence[Unit],
        pages: Sequence[Page],
        scores: np.ndarray,
        most: int,
    ) -> tuple[Comparison, tuple[Degraded, ...]]:
        """Return the comparison with what the passage reader says of the `most` best passages, and what failed.

        That of English reads no passage on a page that is known to be in another language: such a one has the middle of
        its logits, and one that is not among the best the least. Beside a text model of English alone nothing is known
        of what that of other languages says.
        """
        is_english = comparison.is_english
        reader = self._readers.english if is_english else self._readers.others
        if reader is None or (not is_english and comparison.by == "english"):
            return comparison, ()
        is_other = np.array([is_english and is_foreign("en", pages[unit.page]) for unit in units])
        best = [at for at in np.argsort(-scores, kind="stable") if not is_other[at]][:most]
        if not best:
            return comparison, ()
        texts = [units[at].subject(pages[units[at].page]) for at in best]
        try:
            key = f"{reader.fingerprint}:{asked}"
            found = self._judgements.rows(key, texts, lambda some: reader.scores(asked, some))
        except (DocMindError, OSError, RuntimeError) as error:
            told = _("the passage reader cannot be used: {error}").format(error=error)
            return comparison, (Degraded("passage reader", told),)
        judged = np.where(is_other, np.median(found), found.min()).astype(np.float64)
        judged[best] = found
        is_judged = np.zeros(len(units), bool)
        is_judged[best] = True
        return replace(comparison, judged=judged, is_judged=is_judged), ()

    @staticmethod
    def _with_judged(comparison: Comparison, scores: np.ndarray) -> np.ndarray:
        """Return scores `(n,)` with what the passage reader says, where one read some passages."""
        if comparison.judge == "none":
            return scores
        return comparison.with_judged(scores, fitted.JUDGED[comparison.by, comparison.judge])

    def _kept(
        self, fingerprint: str, texts: Sequence[str], units: Sequence[Unit], pages: Sequence[Page]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the vectors of passages that are kept, zeros for others, and which these are."""
        vectors, is_known = np.zeros((len(texts), self._embedder.dim), np.float32), np.zeros(len(texts), bool)
        if self._vectors is None:
            return vectors, is_known
        places = [(page.hit.doc_id, page.hit.page_no) for page in pages]
        kept = self._vectors.of_pages(fingerprint, places)
        for number, place in enumerate(places):
            at = [one for one, unit in enumerate(units) if unit.page == number]
            if at and place in kept:
                is_known[at], vectors[at] = kept[place].rows_of([texts[one] for one in at])
        return vectors, is_known

    def _newest_of(
        self, compared: Sequence[Unit], pages: Sequence[Page], own: np.ndarray, best: Sequence[int]
    ) -> list[int]:
        """Return the best passages so that those that say as much as the first one lead, the newest before others.

        `own` are the scores of all passages without what speaks for their pages.
        """
        known = self._catalog.provenance_of({page.hit.doc_id for page in pages})

        def day(at: int) -> str:
            unit = compared[at]
            page = pages[unit.page]
            of_document = known.get(page.hit.doc_id, Provenance()).dated or day_in(page.label)
            in_row = day_in(unit.own(page)) if unit.passage.is_row else ""
            return in_row or day_of_heading(unit.heading) or of_document

        alike = [
            at for at, unit in enumerate(compared)
            if (at in best or unit.passage.is_whole) and own[at] >= own[best[0]] - EQUALLY_WELL
        ]  # fmt: skip
        newest = max(alike, key=lambda at: (day(at), own[at]), default=best[0])
        first = sorted({newest, *(at for at in best if at in alike)}, key=lambda at: (day(at), own[at]), reverse=True)
        return [*first, *(at for at in best if at not in first)][: len(best)]

    def _looked_up(self, number: str, pages: list[Page], units: list[Unit], terms: list[str]) -> list[Unit]:
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
        more = [unit for at, page in enumerate(pages[begin:], begin) for unit in units_of(at, page, terms)]
        units += more
        return _of_clause(number, pages, more)

    def _pages(self, hits: Sequence[Hit]) -> list[Page]:
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
            pages.append(Page(hit, record, labels[hit.doc_id], window, placed, tuple(found)))
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


def _source_of(quote: tuple[Page, Unit]) -> Source:
    """Return a passage as a source, which is numbered later."""
    page, unit = quote
    return source_of(1, page.record, page.hit.document, unit.passage, page.words)


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


def is_named(topic: str, name: str) -> bool:
    """Return whether a document's name has every word of a topic, or a form of it; not where the topic has none."""
    asked = [word for word in words(topic) if word not in _KIND_OF_FILE] or words(topic)
    return bool(asked) and has_all(name, asked)


_HEADER = frozenset(("From", "To", "Cc", "Bcc", "Date", "Subject", "Attachments"))


def _has_field(name: str, pages: Sequence[Page]) -> bool:
    return any(one.field == name for page in pages for _heading, one in page.passages)


def _of_clause(number: str, pages: Sequence[Page], units: Sequence[Unit]) -> list[Unit]:
    """Return the passages that begin with the number of a clause, else the first ones below a heading that does."""
    begun = [unit for unit in units if is_clause(number, unit.own(pages[unit.page]))]
    return (begun or [unit for unit in units if is_clause(number, unit.heading)])[:CLAUSES]


def _likely(units: Sequence[Unit], pages: Sequence[Page]) -> list[int]:
    """Return all passages, by index, those first that have more words of the question or stand in a better window."""

    def worth(at: int) -> tuple[float, int, int]:
        unit = units[at]
        page = pages[unit.page]
        inside = unit.passage.start < page.window[1] and unit.passage.end > page.window[0]
        return (-(unit.coverage + IN_WINDOW * inside + OF_PAGE / (1 + unit.page)), unit.page, unit.passage.start)

    return sorted(range(len(units)), key=worth)


def _languages(read: Question, shown: Sequence[Page]) -> tuple[str, ...]:
    """Return the languages of pages where the first of them is not in the question's."""
    if not shown or not is_foreign(read.language, shown[0]):
        return ()
    return tuple(dict.fromkeys(page.hit.language for page in shown if page.hit.language))
