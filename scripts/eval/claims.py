"""Claims written by hand, each with its page: how many the verifier judges rightly, by kind and by language.

`claims.jsonl` beside this script holds short pages in English, Portuguese and Spanish, with claims that they support
(reworded, inflected, reordered, joined, translated, with numbers and units written otherwise) and claims that say more
or something else. They were written before the rules that judge them; one half (`kept back`) was not looked at while
the rules were made. Each claim is checked against all pages of its page's language.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import json_rows

from bench.report import ROOT, write
from docmind.answers import Passage, Verifier
from docmind.documents import PageRecord, Words
from docmind.embedding import TextEmbedder
from docmind.records.documents import ArtifactRef
from docmind.records.search import Hit

BY_HAND = Path(__file__).with_name("claims.jsonl")
HALVES = ("looked at", "kept back")
_NAMES = (("en", "English"), ("pt", "Portuguese"), ("es", "Spanish"))


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
    """Judge every claim, and print the tables here and into docs/evaluation.md.

    `show_misses` names the misses of the half that may be looked at.
    """
    judged = list(judge(embedder, BY_HAND))
    told = in_full(judged)
    print(told)
    write(ROOT / "docs" / "evaluation.md", "claims", told)
    for row in judged if show_misses else ():
        if row.half == HALVES[0] and not row.is_right:
            print(f"{'no support' if row.supported else 'ACCEPTED':10} [{row.kind}] {row.claim}")


def in_full(judged: Sequence[Judged]) -> str:
    """Return the figures as two tables: by half and language, and by kind."""
    lines = ["| claims | false, supported | true, not supported |", "|---|---|---|"]
    for half in HALVES:
        rows = [row for row in judged if row.half == half]
        lines.append(f"| {half} | {_wrong(rows)} |")
        lines += [f"| {half}, {name} | {_wrong([r for r in rows if r.language == code])} |" for code, name in _NAMES]
    lines += ["", "| kind | judged rightly, looked at | kept back |", "|---|---|---|"]
    kinds = dict.fromkeys((row.supported, row.kind) for row in judged)
    for supported, kind in sorted(kinds, key=lambda one: not one[0]):
        members = [row for row in judged if (row.supported, row.kind) == (supported, kind)]
        cells = [_right([row for row in members if row.half == half]) for half in HALVES]
        lines.append(f"| {'true' if supported else 'false'}: {kind} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def judge(embedder: TextEmbedder, file: Path) -> Iterable[Judged]:
    """Yield each claim of a file with the verifier's judgement."""
    rows = json_rows(file)
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
    """Return how many claims were judged wrongly, false ones and true ones, as two cells of a table."""
    true, false = [row for row in rows if row.supported], [row for row in rows if not row.supported]
    accepted, rejected = sum(row.found for row in false), sum(not row.found for row in true)
    return " | ".join(
        f"{wrong} of {len(of)} ({wrong / len(of):.0%})" for wrong, of in ((accepted, false), (rejected, true))
    )


def _right(rows: Sequence[Judged]) -> str:
    return f"{sum(row.is_right for row in rows)} of {len(rows)}" if rows else "-"
