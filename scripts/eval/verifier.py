"""Accuracy of the verifier on written sentences, and a fit of its weights.

Every question of `questions.jsonl` is searched for, and an answer is put together from sentences of the found pages:
verbatim, reworded by rules (`alterations.py`), with altered numbers, names and denials, and from other documents.
`verify.jsonl` beside this script adds rewordings, faults and general knowledge written by hand. Documents are split in
two halves: `fit` prints the weights of coverage, order and cosine for `docmind.answers.support` that fit the first, the
other one tells what they are worth. Sentences written by hand weigh more in the fit than those made by rules, verbatim
ones less: an answer of a language model is a rewording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import alterations as alter
import numpy as np
from harness import Times, json_rows

from docmind.answers.align import Claim
from docmind.answers.sentences import is_row, units
from docmind.answers.support import Evidence, features
from docmind.answers.verify import Passage, Verified, Verifier, leaves_of
from docmind.application import DocMind
from docmind.documents.catalog import Catalog
from docmind.embedding.base import TextEmbedder
from docmind.evaluation import Question
from docmind.records.query import Query
from docmind.records.search import Hit

BY_HAND = Path(__file__).with_name("verify.jsonl")
PAGES = 8
SENTENCES = 8  # of the found pages, for each question
_AND = {"en": "and", "pt": "e", "es": "y"}
WEIGHT_BY_HAND, WEIGHT_VERBATIM = 15.0, 0.25
PASSED_OVER = ("merged", "bullet", "other half", "number:", "unit", "name", "negation")
ANY_TRUE = 0.5  # of the weight of all: as many true as false
RIDGE = 0.3
NUMBERS = ("digit", "scale", "page", "year", "unit")


@dataclass(slots=True)
class Item:
    """One sentence with the expected and the actual result."""

    text: str
    kind: str
    is_true: bool
    document: str
    language: str
    source: str
    origin: tuple[str, int, str] | None = None  # document, page and words that bear it out
    is_supported: bool = False
    is_right: bool = False


@dataclass(slots=True)
class Case:
    """One question's pages with the sentences checked against them."""

    passages: list[Passage]
    items: list[Item] = field(default_factory=list)


def evaluate(docmind: DocMind, questions: Sequence[Question], seed: int, *, show_misses: bool) -> None:
    """Build the set, check it, print the tables."""
    cases = list(_cases(docmind, questions, seed))
    times = _check(cases, docmind.embedder)
    _report([item for case in cases for item in case.items], times, show_misses=show_misses)


def fit(docmind: DocMind, questions: Sequence[Question], seed: int) -> None:
    """Print the weights for `docmind.answers.support`, with and without the text model."""
    x, is_true, weight = _rows(docmind, list(_cases(docmind, questions, seed)))
    for name, columns in (("with the text model", [0, 1, 2]), ("words alone", [0, 1])):
        fitted = _logistic(x[:, columns], is_true, weight)
        says = np.column_stack([np.ones(len(x)), x[:, columns]]) @ fitted > 0
        print(f"{name}: intercept {fitted[0]:.2f}, weights {np.round(fitted[1:], 2)} of {columns}")
        print(f"  {len(x)} rows, right {(says == is_true).mean():.3f}, true found {says[is_true].mean():.3f},")
        print(f"  false found {says[~is_true].mean():.3f}")


def _cases(docmind: DocMind, questions: Sequence[Question], seed: int) -> Iterator[Case]:
    """Make one case for each question, the same at every run."""
    random, catalog = Random(seed), docmind.vault.catalog  # noqa: S311
    corpus = {info.document: catalog.pages_of(info.doc_id) for info in reversed(docmind.documents.all())}
    languages = {info.document: info.language or "es" for info in docmind.documents.all()}
    names = {name: alter.names_of(" ".join(page.text for page in pages)) for name, pages in corpus.items()}
    rows = json_rows(BY_HAND)
    for question in questions:
        hits = docmind.search(Query(question.text, k=PAGES)).hits
        case = Case(_passages(catalog, hits))
        found = {passage.page.page_id for passage in case.passages}
        sentences = [(passage, text) for passage in case.passages for text in _sentences(passage.page.text)]
        picked = random.sample(sentences, min(SENTENCES, len(sentences)))
        for number, (passage, text) in enumerate(picked):
            language = passage.page.language if passage.page.language in ("en", "pt", "es") else "en"
            document = passage.hit.document
            others = alter.names_of(passage.page.text) if number % 2 else names[random.choice(sorted(names))]
            for kind, is_true, changed in _forms(text, picked[number - 1], passage, language, others, random):
                origin = (document, passage.page.page_no, text) if is_true else None
                case.items.append(Item(changed, kind, is_true, document, language, passage.page.text_source, origin))
        for _ in range(3):
            name = random.choice([name for name in sorted(corpus) if name != question.document])
            page = random.choice(corpus[name])
            if page.page_id not in found and (candidates := _sentences(page.text)):
                text = random.choice(candidates)
                case.items.append(Item(text, "other document", False, question.document, languages[name], "layer"))
                if picked and len(text) < 200:
                    half = f"{picked[0][1].rstrip('.')}, and {text}"
                    case.items.append(Item(half, "other half", False, question.document, languages[name], "layer"))
        told = _runs(" ".join(passage.page.text for passage in case.passages))
        for page in random.sample(own := corpus[question.document], min(6, len(own))):
            strange = [text for text in _sentences(page.text) if len(_runs(text) & told) < 0.4 * len(_runs(text))]
            if page.page_id not in found and strange:
                text, language = random.choice(strange), languages[question.document]
                case.items.append(Item(text, "other page", False, question.document, language, page.text_source))
        for row in rows:
            if row["doc"] == question.document and (row["page"] in question.pages or not row["page"]):
                page = next((p for p in case.passages if p.page.page_no == row["page"]), None)
                if row["page"] and page is None:
                    continue
                source = page.page.text_source if page else "layer"
                origin = (row["doc"], row["page"], "") if row["supported"] else None
                kind = f"by hand: {row['kind']}"
                case.items.append(Item(row["text"], kind, row["supported"], row["doc"], row["lang"], source, origin))
        rows = [row for row in rows if not any(row["text"] == item.text for item in case.items)]
        yield case
    if rows:
        print(f"{len(rows)} sentences written by hand were left out: their page was not found")


def _passages(catalog: Catalog, hits: Sequence[Hit]) -> list[Passage]:
    pages = catalog.pages((hit.doc_id, hit.page_no) for hit in hits)
    found = []
    for hit in hits:
        page = pages[hit.doc_id, hit.page_no]
        start = page.text.find(hit.text)
        found.append(Passage(hit, page, start, start + len(hit.text)))
    return found


def _sentences(text: str) -> list[str]:
    """Return the text's sentences and table rows."""
    found = []
    for start, end in units(text):
        said = " ".join(text[start:end].split())
        letters = sum(len(word) > 2 and word.isalpha() for word in said.split())
        if 45 <= len(said) <= 300 and letters >= 6 and said.endswith(".") and said[0].isupper() and not is_row(said):
            found.append(said)
    return found


def _runs(text: str) -> set[tuple[str, ...]]:
    words = text.lower().split()
    return set(zip(words, words[1:], words[2:], strict=False))


def _forms(
    text: str, other: tuple[Passage, str], passage: Passage, language: str, names: list[str], random: Random
) -> Iterator[tuple[str, bool, str]]:
    def numbered(kind: str) -> str | None:
        return alter.other_number(text, kind, passage.page.text, random)

    makers: list[tuple[str, bool, Callable[[], str | None]]] = [
        ("verbatim", True, lambda: text),
        ("bullet", True, lambda: f"- {text}"),
        ("lead-in", True, lambda: alter.led_in(text, language, random)),
        ("shortened", True, lambda: alter.shortened(text)),
        ("reordered", True, lambda: alter.reordered(text)),
        ("numbers rewritten", True, lambda: alter.renumbered(text, language)),
        ("other words", True, lambda: alter.in_other_words(text)),
        ("merged", True, lambda: f"{text.rstrip('.')}, {_AND[language]} {other[1]}"),
        *((f"number: {kind}", False, lambda kind=kind: numbered(kind)) for kind in NUMBERS),
        ("name", False, lambda: alter.other_name(text, names, random)),
        ("negation", False, lambda: alter.denied(text, language)),
    ]  # fmt: skip
    for kind, is_true, make in makers:
        changed = make()
        if changed is not None and (is_true or changed not in " ".join(passage.page.text.split())):
            yield kind, is_true, changed


def _check(cases: Sequence[Case], embedder: TextEmbedder) -> Times:
    """Check ten sentences as one answer. Returns the durations of the answers."""
    embedder.warm()
    verifier, times = Verifier(embedder), Times()
    for case in cases:
        for at in range(0, len(case.items), 10):
            items = case.items[at : at + 10]
            text = "\n\n".join(item.text for item in items)
            with times.one():
                verified = verifier.verify(text, case.passages, epoch=1)
            _judge(items, verified)
    return times


def _judge(items: Sequence[Item], verified: Verified) -> None:
    """Check items as paragraphs of one answer, in order; one is supported if every claim in it is."""
    sentences = iter(verified.sentences)
    one = next(sentences, None)
    for item in items:
        wanted = item.text.removeprefix("- ")
        said, all_supported, cited = "", True, set()
        while one is not None and len("".join(said.split())) < len("".join(wanted.split())) - 8:
            said += one.text
            all_supported = all_supported and one.supported
            cited |= set(one.sources)
            one = next(sentences, None)
        item.is_supported = all_supported and bool(cited)
        if item.is_supported and item.origin:
            document, page_no, words = item.origin
            right = " ".join(words.split())
            item.is_right = any(
                (source.document == document and source.page_no == page_no and not words)
                or " ".join(source.quote.split()) in right
                or right in " ".join(source.quote.split())
                or (source.page_no == page_no and right[:30] in " ".join(source.quote.split()))
                for source in verified.sources
                if source.n in cited
            )


def _report(items: list[Item], times: Times, *, show_misses: bool) -> None:
    halves = _halves(items)
    rows: dict[str, list[Item]] = {"all": items}
    rows |= {f"half {name}": [item for item in items if item.document in half] for name, half in halves.items()}
    rows |= {f"language {code}": [item for item in items if item.language == code] for code in ("en", "pt", "es")}
    rows |= {f"text from {source}": [item for item in items if item.source == source] for source in ("layer", "ocr")}
    rows["by hand"] = [item for item in items if item.kind.startswith("by hand")]
    rows["by rules"] = [item for item in items if not item.kind.startswith("by hand")]
    print(
        f"{'row':20} {'true':>5} {'false':>5} {'precision':>9} {'recall':>7} {'place':>6} {'numbers':>8} {'names':>6}"
        f" {'denials':>8} {'foreign':>8}"
    )
    for name, row in rows.items():
        true, supported = [i for i in row if i.is_true], [i for i in row if i.is_supported]
        print(
            f"{name:20} {len(true):5} {len(row) - len(true):5} {_share(supported, lambda i: i.is_true):9}"
            f" {_share(true, lambda i: i.is_supported):>7}"
            f" {_share([i for i in true if i.is_supported], lambda i: i.is_right):>6}"
            f" {_caught(row, 'number', 'unit'):>8} {_caught(row, 'name'):>6} {_caught(row, 'negation'):>8}"
            f" {_caught(row, 'other document', 'general'):>8}"
        )
    print(f"\n{'kind':26} {'n':>5} {'judged rightly':>15}")
    for kind in dict.fromkeys((item.kind, item.is_true) for item in items):
        members = [item for item in items if (item.kind, item.is_true) == kind]
        print(f"{kind[0]:26} {len(members):5} {_share(members, lambda i: i.is_supported == i.is_true):>15}")
    print(f"\none answer of ten sentences: {times}, mean {sum(times) / len(times):.0f} ms")
    for item in items if show_misses else ():
        if item.is_supported != item.is_true or (item.is_true and not item.is_right):
            fault = (
                "no support" if item.is_true and not item.is_supported else "elsewhere" if item.is_true else "ACCEPTED"
            )
            print(f"{fault:10} [{item.kind}] {item.document} {item.text}")


def _halves(items: Sequence[Item]) -> dict[str, set[str]]:
    """Split documents for fitting and for testing: every other one by name."""
    documents = sorted({item.document for item in items})
    return {"fitted": set(documents[::2]), "kept back": set(documents[1::2])}


def _caught(items: Sequence[Item], *kinds: str) -> str:
    altered = [i for i in items if not i.is_true and i.kind.removeprefix("by hand: ").startswith(kinds)]
    return _share(altered, lambda i: not i.is_supported)


def _share(items: Sequence[Item], says: Callable[[Item], bool]) -> str:
    return f"{sum(map(says, items)) / len(items):.3f}" if items else "-"


def _rows(docmind: DocMind, cases: Sequence[Case]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features of the best span of each sentence of the first half, whether it is true, and its weight."""
    fitted = _halves([item for case in cases for item in case.items])["fitted"]
    x, truths, weights = [], [], []
    for case in cases:
        items = [item for item in case.items if item.document in fitted]
        evidence = Evidence(docmind.embedder, leaves_of(case.passages))
        evidence.limit = 100_000
        claims = [Claim(item.text.removeprefix("- ")) for item in items]
        for item, (spans, _) in zip(items, evidence.candidates(claims), strict=True):
            is_gated = item.kind.removeprefix("by hand: ").startswith(PASSED_OVER)
            if is_gated or not spans:
                continue
            if all(span.cosine is None for span in spans):
                continue  # certain by its words: no weights decide
            x.append(max((features(span) for span in spans), key=lambda row: row[0] + 0.3 * row[1] + 0.7 * row[2]))
            truths.append(item.is_true)
            weights.append(
                WEIGHT_BY_HAND
                if item.kind.startswith("by hand")
                else WEIGHT_VERBATIM
                if item.kind == "verbatim"
                else 1.0
            )
    return np.array(x), np.array(truths), np.array(weights)


def _logistic(x: np.ndarray, is_true: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return intercept and weights by Newton's method, with equal weight for true and false."""
    weight = weight / np.where(is_true, weight[is_true].sum(), weight[~is_true].sum()) * len(x) * ANY_TRUE
    rows = np.column_stack([np.ones(len(x)), x])
    ridge = RIDGE * np.diag([0.0, *np.ones(x.shape[1])])
    beta = np.zeros(rows.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-rows @ beta))
        gradient = rows.T @ (weight * (is_true - p)) - ridge @ beta
        beta = beta + np.linalg.solve((rows * (weight * p * (1 - p))[:, None]).T @ rows + ridge, gradient)
    return beta
