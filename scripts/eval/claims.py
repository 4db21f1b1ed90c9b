"""Claims written by hand, each with its page: how many the verifier judges rightly, by kind and by language.

`claims.jsonl` beside this script holds short pages in English, Portuguese and Spanish, with claims that they support
(reworded, inflected, reordered, joined, translated, with numbers and units written otherwise) and claims that say more or
something else. They were written before the rules that judge them; one half (`kept back`) was not looked at while the
rules were made. Each claim is checked against all pages of its page's language.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from docmind.answers import Passage, Verifier
from docmind.documents import PageRecord, Words
from docmind.embedding import TextEmbedder
from docmind.records.documents import ArtifactRef
from docmind.records.search import Hit

BY_HAND = Path(__file__).with_name("claims.jsonl")
HALVES = ("looked at", "kept back")


@dataclass(frozen=True, slots=True)
class Judged:
    """A written claim, whether its page supports it, and whether the verifier says so."""

    half: str
    language: str
    kind: str
    page: str
    claim: str
    supported: bool
    found: bool

    @property
    def is_right(self) -> bool:
        return self.found == self.supported


def evaluate(embedder: TextEmbedder, *, show_misses: bool) -> None:
    """Judge every claim and print the tables; the misses are those of the half that was looked at."""
    judged = list(judge(embedder, BY_HAND))
    for half in HALVES:
        rows = [row for row in judged if row.half == half]
        print(f"{half}: {len(rows)} claims, {_wrong(rows)}")
        for language in ("en", "pt", "es"):
            print(f"  {language}: {_wrong([row for row in rows if row.language == language])}")
    print(f"\n{'kind':20} {'true':>5} " + " ".join(f"{half:>12}" for half in HALVES))
    for kind, supported in dict.fromkeys((row.kind, row.supported) for row in sorted(judged, key=lambda r: not r.supported)):
        cells = [_right(judged, lambda row, half=half: (row.half, row.kind, row.supported) == (half, kind, supported)) for half in HALVES]
        print(f"{kind:20} {'yes' if supported else 'no':>5} " + " ".join(f"{cell:>12}" for cell in cells))
    for row in judged if show_misses else ():
        if row.half == HALVES[0] and not row.is_right:
            print(f"{'no support' if row.supported else 'ACCEPTED':10} [{row.kind}] {row.claim}")


def judge(embedder: TextEmbedder, file: Path) -> Iterable[Judged]:
    """Yield each claim of a file with the verifier's judgement."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    verifier = Verifier(embedder)
    written = list(dict.fromkeys((row["language"], row["page"]) for row in rows))
    pages = {language: _passages([text for of, text in written if of == language], language) for language, _ in written}
    for row in rows:
        verified = verifier.verify(row["claim"], pages[row["language"]])
        claims = [one for one in verified.sentences if one.is_claim]
        found = bool(claims) and all(one.supported for one in claims)
        yield Judged(row["half"], row["language"], row["kind"], row["page"], row["claim"], row["supported"], found)


def _passages(texts: Sequence[str], language: str) -> list[Passage]:
    image = ArtifactRef("0" * 64, ".webp.enc")
    found = []
    for rank, text in enumerate(texts, 1):
        page = PageRecord(
            doc_id=f"{rank:064x}", page_no=1, width=900, height=600, text=text, words=Words.of([], []).pack(),
            text_source="layer", confidence=1.0, language=language, image=image, thumbnail=image,
        )  # fmt: skip
        hit = Hit(
            rank=rank, score=1.0, document=f"{rank}.txt", doc_id=page.doc_id, page_no=1, page_id=page.page_id,
            modality="text", text=text, node_id="n", language=language, page_width=900, page_height=600,
        )  # fmt: skip
        found.append(Passage(hit, page, 0, len(text)))
    return found


def _wrong(rows: Sequence[Judged]) -> str:
    """Return in words how many claims were judged wrongly, each way."""
    true, false = [row for row in rows if row.supported], [row for row in rows if not row.supported]
    rejected, accepted = sum(not row.found for row in true), sum(row.found for row in false)
    return (
        f"false supported {accepted} of {len(false)} ({accepted / len(false):.0%}), "
        f"false rejected {rejected} of {len(true)} ({rejected / len(true):.0%})"
    )


def _right(rows: Sequence[Judged], belongs: Callable[[Judged], bool]) -> str:
    members = [row for row in rows if belongs(row)]
    return f"{sum(row.is_right for row in members)} of {len(members)}" if members else "-"
