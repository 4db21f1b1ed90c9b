"""Answers of a language model, checked: each sentence is tied to the words of a page that bear it out, or marked.

A sentence is aligned with whole units of the retrieved pages' text. Nothing that a model says about its sources is
believed: its own marks are taken out, and numbers are given anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from docmind.agent.alignment import Leaf
from docmind.agent.draft import Piece, clean, pieces
from docmind.agent.evidence import Evidence
from docmind.catalog import PageRecord
from docmind.embed.contract import TextEmbedder
from docmind.schema import Degraded, Hit, Sentence, Source
from docmind.windows import name_of
from docmind.words import Words

CHECKED = 200  # sentences of one answer; further ones stay without support


@dataclass(frozen=True, slots=True)
class Passage:
    """A hit with its page, and the span of the window in `page.text` that was retrieved."""

    hit: Hit
    page: PageRecord
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Verified:
    """An answer with `[n]` marks after its supported sentences, the sentences, and the sources they name.

    Sources count from 1 in the order of their first mention. `degraded` says where the text model could not be used:
    then words alone decide, and less is found to be supported.
    """

    answer: str
    sentences: tuple[Sentence, ...]
    sources: tuple[Source, ...]
    degraded: tuple[Degraded, ...] = ()


@dataclass(frozen=True, slots=True)
class _Place:
    """A span of a page: an index into the passages, and characters of the page's text."""

    page: int
    start: int
    end: int


class Verifier:
    """Holds answers against pages. Safe from any thread."""

    def __init__(self, embedder: TextEmbedder) -> None:
        self._embedder = embedder

    def verify(self, text: str, passages: Sequence[Passage], *, epoch: int = 0) -> Verified:
        """Check every sentence of `text` (plain or Markdown) against the whole pages of `passages`.

        Embeds at most 160 sentences. `epoch` is what the index was when the passages were found. Raises `DamagedError`
        where the words of a cited page are.
        """
        answer = clean(text)
        found = pieces(answer)
        pages = _pages(passages)
        leaves = leaves_of(passages)
        evidence = Evidence(self._embedder, leaves)
        claims = [at for at, piece in enumerate(found) if piece.is_claim][:CHECKED]
        borne = evidence.of([answer[found[at].start : found[at].end] for at in claims])
        places = {
            at: [_Place(leaves.index(span.leaf), *span.bounds) for span in spans]
            for at, spans in zip(claims, borne, strict=True)
            if spans
        }
        return _assemble(answer, found, places, [group[0] for group in pages], epoch, evidence.degraded)


def quoted(sources: Sequence[Source]) -> Verified:
    """An answer that is made of quotes: one paragraph each, each borne out by itself."""
    sentences, answer = [], ""
    for source in sources:
        start = len(answer) + 2 * bool(answer)
        end = start + len(source.quote)
        sentences.append(Sentence(source.quote, start, end, (source.n,), supported=True))
        answer += f"{chr(10) * 2 if answer else ''}{source.quote} [{source.n}]"
    return Verified(answer, tuple(sentences), tuple(sources))


def _pages(passages: Sequence[Passage]) -> list[list[Passage]]:
    """The passages of each page, pages in the order of their best passage."""
    groups: dict[tuple[str, int], list[Passage]] = {}
    for passage in passages:
        groups.setdefault((passage.page.doc_id, passage.page.page_no), []).append(passage)
    return list(groups.values())


def leaves_of(passages: Sequence[Passage]) -> list[Leaf]:
    """The pages of some passages, each once, ready to be compared; in the order of their best passage."""
    return [
        Leaf(group[0].page, name_of(group[0].hit.document, ""), [(one.start, one.end) for one in group])
        for group in _pages(passages)
    ]


def _assemble(
    answer: str,
    found: Sequence[Piece],
    places: dict[int, list[_Place]],
    pages: Sequence[Passage],
    epoch: int,
    degraded: tuple[Degraded, ...],
) -> Verified:
    merged = _merged([place for group in places.values() for place in group])
    numbers: dict[_Place, int] = {}
    sentences, text, at = [], "", 0
    for index, piece in enumerate(found):
        text += answer[at : piece.start]
        start = len(text)
        said = answer[piece.start : piece.end]
        cited = list(dict.fromkeys(_holder(merged, place) for place in places.get(index, [])))
        of = tuple(numbers.setdefault(place, len(numbers) + 1) for place in cited)
        sentences.append(Sentence(said, start, start + len(said), of, bool(of), piece.is_claim))
        text += said + ("\n" if of and piece.kind == "code" else "") + "".join(f" [{n}]" for n in of)
        at = piece.end
    text += answer[at:]
    sources = tuple(_source(n, pages[place.page], place, epoch) for place, n in numbers.items())
    return Verified(text, tuple(sentences), sources, degraded)


def _merged(places: Sequence[_Place]) -> list[_Place]:
    """Spans of one page that overlap, made one."""
    merged: list[_Place] = []
    for place in sorted(set(places), key=lambda place: (place.page, place.start, place.end)):
        last = merged[-1] if merged else None
        if last and last.page == place.page and place.start < last.end:
            merged[-1] = _Place(last.page, last.start, max(last.end, place.end))
        else:
            merged.append(place)
    return merged


def _holder(merged: Sequence[_Place], place: _Place) -> _Place:
    return next(one for one in merged if one.page == place.page and one.start <= place.start and place.end <= one.end)


def _source(n: int, passage: Passage, place: _Place, epoch: int) -> Source:
    page = passage.page
    return Source(
        n=n,
        document=passage.hit.document,
        doc_id=page.doc_id,
        page_no=page.page_no,
        page_id=page.page_id,
        quote=page.text[place.start : place.end],
        boxes=Words.unpack(page.words).boxes_of(place.start, place.end),
        page_width=page.width,
        page_height=page.height,
        index_epoch=epoch,
        image_artifact_id=page.image.sha256,
        image_artifact_suffix=page.image.suffix,
    )
