"""Attacks on regular expressions: texts made from an expression's own letters, and how its time grows with them.

Each repetition of an expression is pumped: what leads to it, then a unit many times over, then something that makes the
match fail. Units are what the repetition itself matches, what leads to it, the two together, and one letter of every
set of classes that the expression tells apart. Time is that of the processor, the least of several runs.
"""

from __future__ import annotations

import re
import re._compiler as compiler  # pyright: ignore[reportMissingImports] - the parsed form is reached nowhere else
import re._constants as sre  # pyright: ignore[reportMissingImports]
import re._parser as parser  # pyright: ignore[reportMissingImports]
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice, pairwise, product
from math import inf
from typing import Any, Literal, NamedTuple

Method = Literal["scan", "search", "match", "fullmatch"]
"""How an expression is used. `scan`: wherever it matches, as by `finditer`, `sub` and `split`."""

SHORT, LONG = 2_000, 4_000  # characters of an attack
FACTOR = 3.0
"""Growth of the time that is too much for a text of twice the length: linear is 2, quadratic 4. Both from SHORT to LONG
and from there to twice as much, because a bounded repetition may be quadratic up to its bound."""
FLOOR_S = 0.0005
"""A time at LONG that is not looked at: within it the time of a quadratic expression at 100,000 is below 0.4 s."""
HOPELESS_S = 1.0
"""Seconds after which a match is interrupted: the slowest linear expression here takes a tenth of it."""
SLOWEST_S = 0.2
"""Seconds at LONG that are too many even where they grow with the length: 5 s for a line of 100,000 characters."""
SLOWEST_BOUNDED_S = 0.02
"""Seconds that are too many where the text is short."""

_RUNS, _CLEAR_S = 4, 0.005  # before a growth is believed; a time that noise hardly changes, of which one run is enough
_MANY = 10  # times from which on a repetition is pumped
_LETTERS = 16  # single letters that are tried on an expression
_SAMPLES = 6  # texts that one repetition matches
_TAILS = ("", "!a\n\n!a")  # the end of the text; what neither letters, digits, blanks nor `[^\n]` match
_POOL = [chr(code) for code in (*range(32, 127), 9, 10)] + list("éÉßñçã–—“”«·•…§º°€\u00a0\u202f\u200b中اя٣²\ufdd0")
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)


class Fault(NamedTuple):
    """A text on which an expression is too slow: `lead`, `unit` many times over, `tail`. `growth` is inf if it hung."""

    method: Method
    lead: str
    unit: str
    tail: str
    growth: float
    seconds: float

    def text(self, length: int) -> str:
        return _text(self.lead, self.unit, self.tail, length)


def fault_of(pattern: re.Pattern[Any], method: Method, longest: int | None = None) -> Fault | None:
    """Return the first attack under which the time of an expression grows faster than the text, or is far too long.

    Where no text of more than `longest` characters reaches the expression, only its time at that length counts.

    Only in the main thread: a match is interrupted by a timer, to which the matcher of CPython answers there.
    """
    run = _runner(pattern, method)
    for lead, unit, tail in attacks(pattern):
        if longest is not None:
            text = _encoded(pattern, _text(lead, unit, tail, max(0, longest - len(lead) - len(tail))))
            taken = min(_seconds(run, text) for _ in range(3)) if _seconds(run, text) > SLOWEST_BOUNDED_S else 0.0
            if taken > SLOWEST_BOUNDED_S:
                return Fault(method, lead, unit, tail, inf, taken)
            continue
        long = _encoded(pattern, _text(lead, unit, tail, LONG))
        taken = _seconds(run, long)
        if taken < FLOOR_S:
            continue
        texts = [_encoded(pattern, _text(lead, unit, tail, length)) for length in (SHORT, LONG, 2 * LONG)]
        growth = inf if taken >= HOPELESS_S else min(_growth(run, *pair) for pair in pairwise(texts))
        if growth > FACTOR or (taken > SLOWEST_S and min(_seconds(run, long) for _ in range(3)) > SLOWEST_S):
            return Fault(method, lead, unit, tail, growth, taken)
    return None


def _growth(run: Callable[[Any], object], short: Any, long: Any) -> float:
    """Return time(long) / time(short); where that is too much, of the least times of several runs."""
    least_short = least_long = HOPELESS_S
    growth = 0.0
    for _ in range(_RUNS):
        least_short = min(least_short, _seconds(run, short))
        least_long = min(least_long, _seconds(run, long))
        growth = least_long / max(least_short, 1e-7)
        if growth <= FACTOR or least_short > _CLEAR_S:
            break
    return growth


def _text(lead: str, unit: str, tail: str, length: int) -> str:
    return lead + (unit * (length // len(unit) + 1))[:length] + tail


def _encoded(pattern: re.Pattern[Any], text: str) -> Any:
    return text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text


def _runner(pattern: re.Pattern[Any], method: Method) -> Callable[[Any], object]:
    if method == "scan":
        return lambda text: sum(1 for _ in pattern.finditer(text))
    return getattr(pattern, method)


class _Interrupted(Exception):  # noqa: N818 - the end of a time, no error
    pass


@contextmanager
def _interrupted_after(seconds: float) -> Iterator[None]:
    def interrupt(*_: object) -> None:
        raise _Interrupted

    before = signal.signal(signal.SIGVTALRM, interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _seconds(run: Callable[[Any], object], text: Any) -> float:
    """Return the processor time of a run; HOPELESS_S if it was interrupted."""
    try:
        with _interrupted_after(HOPELESS_S):
            start = time.thread_time()
            run(text)
            return min(time.thread_time() - start, HOPELESS_S)
    except _Interrupted:
        return HOPELESS_S


def attacks(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (lead, unit, tail) of every attack on an expression, each once."""
    parsed = _parsed(pattern)
    maker = _Maker(parsed, pattern.flags)
    seen: set[tuple[str, str]] = set()
    for lead, unit in maker.pumped():
        if unit and (lead, unit) not in seen:
            seen.add((lead, unit))
            yield from ((lead, unit, tail) for tail in _TAILS)


def _parsed(pattern: re.Pattern[Any]) -> Any:
    flags = pattern.flags & ~(re.UNICODE if isinstance(pattern.pattern, bytes) else 0)
    return parser.parse(pattern.pattern, flags)


class _Maker:
    """The texts that attack one parsed expression."""

    def __init__(self, parsed: Any, flags: int) -> None:
        self._parsed, self._flags = parsed, flags
        self._state = parsed.state
        self._letters: dict[str, str] = {}
        literals = {chr(value) for op, value in _atoms(parsed) if op is sre.LITERAL}
        self._pool = [*_POOL, *sorted(literals - set(_POOL))]

    def pumped(self) -> Iterator[tuple[str, str]]:
        """Yield (lead, unit) for every repetition."""
        loops = list(self._loops(self._parsed, ""))
        letters = self._telling([atom for _, body in loops for atom in _atoms(body)])
        for lead, body in loops:
            samples = list(dict.fromkeys(islice(self._samples(body), _SAMPLES)))
            one_letter = len(body) == 1 and body[0][0] not in (sre.SUBPATTERN, sre.BRANCH, *_REPEATS)
            units = samples if one_letter else [*samples, *(a + b for a, b in product(samples[:4], repeat=2))]
            units += [lead, *(lead + one for one in samples[:2])]
            units += [unit + blank for unit in (lead, lead + samples[0] if samples else "") for blank in " \n" if unit]
            yield from ((lead, unit) for unit in units)
            yield from ((lead, letter) for letter in letters)
        if loops:
            whole = next(self._samples(self._parsed), "")
            yield from (("", whole + blank) for blank in ("", " ", "\n"))

    def _loops(self, nodes: Any, lead: str) -> Iterator[tuple[str, Any]]:
        """Yield (what leads there, body) of every repetition that is long enough to matter."""
        for node in nodes:
            op, value = node
            if op in _REPEATS and value[1] >= _MANY:
                yield lead, value[2]
            for inner in _inner(node):
                yield from self._loops(inner, lead)
            is_before = node[0] is sre.ASSERT and node[1][0] < 0 and not lead  # what a look behind wants stands first
            lead += next(self._samples(node[1][1] if is_before else [node]), "")

    def _samples(self, nodes: Any) -> Iterator[str]:
        """Yield texts that a sequence matches, apart from what it looks at; one for each alternative."""
        parts = [list(islice(self._samples_of(node), _SAMPLES)) for node in nodes]
        if all(parts):
            first = [one[0] for one in parts]
            yield "".join(first)
            for at, one in enumerate(parts):
                for other in one[1:]:
                    yield "".join([*first[:at], other, *first[at + 1 :]])

    def _samples_of(self, node: Any) -> Iterator[str]:
        op, value = node
        if op in _REPEATS:
            least, most, body = value
            for one in islice(self._samples(body), _SAMPLES):
                yield one * min(max(least, 0), _MANY)
                if not least and most:
                    yield one
        elif op is sre.BRANCH:
            for branch in value[1]:
                yield next(self._samples(branch), "")
        elif op is sre.SUBPATTERN:
            yield from self._samples(value[3])
        elif op is sre.ATOMIC_GROUP:
            yield from self._samples(value)
        elif _is_atom(node):
            if letter := self._letter(node):
                yield letter
        else:
            yield ""

    def _letter(self, atom: Any) -> str:
        op, value = atom
        if op is sre.LITERAL:
            return chr(value)
        key = repr(atom)
        if key not in self._letters:
            accepts = self._accepts(atom)
            preferred = [*"a1 -", *self._pool]
            self._letters[key] = next((char for char in preferred if accepts(char)), "")
        return self._letters[key]

    def _telling(self, pumped: list[Any]) -> list[str]:
        """Return letters that repetitions match, one for each set of the classes of the expression that holds it.

        `pumped` are the classes of the repetitions; letters of most of these come first.
        """
        all_tests = {repr(atom): self._accepts(atom) for atom in _atoms(self._parsed)}
        tests = [all_tests[key] for key in dict.fromkeys(map(repr, pumped))]
        letters: dict[tuple[bool, ...], tuple[int, str]] = {}
        for char in self._pool:
            count = sum(test(char) for test in tests)
            if count:
                letters.setdefault(tuple(test(char) for test in all_tests.values()), (-count, char))
        return [char for _count, char in sorted(letters.values(), key=lambda one: one[0])[:_LETTERS]]

    def _accepts(self, atom: Any) -> Callable[[str], bool]:
        alone = parser.SubPattern(self._state, [atom])
        form = compiler.compile(alone, self._flags)
        if self._flags & re.UNICODE or isinstance(self._state.str, str):
            return lambda char: form.fullmatch(char) is not None
        return lambda char: ord(char) < 256 and form.fullmatch(char.encode("latin-1")) is not None


def _is_atom(node: Any) -> bool:
    return node[0] in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY)


def _atoms(nodes: Any) -> Iterator[Any]:
    """Yield every single-letter node of a parsed expression."""
    for node in nodes:
        if _is_atom(node):
            yield node
        for inner in _inner(node):
            yield from _atoms(inner)


def _inner(node: Any) -> list[Any]:
    op, value = node
    if op in _REPEATS:
        return [value[2]]
    if op is sre.BRANCH:
        return list(value[1])
    if op is sre.SUBPATTERN:
        return [value[3]]
    if op is sre.ATOMIC_GROUP:
        return [value]
    if op in (sre.ASSERT, sre.ASSERT_NOT):
        return [value[1]]
    if op is sre.GROUPREF_EXISTS:
        return [one for one in value[1:] if one is not None]
    return []
