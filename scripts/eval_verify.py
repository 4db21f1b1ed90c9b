"""How well written sentences are held against the pages, on a folder of labelled documents.

    .venv/bin/python scripts/eval_verify.py FOLDER [--vault DIR] [--misses]

Every question of `questions.jsonl` is searched for, and an answer is put together from sentences of the found pages:
verbatim, reworded by rules (`eval_alterations.py`), with altered numbers, names and denials, and from other documents.
`eval_verify.jsonl` beside this script adds rewordings, faults and general knowledge written by hand. Documents are
split in two halves: thresholds are fitted on the first (`fit_verify.py`), the other one tells what they are worth.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import eval_alterations as alter
from docmind.agent.sentences import is_row, units
from docmind.agent.verify import Passage, Verified, Verifier
from docmind.application import DocMind
from docmind.catalog import Catalog
from docmind.config import KeySettings, Settings
from docmind.embed.contract import TextEmbedder
from docmind.errors import DocMindError
from docmind.evaluate import Question, read_questions
from docmind.schema import Hit, Upload

BY_HAND = Path(__file__).with_name("eval_verify.jsonl")
PAGES = 8
SENTENCES = 8  # of the found pages, for each question
_AND = {"en": "and", "pt": "e", "es": "y"}
NUMBERS = ("digit", "scale", "page", "year", "unit")


@dataclass(slots=True)
class Item:
    """One sentence with what should be said of it, and then what was."""

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
    """One question's pages with the sentences held against them."""

    passages: list[Passage]
    items: list[Item] = field(default_factory=list)


def main() -> int:
    """Build the set, check it, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--vault", type=Path, help="keep the vault here")
    parser.add_argument("--misses", action="store_true", help="list what was judged wrongly")
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    try:
        questions = read_questions(arguments.folder / "questions.jsonl")
        with tempfile.TemporaryDirectory() as scratch:
            place = arguments.vault or Path(scratch)
            with DocMind(Settings(data_dir=place / "data", keys=KeySettings(file=place / "key"))) as desk:
                add_missing(desk, arguments.folder / "docs")
                cases = list(build(desk, desk._catalog, questions, Random(arguments.seed)))  # noqa: S311
                times = _check(cases, desk._embedder)
    except DocMindError as error:
        print(f"eval_verify: {error} {error.hint}", file=sys.stderr)
        return error.exit_code
    _report([item for case in cases for item in case.items], times, show_misses=arguments.misses)
    return 0


def add_missing(desk: DocMind, docs: Path) -> None:
    """Read what the vault does not have yet."""
    known = {info.document for info in desk.documents() if info.status == "ready"}
    files = [file for file in sorted(docs.iterdir()) if file.is_file() and file.name not in known]
    desk.add((Upload(file.name, file.read_bytes()) for file in files), files_total=len(files))


def build(desk: DocMind, catalog: Catalog, questions: Sequence[Question], random: Random) -> Iterator[Case]:
    """One case for each question, the same at every run."""
    corpus = {info.document: catalog.pages_of(info.doc_id) for info in reversed(desk.documents())}
    languages = {info.document: info.language or "es" for info in desk.documents()}
    names = {name: alter.names_of(" ".join(page.text for page in pages)) for name, pages in corpus.items()}
    rows = [json.loads(line) for line in BY_HAND.read_text("utf-8").splitlines() if line.strip()]
    for question in questions:
        hits = desk.search(question.text, k=PAGES).hits
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
    """What reads as a sentence or a table row."""
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


def _check(cases: Sequence[Case], embedder: TextEmbedder) -> list[float]:
    """Ten sentences make one answer. Returns the milliseconds of each answer."""
    embedder.warm()
    verifier, times = Verifier(embedder), []
    for case in cases:
        for at in range(0, len(case.items), 10):
            items = case.items[at : at + 10]
            text = "\n\n".join(item.text for item in items)
            started = time.perf_counter()
            verified = verifier.verify(text, case.passages, epoch=1)
            times.append((time.perf_counter() - started) * 1000)
            _judge(items, verified)
    return times


def _judge(items: Sequence[Item], verified: Verified) -> None:
    """Paragraphs of the answer are the items, in order; one is supported where every claim in it is."""
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


def _report(items: list[Item], times: list[float], *, show_misses: bool) -> None:
    halves = halves_of(items)
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
    times.sort()
    middle, late = times[len(times) // 2], times[int(len(times) * 0.95)]
    mean = sum(times) / len(times)
    print(f"\none answer of ten sentences: median {middle:.0f} ms, mean {mean:.0f} ms, p95 {late:.0f} ms")
    for item in items if show_misses else ():
        if item.is_supported != item.is_true or (item.is_true and not item.is_right):
            fault = (
                "no support" if item.is_true and not item.is_supported else "elsewhere" if item.is_true else "ACCEPTED"
            )
            print(f"{fault:10} [{item.kind}] {item.document} {item.text}")


def halves_of(items: Sequence[Item]) -> dict[str, set[str]]:
    """Documents that thresholds are fitted on, and those that are kept back: every other one by name."""
    documents = sorted({item.document for item in items})
    return {"fitted": set(documents[::2]), "kept back": set(documents[1::2])}


def _caught(items: Sequence[Item], *kinds: str) -> str:
    altered = [i for i in items if not i.is_true and i.kind.removeprefix("by hand: ").startswith(kinds)]
    return _share(altered, lambda i: not i.is_supported)


def _share(items: Sequence[Item], says: Callable[[Item], bool]) -> str:
    return f"{sum(map(says, items)) / len(items):.3f}" if items else "-"


if __name__ == "__main__":
    sys.exit(main())
