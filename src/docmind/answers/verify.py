"""Verification of a language model's answers: each sentence is tied to the page text that supports it, or marked.

A sentence is aligned with whole units of the retrieved pages' text. The model's own statements about its sources are
not trusted: its marks are removed, and new numbers are assigned. Markdown is kept.

A claim that rests on the image of a page, by the model's own mark, is marked as such and is not supported.

Headings, questions, greetings and "the documents do not say" are separated from claims; in doubt a sentence is a claim.
Above 500 lines: the segmentation of a draft and the answer assembled from it share their spans.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from docmind.answers.align import Leaf
from docmind.answers.kinds import asked_of, holds
from docmind.answers.sentences import ends, shorten
from docmind.answers.statements import keys_of
from docmind.answers.support import Evidence
from docmind.answers.versions import Earlier
from docmind.documents import PageRecord, Words, is_corrected
from docmind.embedding import TextEmbedder, name_of, prefix
from docmind.records.answers import Outcome, Sentence, Source, SourceKind
from docmind.records.documents import Box
from docmind.records.search import Degraded, Hit, PageHit
from docmind.wording import N_

Kind = Literal["prose", "row", "head", "code"]

MAYBE = N_("These passages may answer it:")

_N = r"[1-9]\d{0,3}"
_MARK = re.compile(
    r"[ \t]{0,4}[\[【［]\s{0,3}(?:\^|"
    r"(?:sources?|fontes?|fuentes?|refs?|documentos?|documents?|docs?)\s{0,2}[:#.]?\s{0,2})?"
    rf"{_N}(?:\s{{0,2}}(?:[,;–—-]|and|e|y)\s{{0,2}}(?:sources?\s)?{_N}){{0,40}}(?:†[^\]】］\n]{{0,60}})?\s{{0,3}}[\]】］]"
    r"(?:\([^()\s]{0,300}\))?",
    re.IGNORECASE,
)
_IMAGE_MARK = re.compile(
    r"[ \t]{0,4}[\[(【［]\s{0,3}(?:images?|imagem|imagens|im[áa]gen(?:es)?)\s{0,2}[:#]?\s{0,2}"
    r"(?P<numbers>[1-9](?:\s{0,2}(?:[,;]|and|e|y)\s{0,2}(?:image\s|imagem\s|imagen\s)?[1-9]){0,8})\s{0,3}[\])】］]",
    re.IGNORECASE,
)
_SEEN = "\ufdd0"
"""Stands for image 1 while a draft is cleaned, the next character for image 2. No text holds these noncharacters."""
_SEEN_MARK = re.compile("[\ufdd0-\ufdd8]")
_HIDDEN = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\x00-\x08\x0b-\x1f\x7f]")
_JOINER = re.compile(r"(?<![^\W\d_])[\u200c\u200d]+|[\u200c\u200d]+(?![^\W\d_])")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_RULE = re.compile(r"[\s*_=|:+-]+$")
_LEAD = re.compile(r"\s{0,12}(?:>|[-*+•·▪●‣]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])(?:\s{1,8}\[[ xX]\])?\s{1,8}")
_RULED_CELL = re.compile(r"(?>:?-{2,}:?\s{0,16})+")  # atomic: a run of dashes can be divided in one way only
_LIST_OF_SOURCES = re.compile(
    r"[\s#*_]{0,8}(?:sources|references|citations|fontes|referências|fuentes|referencias)[\s:*_]{0,6}$", re.IGNORECASE
)
_NESTED = 8
_SHORTEST = 16  # characters; `Yes.` belongs to the next sentence

_GREETING = re.compile(
    r"(?:hello|hi|hey|sure|certainly|of course|great question|thank you|thanks|you're welcome|i hope|let me know|"
    r"feel free|please (?:let|note|feel|see|refer)|if you (?:have|need|want|would)|i(?:'m| am) (?:happy|glad)|"
    r"i can help|ol[áa]|claro|obrigad[oa]|espero que|posso ajudar|se (?:precisar|quiser|tiver)|hola|"
    r"por supuesto|gracias|puedo ayudar|si (?:necesita|quiere|tiene))\b",
    re.IGNORECASE,
)
_SILENCE = re.compile(
    r"\b(?:(?:documents?|pages?|passages?|texts?|sources?|excerpts?|context|information|report|contract)\b.{0,40}"
    r"(?:do(?:es)? not|don't|doesn't|did not|didn't|no |nothing|lacks?|cannot|is not|are not)\b.{0,40}"
    r"(?:say|state|mention|contain|provide|specif|include|give|address|answer|discuss|indicate|information|found|enough)|"
    r"(?:i|we) (?:could not|couldn't|cannot|can't|can not|did not|didn't|do not|don't|am unable|was unable)\b.{0,30}"
    r"(?:find|found|see|know|answer|determine|locate|tell|have)|"
    r"(?:i'm|i am) (?:sorry|afraid|unable|not (?:sure|able))|not found in|there is no (?:information|mention|answer)|"
    r"no information (?:is|was|on|about)|"
    r"(?:documentos?|p[áa]ginas?|textos?|trechos?|fontes?|fuentes?|contexto|pasajes?)\b.{0,30}\b(?:n[ãa]o|no|nem|ni)\b.{0,30}"
    r"(?:diz|dizem|menciona|cont[êeé]m|contiene|informa|trata|especific|responde|indica|fornece|proporciona|dicen?)|"
    r"n[ãa]o (?:encontrei|encontramos|h[áa] informa|foi encontrad|sei)|"
    r"no (?:encontr[ée]|encontramos|hay informaci|se encontr|s[ée]\b)|"
    r"lo siento|sinto muito|desculpe)",
    re.IGNORECASE,
)
_BUT = re.compile(
    r"\b(?:but|however|although|though|only|mas|por[ée]m|embora|pero|aunque|sin embargo)\b|;", re.IGNORECASE
)
_ANNOUNCES = re.compile(
    r"\b(?:here (?:is|are|'s)|following|below|as follows|summary|key (?:points|facts|findings)|based on|according to|"
    r"seguintes?|abaixo|resumo|siguientes?|a continuaci[óo]n|resumen|segundo|seg[úu]n|de acordo com|de acuerdo con)\b",
    re.IGNORECASE,
)
_INTERJECTED = re.compile(r"[\w\s'’,!-]{0,40}!$")


@dataclass(frozen=True, slots=True)
class Piece:
    """One sentence, table row or code block of a draft, as a span of it."""

    start: int
    end: int
    kind: Kind
    is_claim: bool


def clean(text: str) -> str:
    """Return the draft without marks such as `[1]`, `[2, 3]`, `【4†x】`, a final source list, and invisible characters.

    Code blocks keep their brackets.
    """
    return _cleaned(text, frozenset())


def clean_seen(text: str, images: Set[int]) -> tuple[str, list[tuple[int, int]]]:
    """Return the clean draft without the marks of `images`, such as `[image 1]`, and each mark's place and number.

    A mark of another image is left as text.
    """
    marked = _cleaned(text, images)
    answer, marks, at = "", [], 0
    for match in _SEEN_MARK.finditer(marked):
        answer += marked[at : match.start()]
        marks.append((len(answer), ord(match.group()) - ord(_SEEN) + 1))
        at = match.end()
    answer += marked[at:]
    cut = len(answer) - len(answer.lstrip())
    return answer.strip(), [(max(0, place - cut), number) for place, number in marks]


def _cleaned(text: str, images: Set[int]) -> str:
    text = _SEEN_MARK.sub("", text)
    text = text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    text = _JOINER.sub("", _HIDDEN.sub("", text))
    lines = text.split("\n")
    _drop_sources(lines)
    kept, fenced = [], False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
        kept.append(line if fenced else _marked(line, images))
    return "\n".join(kept).strip()


def _marked(line: str, images: Set[int]) -> str:
    """Return a line without marks, and with one character in place of each mark of an image."""
    line = _unmarked(_IMAGE_MARK.sub(lambda mark: _seen(mark, images), line))
    bare = _SEEN_MARK.sub("", line)
    return _unmarked(bare) if _MARK.search(bare) else line  # the mark of an image stood inside that of a source


def _seen(mark: re.Match[str], images: Set[int]) -> str:
    """Return one character for each image that a mark names; the mark itself where one of them was not sent."""
    numbers = [int(digit) for digit in re.findall(r"\d", mark["numbers"])]
    return "".join(chr(ord(_SEEN) + n - 1) for n in numbers) if images >= set(numbers) else mark.group()


def pieces(text: str) -> list[Piece]:
    """Return the sentences of a clean draft, in order; they do not overlap."""
    return [piece for piece in _pieces(text) if piece.end > piece.start]


def _unmarked(line: str) -> str:
    for _ in range(_NESTED):  # removing one mark from within another may form a third
        line, count = _MARK.subn("", line)
        if not count:
            return line
    return _MARK.sub("", line.replace("[", "(").replace("]", ")"))


def _drop_sources(lines: list[str]) -> None:
    """Remove a closing section that only lists the sources of the marks."""
    at = len(lines)
    listed = 0
    while at and (not lines[at - 1].strip() or _MARK.match(lines[at - 1].lstrip(" \t-*•0123456789."))):
        at -= 1
        listed += bool(lines[at].strip())
    if at and listed and _LIST_OF_SOURCES.match(lines[at - 1]):
        del lines[at - 1 :]


def _pieces(text: str) -> Iterator[Piece]:
    block: tuple[int, int] | None = None  # the current paragraph or list item
    rows: list[tuple[int, int]] = []
    code = -1
    at = 0
    for line in text.split("\n"):
        start, end = at, at + len(line)
        at = end + 1
        fence = _FENCE.match(line)
        if code >= 0:
            if fence:
                yield _code(text, code, end)
                code = -1
            continue
        lead = _leads(line)
        is_row = line.lstrip().startswith("|") or _is_separator(line)
        if block and (fence or is_row or lead or not line.strip() or _HEADING.match(line) or _RULE.match(line)):
            yield from _prose(text, *block)
            block = None
        if rows and not is_row:
            yield from _table(text, rows)
            rows = []
        if fence:
            code = start
        elif is_row:
            rows.append((start, end))
        elif not line.strip() or _RULE.match(line):
            continue
        elif heading := _HEADING.match(line):
            yield _trimmed(text, start + heading.end(), end, "head", is_claim=False)
        else:
            block = (block[0], end) if block and not lead else (start + lead, end)
    if block:
        yield from _prose(text, *block)
    if rows:
        yield from _table(text, rows)
    if code >= 0:
        yield _code(text, code, len(text))


def _is_separator(line: str) -> bool:
    """Return whether a line is the rule of dashes below the head of a Markdown table: `|---|:-:|`, `--- | ---`."""
    if "|" not in line:
        return False
    cells = line.strip().removeprefix("|").removesuffix("|").split("|")
    return all(_RULED_CELL.fullmatch(cell.strip()) for cell in cells)


def _leads(line: str) -> int:
    """Return the length of bullets, numbers and quotation marks at the start of a line."""
    at = 0
    for _ in range(4):
        match = _LEAD.match(line, at)
        if not match:
            break
        at = match.end()
    return at


def _prose(text: str, start: int, end: int) -> Iterator[Piece]:
    for a, b in _sentences(text, start, end):
        piece = _trimmed(text, a, b, "prose", is_claim=True)
        said = text[piece.start : piece.end]
        if any(char.isalnum() for char in said):
            yield Piece(piece.start, piece.end, "prose", _claims(said))


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for cut in ends(text, start, end):
        if cut - start < _SHORTEST:
            continue
        yield from shorten(text, start, cut)
        start = cut
    yield from shorten(text, start, end)


def _table(text: str, rows: list[tuple[int, int]]) -> Iterator[Piece]:
    ruled = next((n for n, (a, b) in enumerate(rows) if _is_separator(text[a:b])), -1)
    for number, (start, end) in enumerate(rows):
        if number == ruled:
            continue
        piece = _trimmed(text, start, end, "row", is_claim=number > ruled, also="|")
        if any(char.isalnum() for char in text[piece.start : piece.end]):
            yield Piece(piece.start, piece.end, "row" if piece.is_claim else "head", piece.is_claim)


def _code(text: str, start: int, end: int) -> Piece:
    return _trimmed(text, start, end, "code", is_claim=sum(c.isalpha() for c in text[start:end]) > 20)


def _trimmed(text: str, start: int, end: int, kind: Kind, *, is_claim: bool, also: str = "") -> Piece:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip(" \t\n" + also))
    return Piece(start + left, max(start + left, start + len(piece.rstrip(" \t\n" + also))), kind, is_claim)


def _claims(said: str) -> bool:
    """Return whether a sentence states something that a page could support. In doubt it does."""
    bare = said.strip(" *_#>\"“”'")
    count = len(bare.split())
    figures = any(char.isdigit() for char in bare)
    if bare.endswith(("?", "؟", "？")):
        return False
    if denies(bare):
        return False
    if _GREETING.match(bare) and not figures and count <= 18:
        return False
    if bare.endswith(":") and not figures and (count <= 4 or _ANNOUNCES.search(bare)):
        return False
    if said.startswith(("**", "__")) and said.endswith(("**", "__")) and count <= 8 and not figures:
        return bare.endswith(".")
    return not (count <= 4 and not figures and _INTERJECTED.match(bare))


def denies(said: str) -> bool:
    """Return whether a sentence only says that something is not there, as "the report does not mention it"."""
    return bool(_SILENCE.search(said)) and not any(char.isdigit() for char in said) and not _BUT.search(said)


_VALUED = frozenset({"number", "amount", "count", "date", "duration", "person", "organisation", "place", "identifier"})
CHECKED = 200  # sentences of one answer; further ones count as unsupported


@dataclass(frozen=True, slots=True)
class Passage:
    """A hit with its page, and the retrieved span of the window in `page.text`."""

    hit: Hit
    page: PageRecord
    start: int
    end: int


_NO_IMAGES: Mapping[int, Passage] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Verified:
    """An answer with `[n]` marks after its supported sentences, the sentences, and the sources that they cite.

    Sources count from 1 in the order of their first mention. `degraded` says where the text model could not be used:
    then words alone decide, and fewer sentences are found to be supported.

    `leads` tells of what a model wrote whether it may lead as an answer: every claim that carries what the question
    asks for has its source, and no page says otherwise than any claim.
    """

    answer: str
    sentences: tuple[Sentence, ...]
    sources: tuple[Source, ...]
    degraded: tuple[Degraded, ...] = ()
    leads: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """A span of a page: an index into the passages, and characters of the page's text."""

    page: int
    start: int
    end: int


class Verifier:
    """The verification of answers against pages. Thread-safe."""

    def __init__(self, embedder: TextEmbedder) -> None:
        self._embedder = embedder

    def verify(
        self,
        text: str,
        passages: Sequence[Passage],
        *,
        question: str = "",
        images: Mapping[int, Passage] = _NO_IMAGES,
        epoch: int = 0,
    ) -> Verified:
        """Check every sentence of `text` (plain or Markdown) against the whole pages of `passages` and of `images`.

        `images` are the pages whose images the writer saw, by the number that it knows them by. A claim that the text
        of no page supports, and that ends with such a number (`[image 1]`), is `seen`: its source is that page, and it
        is not supported.

        Embeds at most 160 sentences. `epoch` is that of the index when the passages were found. Raises `DamagedError`
        where the words of a cited page are damaged.
        """
        answer, marks = clean_seen(text, images.keys())
        found = pieces(answer)
        known = {(passage.page.doc_id, passage.page.page_no) for passage in passages}
        more = [one for one in images.values() if one.page.text and (one.page.doc_id, one.page.page_no) not in known]
        passages = [*passages, *more]
        pages = pages_of(passages)
        leaves = leaves_of(passages)
        evidence = Evidence(self._embedder, leaves)
        claims = [at for at, piece in enumerate(found) if piece.is_claim][:CHECKED]
        judged = evidence.judge([answer[found[at].start : found[at].end] for at in claims], question)
        places = {
            at: [_Place(leaves.index(span.leaf), *span.bounds) for span in one.spans]
            for at, one in zip(claims, judged, strict=True)
            if one.spans
        }
        cited = _citing(found, marks)
        seen = {at: [images[n] for n in cited[at]] for at in claims if at in cited and at not in places}
        made = _assemble(answer, found, places, seen, [group[0] for group in pages], epoch, evidence.degraded)
        is_denied = any(one.against is not None for at, one in zip(claims, judged, strict=True) if at not in seen)
        return replace(made, leads=not is_denied and _is_borne(made.sentences, question))


def _is_borne(sentences: Sequence[Sentence], question: str) -> bool:
    """Return whether all claims that carry what a question asks for have sources.

    Those have a value of its kind and words of the question, else such a value, else such words; else they are all.
    """
    claims = [one for one in sentences if one.is_claim]
    asked = asked_of(question)
    terms = {prefix(word) or word for word in keys_of(question)}
    about = [one for one in claims if not terms.isdisjoint(prefix(word) or word for word in keys_of(one.text))]
    valued = [one for one in claims if asked.kind in _VALUED and holds(asked, one.text)]
    carrying = [one for one in valued if one in about] or valued or about
    return bool(claims) and all(one.sources for one in carrying or claims)


def quoted(
    sources: Sequence[Source],
    outcome: Outcome = "answer",
    lead: str = MAYBE,
    earlier: Sequence[Earlier] = (),
    leading: int = 1,
) -> Verified:
    """Return an answer made of quotes: the first `leading` ones, or, where they only may answer, all below a `lead`.

    Each is in quotation marks and supported by itself. What `earlier` versions of the document say comes last.
    """
    if not sources:
        return Verified("", (), ())
    sentences: list[Sentence] = []
    answer = f"{lead}\n\n" if outcome == "maybe" else ""
    for source in sources if outcome == "maybe" else sources[:leading]:
        quote = f"“{source.quote}”"
        sentences.append(Sentence(quote, len(answer), len(answer) + len(quote), (source.n,), supported=True))
        answer += f"{quote} [{source.n}]\n\n"
    for one in earlier:
        sentences.append(Sentence(one.lead, len(answer), len(answer) + len(one.lead), is_claim=False))
        answer += f"{one.lead} "
        quote = f"“{one.source.quote}”"
        sentences.append(Sentence(quote, len(answer), len(answer) + len(quote), (one.source.n,), supported=True))
        answer += f"{quote} [{one.source.n}]\n\n"
    return Verified(answer.rstrip(), tuple(sentences), (*sources, *(one.source for one in earlier)))


def pages_of(passages: Sequence[Passage]) -> list[list[Passage]]:
    """Group the passages by page, pages in the order of their best passage."""
    groups: dict[tuple[str, int], list[Passage]] = {}
    for passage in passages:
        groups.setdefault((passage.page.doc_id, passage.page.page_no), []).append(passage)
    return list(groups.values())


def leaves_of(passages: Sequence[Passage]) -> list[Leaf]:
    """Return the pages of the passages, each once, prepared for comparison; in the order of their best passage."""
    return [
        Leaf(group[0].page, name_of(group[0].hit.document, ""), [(one.start, one.end) for one in group])
        for group in pages_of(passages)
    ]


def _citing(found: Sequence[Piece], marks: Sequence[tuple[int, int]]) -> dict[int, list[int]]:
    """Return the numbers of the images that each piece cites, by the piece's index: a mark ends its piece."""
    cited: dict[int, list[int]] = {}
    for place, number in marks:
        before = [at for at, piece in enumerate(found) if piece.start < place]
        numbers = cited.setdefault(before[-1] if before else 0, [])
        if number not in numbers:
            numbers.append(number)
    return cited


def _assemble(
    answer: str,
    found: Sequence[Piece],
    places: dict[int, list[_Place]],
    seen: dict[int, list[Passage]],
    pages: Sequence[Passage],
    epoch: int,
    degraded: tuple[Degraded, ...],
) -> Verified:
    merged = _merged([place for group in places.values() for place in group])
    numbers: dict[_Place | str, int] = {}  # by place in the text, or by the id of a page that was seen
    sources: list[Source] = []
    sentences, text, at = [], "", 0
    for index, piece in enumerate(found):
        text += answer[at : piece.start]
        start = len(text)
        said = answer[piece.start : piece.end]
        cited = list(dict.fromkeys(_holder(merged, place) for place in places.get(index, [])))
        for place in cited:
            if place not in numbers:
                numbers[place] = len(numbers) + 1
                passage = pages[place.page]
                sources.append(quote_source(numbers[place], passage.hit, passage.page, (place.start, place.end), epoch))
        looked = [] if cited else seen.get(index, [])
        for passage in looked:
            if passage.page.page_id not in numbers:
                numbers[passage.page.page_id] = n = len(numbers) + 1
                sources.append(page_source(n, passage.hit.document, passage.page, epoch=epoch, kind="seen"))
        of = tuple(numbers[key] for key in (*cited, *dict.fromkeys(passage.page.page_id for passage in looked)))
        sentences.append(Sentence(said, start, start + len(said), of, bool(cited), piece.is_claim, seen=bool(looked)))
        text += said + ("\n" if of and piece.kind == "code" else "") + "".join(f" [{n}]" for n in of)
        at = piece.end
    text += answer[at:]
    return Verified(text, tuple(sentences), tuple(sources), degraded)


def _merged(places: Sequence[_Place]) -> list[_Place]:
    """Merge overlapping spans of one page."""
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


def quote_source(n: int, hit: PageHit, page: PageRecord, span: tuple[int, int], epoch: int) -> Source:
    """Return a span of a page's text as a source. Raises `DamagedError` where the words of the page are damaged."""
    boxes = Words.unpack(page.words).boxes_of(*span)
    return page_source(n, hit.document, page, epoch=epoch, quote=page.text[slice(*span)], boxes=boxes)


def page_source(
    n: int,
    document: str,
    page: PageRecord,
    *,
    epoch: int = 0,
    quote: str = "",
    boxes: Sequence[Box] = (),
    kind: SourceKind = "quote",
) -> Source:
    """Return a page of a document as source `n`, with what is quoted from it and the boxes of that.

    Raises `DamagedError` where what was read before a correction is damaged.
    """
    return Source(
        n=n,
        document=document,
        doc_id=page.doc_id,
        page_no=page.page_no,
        page_id=page.page_id,
        quote=quote,
        boxes=tuple(boxes),
        page_width=page.width,
        page_height=page.height,
        index_epoch=epoch,
        image_artifact_id=page.image.sha256,
        image_artifact_suffix=page.image.suffix,
        kind=kind,
        is_corrected=is_corrected(page, boxes),
    )
