"""The differences of two documents, word by word.

Units (sentences, headings, rows) that are equal are aligned first, by those that each document has once: an inserted
page shifts nothing. What is left is moved where the other document has it in another place, else aligned by the
words in common, and the words of aligned units are compared. No model is used.

Above 500 lines: each of these steps takes what the one before has left.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import islice

from docmind.documents.catalog import Catalog, PageRecord
from docmind.documents.compared_text import ComparedText, Unit
from docmind.errors import ConfigError
from docmind.records.comparison import Change, ChangeKind, ComparedDocument, Comparison
from docmind.records.documents import DocumentInfo
from docmind.wording import _, number_text

MOST_PAGES = 5_000
"""Pages of a document that is compared: all their words are in memory, some 0.1 MB a page."""

_ALIKE = 0.5  # share of tokens in common, from which on two units are versions of one
_MOVED_ALIKE = 0.7  # the same for units in different places
_SHORT, _ALIKE_IF_SHORT = 8, 0.4  # the same for units of at most so many tokens
_SAME_NAME = 0.2  # added for rows whose first tokens are equal
_LEAST_MOVED = 4  # tokens that are moved, where they are no whole unit
_LEAST_TITLE = 2  # tokens of a title that one text has within its first sentence
_LEAST_KEPT = 0.3  # share of tokens in common, below which a unit is changed as a whole
_PAIRS = 40_000  # of units in a gap that are all compared; in a larger one those that share a rare token
_RARE = 20  # units of a gap that have a rare token
_DIFFED = 4_000_000  # product of lengths, up to which repeated units are aligned
_LONGEST = 600  # tokens of one change
_MATCHED = 100  # removals that begin as an addition does, or have its words
_READ = 20  # pages that are read between two reports of progress

_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")

_Pair = tuple[int, int]
_Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Edit:
    """Tokens `i1` to `i2` of one text stand where tokens `j1` to `j2` of the other do; `left`, `right` hold them."""

    kind: ChangeKind
    i1: int
    i2: int
    j1: int
    j2: int
    left: Unit | None = None
    right: Unit | None = None


def compare_documents(
    catalog: Catalog, doc_id: str, other: str, progress: Callable[[int, int], None] | None = None
) -> Comparison:
    """Return the changes from a document to another, which are read whole.

    `progress` gets the pages that were read and all of them; what it raises ends the comparison. Raises
    `NotFoundError`, `DamagedError`, and `ConfigError` for one document, one not read yet, and one of too many pages.
    """
    before, after = catalog.readable(doc_id), catalog.readable(other)
    if doc_id == other:
        raise ConfigError(_("A document can't be compared with itself."), hint=_("Give two documents."))
    for one in (before, after):
        _check(one)
    total, done = before.pages + after.pages, 0
    texts: list[ComparedText] = []
    for one in (before, after):
        pages: list[PageRecord] = []
        for first in range(1, one.pages + 1, _READ):
            numbers = range(first, min(first + _READ, one.pages + 1))
            read = catalog.pages((one.doc_id, number) for number in numbers)
            pages += [read[key] for key in sorted(read)]
            done += len(numbers)
            if progress is not None:
                progress(done, total)
        texts.append(ComparedText(pages))
    return Comparison(_compared(before), _compared(after), compare(*texts))


def _check(info: DocumentInfo) -> None:
    if info.status != "ready":
        raise ConfigError(
            _("{document} isn't read yet.").format(document=info.document), hint=_("Wait until it is read.")
        )
    if info.pages > MOST_PAGES:
        raise ConfigError(
            _("{document} has {pages} pages; {most} are the most that are compared.").format(
                document=info.document, pages=number_text(info.pages), most=number_text(MOST_PAGES)
            ),
            hint=_("Split it into parts."),
        )


def _compared(info: DocumentInfo) -> ComparedDocument:
    return ComparedDocument(info.doc_id, info.document, info.pages, info.dated, info.added_at_ms)


def compare(before: ComparedText, after: ComparedText) -> tuple[Change, ...]:
    """Return the changes from one text to another, in the order of the later one."""
    edits = _without_equal(before, after, _Edits(before, after).all())
    edits.sort(key=lambda one: (one.j1, one.i1))
    return tuple(
        Change(n, one.kind, before.side(one.i1, one.i2, one.left), after.side(one.j1, one.j2, one.right))
        for n, one in enumerate(edits, 1)
    )


class _Edits:
    def __init__(self, before: ComparedText, after: ComparedText) -> None:
        self._left, self._right = before.units, after.units
        self._before, self._after = before, after

    def all(self) -> list[_Edit]:
        """Return what differs, in no order."""
        same = _aligned([one.key for one in self._left], [one.key for one in self._right])
        moved = self._moved(same)
        taken_left = {i for i, _j in (*same, *moved)}
        taken_right = {j for _i, j in (*same, *moved)}
        paired = [
            pair for lefts, rights in self._gaps(same, taken_left, taken_right) for pair in self._paired(lefts, rights)
        ]
        taken_left.update(i for i, _j in paired)
        taken_right.update(j for _i, j in paired)
        away = self._moved_and_changed(taken_left, taken_right)
        taken_left.update(i for i, _j in away)
        taken_right.update(j for _i, j in away)
        edits = [edit for i, j in (*paired, *away) for edit in self._within(self._left[i], self._right[j])]
        edits += [self._moved_edit(*run) for run in _runs(sorted([*moved, *away]))]
        edits += self._alone(same, paired, taken_left, taken_right)
        return edits

    # whole units

    def _moved(self, same: Sequence[_Pair]) -> list[_Pair]:
        """Return equal units that stand in another order; only such as both texts have equally often."""
        lefts, rights = {i for i, _j in same}, {j for _i, j in same}
        there: dict[_Key, list[int]] = defaultdict(list)
        for j, unit in enumerate(self._right):
            if j not in rights:
                there[unit.key].append(j)
        here: dict[_Key, list[int]] = defaultdict(list)
        for i, unit in enumerate(self._left):
            if i not in lefts and unit.key in there:
                here[unit.key].append(i)
        return [pair for key, places in here.items() for pair in zip(places, there[key], strict=False)]

    def _moved_and_changed(self, taken_left: set[int], taken_right: set[int]) -> list[_Pair]:
        """Return units that are much alike and stand in another order."""
        lefts = [i for i in range(len(self._left)) if i not in taken_left and self._is_long(self._left[i])]
        rights = [j for j in range(len(self._right)) if j not in taken_right and self._is_long(self._right[j])]
        scored = sorted(self._scored(lefts, rights, _MOVED_ALIKE), reverse=True)
        pairs: list[_Pair] = []
        used_left: set[int] = set()
        used_right: set[int] = set()
        for _score, i, j in scored:
            if i not in used_left and j not in used_right:
                pairs.append((i, j))
                used_left.add(i)
                used_right.add(j)
        return pairs

    @staticmethod
    def _is_long(unit: Unit) -> bool:
        return len(unit.key) > 2 * _LEAST_MOVED

    def _gaps(
        self, same: Sequence[_Pair], taken_left: set[int], taken_right: set[int]
    ) -> Iterator[tuple[list[int], list[int]]]:
        """Yield the units left between two that are the same."""
        i = j = 0
        for end_left, end_right in (*same, (len(self._left), len(self._right))):
            lefts = [one for one in range(i, end_left) if one not in taken_left]
            rights = [one for one in range(j, end_right) if one not in taken_right]
            if lefts and rights:
                yield lefts, rights
            i, j = end_left + 1, end_right + 1

    def _paired(self, lefts: Sequence[int], rights: Sequence[int]) -> list[_Pair]:
        """Return units of a gap that are versions of one, in order, so that their likeness is the largest."""
        if len(lefts) == len(rights) == 1 and self._is_title(lefts[0], rights[0]):
            return [(lefts[0], rights[0])]
        scored = list(self._scored(lefts, rights, _ALIKE))
        if not scored:
            return []
        if len(lefts) * len(rights) <= _PAIRS:
            return _heaviest(lefts, rights, {(i, j): score for score, i, j in scored})
        best: dict[int, tuple[float, int]] = {}
        for score, i, j in scored:
            if i not in best or score > best[i][0]:
                best[i] = score, j
        return _rising(sorted((i, j) for i, (_score, j) in best.items()))

    def _is_title(self, i: int, j: int) -> bool:
        return self._left[i].kind == self._right[j].kind == "heading"

    def _scored(self, lefts: Sequence[int], rights: Sequence[int], least: float) -> Iterator[tuple[float, int, int]]:
        """Yield the likeness of units that may be versions of one."""
        bags = {j: Counter(self._right[j].key) for j in rights}
        with_token: dict[str, list[int]] = defaultdict(list)
        for j, bag in bags.items():
            for token in bag:
                with_token[token].append(j)
        are_few = len(lefts) * len(rights) <= _PAIRS
        for i in lefts:
            unit, own = self._left[i], Counter(self._left[i].key)
            if are_few:
                candidates: Sequence[int] = rights
            else:
                rare = (one for token in own if len(with_token[token]) <= _RARE for one in with_token[token])
                candidates = [j for j, _count in Counter(rare).most_common(_RARE)]
            for j in candidates:
                other = self._right[j]
                score = 2 * (own & bags[j]).total() / (len(unit.key) + len(other.key))
                if unit.kind == other.kind == "row" and unit.key[0] == other.key[0]:
                    score += _SAME_NAME
                are_short = max(len(unit.key), len(other.key)) <= _SHORT
                if score >= (min(least, _ALIKE_IF_SHORT) if are_short else least):
                    yield score, i, j

    # edits

    def _within(self, left: Unit, right: Unit) -> Iterator[_Edit]:
        """Yield the differences of the words of two units."""
        matcher = SequenceMatcher(None, left.key, right.key, autojunk=False)
        codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
        if codes and matcher.ratio() < _LEAST_KEPT:
            codes = [("replace", 0, len(left.key), 0, len(right.key))]
        joined: list[tuple[int, int, int, int]] = []
        for _tag, i1, i2, j1, j2 in codes:
            if joined and i1 - joined[-1][1] <= 1 and i2 > i1 and j2 > j1 and _is_replaced(joined[-1]):
                joined[-1] = joined[-1][0], i2, joined[-1][2], j2
            else:
                joined.append((i1, i2, j1, j2))
        for i1, i2, j1, j2 in joined:
            kind: ChangeKind = "added" if i1 == i2 else "removed" if j1 == j2 else "changed"
            yield _Edit(kind, left.first + i1, left.first + i2, right.first + j1, right.first + j2, left, right)

    def _moved_edit(self, lefts: tuple[int, int], rights: tuple[int, int]) -> _Edit:
        first, last = self._left[lefts[0]], self._left[lefts[1]]
        other, end = self._right[rights[0]], self._right[rights[1]]
        return _Edit("moved", first.first, last.last, other.first, end.last)

    def _alone(
        self, same: Sequence[_Pair], paired: Sequence[_Pair], taken_left: set[int], taken_right: set[int]
    ) -> Iterator[_Edit]:
        """Yield the units that only one text has, those of one paragraph together, each with its place in the other."""
        anchors = _rising(sorted({*same, *paired}))
        lefts, rights = [i for i, _j in anchors], [j for _i, j in anchors]
        for i1, i2 in _groups(self._left, [i for i in range(len(self._left)) if i not in taken_left]):
            at = bisect_left(lefts, i1)
            place = self._right[rights[at - 1]].last if at else 0
            yield _Edit("removed", self._left[i1].first, self._left[i2].last, place, place)
        for j1, j2 in _groups(self._right, [j for j in range(len(self._right)) if j not in taken_right]):
            at = bisect_left(rights, j1)
            place = self._left[lefts[at - 1]].last if at else 0
            yield _Edit("added", place, place, self._right[j1].first, self._right[j2].last)


def _without_equal(before: ComparedText, after: ComparedText, edits: list[_Edit]) -> list[_Edit]:
    """Return the edits without those that differ in white space alone, and with moves of words.

    Words that were removed and added are moved, or nothing where they stand in the same place: a unit was cut elsewhere
    in one of the texts.
    """
    differing = [
        one
        for one in edits
        if one.kind != "changed" or _joined(before, one.i1, one.i2) != _joined(after, one.j1, one.j2)
    ]
    removed = sorted((one for one in differing if one.kind == "removed"), key=lambda one: one.i1)
    added = sorted((one for one in differing if one.kind == "added"), key=lambda one: one.j1)
    rest = [one for one in differing if one.kind not in ("removed", "added")]
    spans = _spans_of([(one.i1, one.i2) for one in removed])
    for i, j, size in _common(before, after, spans, _spans_of([(one.j1, one.j2) for one in added])):
        at = bisect_right(added, j, key=lambda one: one.j1) - 1
        if _span_at(spans, added[at].i1) != _span_at(spans, i):
            rest.append(_Edit("moved", i, i + size, j, j + size))
        end = bisect_left(added, j + size, key=lambda one: one.j1)
        added[at:end] = [part for one in added[at:end] for part in _cut(one, (one.j1, one.j2), (j, j + size))]
        at = bisect_right(removed, i, key=lambda one: one.i1) - 1
        end = bisect_left(removed, i + size, key=lambda one: one.i1)
        removed[at:end] = [part for one in removed[at:end] for part in _cut(one, (one.i1, one.i2), (i, i + size))]
    return _joined_moves(_Removals(before, after, spans, removed, rest).without(added))


class _Removals:
    """Removals that are matched with additions: those of the same words, and of the same first words in one place.

    `rest` are the edits of other kinds, to which moves are added.
    """

    def __init__(
        self, before: ComparedText, after: ComparedText, spans: list[_Pair], removed: list[_Edit], rest: list[_Edit]
    ) -> None:
        self._before, self._after, self._spans, self._rest = before, after, spans, rest
        moves = [one for one in rest if one.kind == "moved"]
        self._begins, self._ends = {(one.i1, one.j1) for one in moves}, {(one.i2, one.j2) for one in moves}
        self._removed: dict[int, tuple[_Edit, _Key]] = {}
        self._by_words: dict[tuple[int, _Key], dict[int, None]] = defaultdict(dict)
        self._next = 0
        for one in removed:
            self._put(one)

    def without(self, added: Sequence[_Edit]) -> list[_Edit]:
        """Return all edits, without additions and removals that are none or are moves."""
        left = [part for one in added for part in self._matched(one)]
        return [*self._rest, *(one for one, _key in self._removed.values()), *left]

    def _put(self, one: _Edit) -> None:
        key = _keys(self._before, one.i1, one.i2)
        self._removed[self._next] = one, key
        for words in self._indexed(one, key):
            self._by_words[words][self._next] = None
        self._next += 1

    def _take(self, number: int) -> _Edit:
        one, key = self._removed.pop(number)
        for words in self._indexed(one, key):
            self._by_words[words].pop(number, None)
        return one

    def _indexed(self, one: _Edit, key: _Key) -> tuple[tuple[int, _Key], ...]:
        """Return by what a removal or addition is found: all of its words, and its place with the first of them."""
        return (-1, key), (_span_at(self._spans, one.i1), key[:_LEAST_TITLE])

    def _matched(self, one: _Edit) -> list[_Edit]:
        """Return what is left of an addition."""
        key = _keys(self._after, one.j1, one.j2)
        here = _span_at(self._spans, one.i1)
        found = sorted({n for words in self._indexed(one, key) for n in islice(self._by_words[words], _MATCHED)})
        for number in found:
            same, its = self._removed[number]
            is_here = here >= 0 and _span_at(self._spans, same.i1) == here
            if its == key and (is_here or self._is_beside_move(same, one)):
                self._take(number)
                self._rest += [] if is_here else [self._noted(_Edit("moved", same.i1, same.i2, one.j1, one.j2))]
                return []
            size = min(len(key), len(its))
            if is_here and size >= _LEAST_TITLE and key != its and key[:size] == its[:size]:
                self._take(number)
                for part in _cut(same, (same.i1, same.i2), (same.i1, same.i1 + size)):
                    self._put(part)
                return _cut(one, (one.j1, one.j2), (one.j1, one.j1 + size))
        return [one]

    def _is_beside_move(self, same: _Edit, one: _Edit) -> bool:
        """Return whether the move of a removal to an addition goes on in another move."""
        return (same.i2, one.j2) in self._begins or (same.i1, one.j1) in self._ends

    def _noted(self, move: _Edit) -> _Edit:
        self._begins.add((move.i1, move.j1))
        self._ends.add((move.i2, move.j2))
        return move


def _span_at(spans: Sequence[_Pair], place: int) -> int:
    """Return the number of the span that has a place, its end too; -1 for none."""
    at = bisect_right(spans, place, key=lambda span: span[0]) - 1
    return at if at >= 0 and place <= spans[at][1] else -1


def _spans_of(parts: Sequence[_Pair]) -> list[_Pair]:
    """Return spans of tokens that follow each other as one."""
    spans: list[_Pair] = []
    for first, last in parts:
        if spans and spans[-1][1] == first:
            spans[-1] = spans[-1][0], last
        else:
            spans.append((first, last))
    return spans


def _common(
    before: ComparedText, after: ComparedText, lefts: Sequence[_Pair], rights: Sequence[_Pair]
) -> list[tuple[int, int, int]]:
    """Return (place, place, size) of runs of tokens that stand in spans of both texts, none of them twice."""
    there: dict[_Key, list[int]] = defaultdict(list)
    for first, last in lefts:
        for i in range(first, last - _LEAST_MOVED + 1):
            there[_keys(before, i, i + _LEAST_MOVED)].append(i)
    ends = {i: last for first, last in lefts for i in range(first, last)}
    found: list[tuple[int, int, int]] = []
    used: set[int] = set()
    for first, last in rights:
        j = first
        while j <= last - _LEAST_MOVED:
            best, most = -1, 0
            for i in there.get(_keys(after, j, j + _LEAST_MOVED), ())[:_RARE]:
                size = 0
                while (
                    i + size < ends[i]
                    and j + size < last
                    and i + size not in used
                    and before.tokens[i + size].key == after.tokens[j + size].key
                ):
                    size += 1
                best, most = (i, size) if size > most else (best, most)
            if most >= _LEAST_MOVED:
                found.append((best, j, most))
                used.update(range(best, best + most))
            j += most if most >= _LEAST_MOVED else 1
    return found


def _cut(edit: _Edit, own: _Pair, out: _Pair) -> list[_Edit]:
    """Return what is left of a removal or addition of tokens `own` without the tokens `out`."""
    left = [(own[0], min(own[1], out[0])), (max(own[0], out[1]), own[1])]
    if edit.kind == "removed":
        return [replace(edit, i1=first, i2=last) for first, last in left if first < last]
    return [replace(edit, j1=first, j2=last) for first, last in left if first < last]


def _joined_moves(edits: list[_Edit]) -> list[_Edit]:
    """Return the edits with moves that go on in each other as one."""
    joined: list[_Edit] = []
    for one in sorted(edits, key=lambda one: (one.kind == "moved", one.i1, one.j1)):
        last = joined[-1] if joined and one.kind == joined[-1].kind == "moved" else None
        if last is not None and one.i1 <= last.i2 and last.j1 <= one.j1 <= last.j2:
            joined[-1] = _Edit("moved", last.i1, max(last.i2, one.i2), last.j1, max(last.j2, one.j2))
        else:
            joined.append(one)
    return joined


def _keys(text: ComparedText, first: int, last: int) -> _Key:
    return tuple(token.key for token in text.tokens[first:last])


def _joined(text: ComparedText, first: int, last: int) -> str:
    return _HYPHEN.sub("", "".join(_keys(text, first, last)))


def _is_replaced(span: tuple[int, int, int, int]) -> bool:
    return span[1] > span[0] and span[3] > span[2]


def _groups(units: Sequence[Unit], places: Sequence[int]) -> Iterator[_Pair]:
    """Yield the first and last of units that follow each other within a paragraph."""
    begun = last = -1
    for at in places:
        is_next = at == last + 1 and begun >= 0 and units[at].part == units[last].part
        if begun >= 0 and not (is_next and units[at].last - units[begun].first <= _LONGEST):
            yield begun, last
            begun = -1
        if begun < 0:
            begun = at
        last = at
    if begun >= 0:
        yield begun, last


def _runs(pairs: Sequence[_Pair]) -> Iterator[tuple[_Pair, _Pair]]:
    """Yield (first, last) on either side of pairs that follow each other in both texts."""
    run: list[_Pair] = []
    for pair in pairs:
        if run and pair != (run[-1][0] + 1, run[-1][1] + 1):
            yield (run[0][0], run[-1][0]), (run[0][1], run[-1][1])
            run = []
        run.append(pair)
    if run:
        yield (run[0][0], run[-1][0]), (run[0][1], run[-1][1])


def _aligned(left: Sequence[_Key], right: Sequence[_Key]) -> list[_Pair]:
    """Return the places of equal units in order: by units that either text has once, then by what is between them."""
    pairs: list[_Pair] = []
    todo = [(0, len(left), 0, len(right))]
    while todo:
        i1, i2, j1, j2 = todo.pop()
        while i1 < i2 and j1 < j2 and left[i1] == right[j1]:
            pairs.append((i1, j1))
            i1, j1 = i1 + 1, j1 + 1
        while i1 < i2 and j1 < j2 and left[i2 - 1] == right[j2 - 1]:
            i2, j2 = i2 - 1, j2 - 1
            pairs.append((i2, j2))
        if i1 == i2 or j1 == j2:
            continue
        anchors = _rising(_once_in_both(left, right, (i1, i2, j1, j2)))
        if anchors:
            for i, j in (*anchors, (i2, j2)):
                todo.append((i1, i, j1, j))
                i1, j1 = i + 1, j + 1
            pairs += anchors
        elif (i2 - i1) * (j2 - j1) <= _DIFFED:
            matcher = SequenceMatcher(None, left[i1:i2], right[j1:j2], autojunk=False)
            blocks = matcher.get_matching_blocks()
            pairs += [(i1 + one.a + at, j1 + one.b + at) for one in blocks for at in range(one.size)]
    return sorted(pairs)


def _once_in_both(left: Sequence[_Key], right: Sequence[_Key], span: tuple[int, int, int, int]) -> list[_Pair]:
    i1, i2, j1, j2 = span
    counts = Counter(left[i1:i2]), Counter(right[j1:j2])
    there = {right[j]: j for j in range(j1, j2) if counts[1][right[j]] == 1}
    return [(i, there[left[i]]) for i in range(i1, i2) if counts[0][left[i]] == 1 and left[i] in there]


def _rising(pairs: Sequence[_Pair]) -> list[_Pair]:
    """Return the longest part of pairs, which rise on the left, that rises on the right too."""
    ends: list[int] = []  # the last right place of the best run of each length
    at: list[int] = []
    before: list[int] = []
    for n, (_i, j) in enumerate(pairs):
        place = bisect_left(ends, j)
        before.append(at[place - 1] if place else -1)
        ends[place : place + 1] = [j]
        at[place : place + 1] = [n]
    found: list[_Pair] = []
    n = at[-1] if at else -1
    while n >= 0:
        found.append(pairs[n])
        n = before[n]
    return found[::-1]


def _heaviest(lefts: Sequence[int], rights: Sequence[int], score: dict[_Pair, float]) -> list[_Pair]:
    """Return the pairs that rise on both sides and whose scores add up to the most."""
    rows, columns = len(lefts), len(rights)
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            with_both = score.get((lefts[i], rights[j]), -1.0) + best[i + 1][j + 1]
            best[i][j] = max(best[i + 1][j], best[i][j + 1], with_both)
    pairs: list[_Pair] = []
    i = j = 0
    while i < rows and j < columns:
        own = score.get((lefts[i], rights[j]))
        if own is not None and best[i][j] == own + best[i + 1][j + 1]:
            pairs.append((lefts[i], rights[j]))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs
