"""Questions over tables: the fit of what speaks for a query, and how many are right with each pile left out.

`tables/` has piles of sixteen made-up tables in five languages with 200 questions each, written by people who had
not seen how they are answered, two thirds in words that the tables lack. Each has its meaning: `task`, `column`,
`where`, `by`, and `expect`, what a right answer says; `none` where no table has it. Beside each pile stand papers of a
household with questions that no table answers.

Four models are fitted: what is asked for, by the vector of a question; which head and which set of conditions is meant,
a softmax over those of the right table; and which candidate of all tables, or none, by a small network.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from harness import add_missing, json_rows, opened, save_arrays, vault_place

from docmind.application import DocMind
from docmind.embedding import Meanings, open_text_model
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters
from docmind.tables.asking import asked_of
from docmind.tables.candidates import COMPUTED, EXTREMES, Candidate, Head
from docmind.tables.conditions import SIGNS, Sign
from docmind.tables.evidence import Limit, QuestionMeaning
from docmind.tables.groups import meant, scores_of
from docmind.tables.ranking import ONE_CELL, Meant, Prior, Weights, asked_features, none_features, sign_features
from docmind.tables.service import TableAnswers
from docmind.tables.shapes import Shape

PILES = Path(__file__).with_name("tables")
PAPERS = Path(__file__).with_name("papers")
TEXTS = ("papers", "papers_more", "papers_twins")
FITTED = Path(__file__).resolve().parents[2] / "src" / "docmind" / "tables" / "ranking.safetensors"
BESIDE, ASKED_BESIDE, OTHERS = 12, 50, 1_200  # papers and their questions beside a pile; questions of texts
IN_TABLES = frozenset({"row", "list", "label"})  # tags of questions over texts that a table might answer
SURE = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
HIDDEN = 48  # units of the network
SEEN = 420  # candidates of a question in one step, with the right ones


@dataclass(slots=True)
class Case:
    """A question of a pile, and the shapes that it may be about; `gold` is its meaning, None where no table has it."""

    pile: str
    gold: Mapping[str, Any] | None
    question: QuestionMeaning
    shapes: Sequence[tuple[Shape, Prior]]
    own: Shape | None
    features: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    right: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    none: np.ndarray = field(default_factory=lambda: np.zeros(0))


def fit() -> None:
    """Print the outcomes with each pile left out, and write the weights that all give."""
    torch.manual_seed(0)
    cases = [case for pile in sorted(PILES.iterdir()) if pile.is_dir() for case in cases_of(pile)]
    names = sorted({case.pile for case in cases})
    others = list(_of_texts(cases[0].question.meanings))
    asked = {name: asked_and_signs([one for one in cases if one.pile != name], others) for name in (*names, "")}
    heads, sets = _parts(cases, asked)
    for case in cases:
        _describe(case, Weights({**asked[case.pile], "heads": heads, "sets": sets}))
    outcomes: list[tuple[Case, float, bool]] = []
    for name in names:
        network = _network([case for case in cases if case.pile != name])
        outcomes += [(case, *_outcome(case, network)) for case in cases if case.pile == name]
        _print(f"pile {name} left out", [one for one in outcomes if one[0].pile == name])
    _print("all piles, each left out", outcomes)
    for task in (*COMPUTED, "none"):
        _print(task, [one for one in outcomes if (one[0].gold["task"] if one[0].gold else "none") == task])
    arrays = {**asked[""], "heads": heads, "sets": sets, **_network(cases)}
    save_arrays(FITTED, {name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()})


def cases_of(pile: Path) -> Iterator[Case]:
    """Yield the questions of a pile, and of the papers beside it, with the shapes that they may be about."""
    rows = [{**row, "pile": pile.name} for row in json_rows(pile / "questions.jsonl")]
    with vault_place(None) as place, opened(place) as docmind:
        add_missing(docmind, pile)
        if pile.parent == PILES:
            rows += _papers_beside(docmind, int(pile.name))
        model = open_text_model(docmind.configured)
        meanings = Meanings(model)
        groups = TableAnswers(docmind.vault.catalog, meanings).groups(Filters())
        shapes = {shape.names.tables[0].document: shape for group in groups for shape in group.shapes(meanings)}
        for row in rows:
            asked = asked_of(row["q"])
            if asked is None:
                continue
            question = QuestionMeaning(asked, meanings)
            found = scores_of(docmind.search(Query(row["q"])).hits)
            gold = row if row["task"] != "none" else None
            own = shapes.get(Path(row["doc"]).name) if gold else None
            yield Case(row["pile"], gold, question, meant(question, groups, found, meanings), own)


def _papers_beside(docmind: DocMind, number: int) -> list[dict[str, Any]]:
    """Add some of the papers to the library, and return questions about them that no table answers."""
    chance = random.Random(number)  # noqa: S311
    names = sorted(path.name for path in (PAPERS / "docs").iterdir())
    names = names[(number - 1) * BESIDE : number * BESIDE]
    list(docmind.add([Upload(name, (PAPERS / "docs" / name).read_bytes()) for name in names]))
    rows = [row for row in json_rows(PAPERS / "questions.jsonl") if not IN_TABLES & set(row["tags"])]
    asked = [row["question"] for row in rows if Path(row["doc"]).name in names]
    lacking = [row["question"] for row in json_rows(PAPERS / "unanswerable.jsonl") if Path(row["about"]).name in names]
    drawn = chance.sample(asked, min(ASKED_BESIDE, len(asked))) + chance.sample(lacking, min(12, len(lacking)))
    return [{"q": text, "task": "none", "doc": "", "pile": str(number)} for text in drawn]


def _of_texts(meanings: Meanings) -> Iterator[QuestionMeaning]:
    """Yield questions over texts, which no table answers."""
    chance = random.Random(1)  # noqa: S311
    rows = [
        row
        for name in TEXTS
        for row in json_rows(PAPERS.with_name(name) / "questions.jsonl")
        if not IN_TABLES & set(row["tags"])
    ]
    for row in chance.sample(rows, OTHERS):
        if (asked := asked_of(row["question"])) is not None:
            yield QuestionMeaning(asked, meanings)


def asked_and_signs(cases: Sequence[Case], others: Sequence[QuestionMeaning]) -> dict[str, np.ndarray]:
    """Fit what the words of a question tell: what is asked for, and what its numbers limit."""
    return {**_asked(cases, others), **_signs(cases)}


def _signs(cases: Sequence[Case]) -> dict[str, np.ndarray]:
    """Fit what a number is in a condition, by the words around it: weights `(7, features)` and their bias."""
    known = [case for case in cases if case.gold is not None and case.question.limits]
    x = np.concatenate([sign_features(case.question) for case in known])
    y = [SIGNS.index(_sign_of(case.gold or {}, one)) for case in known for one in case.question.limits]
    return dict(zip(("signs", "signs_bias"), _linear(x, y, len(SIGNS)), strict=True))


def _sign_of(gold: Mapping[str, Any], limit: Limit) -> Sign:
    """Return what a number or a date is in the conditions that are meant, "" where it is in none."""
    for _column_name, operator, value in gold["where"]:
        values = value if isinstance(value, list) else [value]
        sign: Sign = "=" if operator in ("=", "year") else operator if operator in SIGNS else ""
        for one in values:
            is_number = isinstance(one, int | float) and float(one) == limit.number
            is_day = bool(limit.day) and isinstance(one, str) and limit.day in (one[: len(limit.day)], one[5:])
            if sign and (is_number or is_day):
                return sign
    return ""


def _asked(cases: Sequence[Case], others: Sequence[QuestionMeaning]) -> dict[str, np.ndarray]:
    """Fit what is asked for: the weights `(14, features)` and their bias, the last for that no table is meant."""
    names = (*COMPUTED, "none")
    known = [case for case in cases if case.gold is not None]
    x = np.array([asked_features(one) for one in [*(case.question for case in known), *others]], np.float32)
    y = [*(names.index(case.gold["task"]) for case in known if case.gold), *[len(COMPUTED)] * len(others)]
    return dict(zip(("asked", "asked_bias"), _linear(x, y, len(names)), strict=True))


def _linear(x: np.ndarray, y: Sequence[int], classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Fit which class each row is: weights `(classes, features)` and their bias."""
    model = torch.nn.Linear(x.shape[1], classes)
    steps = torch.optim.AdamW(model.parameters(), lr=0.02, weight_decay=0.02)
    given, wanted = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    for _step in range(400):
        steps.zero_grad()
        torch.nn.functional.cross_entropy(model(given), wanted, label_smoothing=0.05).backward()
        steps.step()
    return model.weight.detach().numpy(), model.bias.detach().numpy()


def _parts(cases: Sequence[Case], asked: Mapping[str, dict[str, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Fit which head and which set of conditions is meant, on the tables that the questions are about."""
    heads: list[tuple[np.ndarray, np.ndarray]] = []
    sets: list[tuple[np.ndarray, np.ndarray]] = []
    prior = Prior(*[0.0] * 8)
    for case in cases:
        if case.gold is None or case.own is None:
            continue
        every = Meant(case.question, case.own, prior, Weights(asked[case.pile]).hints(case.question), None)
        rows = rows_meant(case.gold, case.own)
        heads.append((every.head_features, np.array([is_head(case.gold, head, case.own) for head in every.heads])))
        masks = [case.own.kept([one.filter for one in conditions]) for conditions in every.sets]
        sets.append((every.set_features, np.array([rows is not None and bool((mask == rows).all()) for mask in masks])))
    for name, found in (("heads", heads), ("sets", sets)):
        print(f"{name}: {len(found)} questions, {np.mean([right.any() for _x, right in found]):.2f} have the right one")
    return _softmax(heads), _softmax(sets)


def _softmax(found: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return weights by which one of the right ones of each question is the best."""
    known = [(x, right) for x, right in found if right.any()]
    every = np.concatenate([x for x, _right in known])
    scale = every.std(axis=0) + 0.05
    given = [
        (torch.tensor((x - every.mean(axis=0)) / scale, dtype=torch.float32), torch.tensor(right)) for x, right in known
    ]
    weights = torch.zeros(every.shape[1], requires_grad=True)
    steps = torch.optim.AdamW([weights], lr=0.05, weight_decay=0.02)
    for _step in range(60):
        steps.zero_grad()
        losses = [torch.logsumexp(x @ weights, 0) - torch.logsumexp((x @ weights)[right], 0) for x, right in given]
        torch.stack(losses).mean().backward()
        steps.step()
    ranks = [int((x @ weights).argsort(descending=True).argsort()[right].min()) for x, right in given]
    print("  first", *(f"{most}: {np.mean([rank < most for rank in ranks]):.2f}" for most in (1, 3, 8, 20)))
    return weights.detach().numpy() / scale


def _describe(case: Case, weights: Weights) -> None:
    """Set the features of all candidates of a question, and which of them are right."""
    hints = weights.hints(case.question)
    features, right = [], []
    for shape, prior in case.shapes:
        found = Meant(case.question, shape, prior, hints, weights)
        if found.candidates:
            features.append(found.features.astype(np.float32))
            is_own = case.gold is not None and shape is case.own
            right += [is_own and is_right(case.gold or {}, one, found.heads, shape) for one in found.candidates]
    case.features = np.concatenate(features) if features else np.zeros((0, 0), np.float32)
    case.right, case.none = np.array(right, bool), none_features(case.question, hints.none)


def _network(cases: Sequence[Case], epochs: int = 14) -> dict[str, np.ndarray]:
    """Fit which candidate is meant, or none, by steps over the questions."""
    known = [case for case in cases if len(case.right) and (case.gold is None or case.right.any())]
    chance = np.random.default_rng(0)
    drawn = np.concatenate([case.features[chance.permutation(len(case.right))[:60]] for case in known])
    mean, scale = drawn.mean(axis=0), drawn.std(axis=0) + 1e-3
    size = len(mean)
    inner, outer = torch.nn.Linear(size, HIDDEN), torch.nn.Linear(HIDDEN, 1, bias=False)
    direct, none = torch.nn.Linear(size, 1, bias=False), torch.nn.Linear(len(known[0].none), 1)
    drop = torch.nn.Dropout(0.1)
    parameters = [one for part in (inner, outer, direct, none) for one in part.parameters()]
    steps = torch.optim.AdamW(parameters, lr=2e-3, weight_decay=0.02)
    total = epochs * (len(known) // 8 + 1)
    rate = torch.optim.lr_scheduler.OneCycleLR(steps, 4e-3, total_steps=total)
    for _epoch in range(epochs):
        order = chance.permutation(len(known))
        for start in range(0, len(order), 8):
            losses = []
            for case in (known[at] for at in order[start : start + 8]):
                right = np.flatnonzero(case.right)
                seen = np.unique(np.concatenate([right, chance.permutation(len(case.right))[: SEEN - len(right)]]))
                x = torch.tensor(np.clip((case.features[seen] - mean) / scale, -6, 6))
                scores = (outer(torch.relu(inner(drop(x)))) + direct(x)).squeeze(-1)
                nothing = none(torch.tensor(case.none, dtype=torch.float32))
                wanted = nothing if case.gold is None else scores[torch.tensor(case.right[seen])]
                losses.append(torch.logsumexp(torch.cat([scores, nothing]), 0) - torch.logsumexp(wanted, 0))
            steps.zero_grad()
            torch.stack(losses).mean().backward()
            steps.step()
            rate.step()
    told = {
        "mean": mean, "scale": scale, "inner": inner.weight.T, "inner_bias": inner.bias, "outer": outer.weight[0],
        "direct": direct.weight[0], "none": none.weight[0], "none_bias": none.bias,
    }  # fmt: skip
    return {name: one.detach().numpy() if isinstance(one, torch.Tensor) else one for name, one in told.items()}


def _outcome(case: Case, arrays: Mapping[str, np.ndarray]) -> tuple[float, bool]:
    """Return the probability of the best candidate, 0 where none is likelier, and whether it is right."""
    if not len(case.right):
        return 0.0, False
    weights = Weights(arrays)
    scores = np.append(weights.pairs(case.features), weights.none(case.none))
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    best = int(shares[:-1].argmax())
    return (float(shares[best]) if shares[best] > shares[-1] else 0.0), bool(case.right[best])


def _print(name: str, found: Sequence[tuple[Case, float, bool]]) -> None:
    answerable = [one for one in found if one[0].gold is not None]
    best = sum(is_right_ for _case, _p, is_right_ in answerable)
    there = sum(bool(case.right.any()) for case, _p, _r in answerable)
    told = []
    for least in SURE:
        shown = [is_right_ for _case, p, is_right_ in found if p >= least]
        told.append(f"≥{least}: {sum(shown)} right {len(shown) - sum(shown)} wrong")
    print(
        f"{name}: {len(found)}, {len(answerable)} answerable; best is right {best}, it is there {there}; "
        + "; ".join(told),
        flush=True,
    )


def is_head(gold: Mapping[str, Any], head: Head, shape: Shape) -> bool:
    """Return whether a head computes what a question means."""
    task, column, by = gold["task"], _column(gold["column"], shape), _column(gold["by"], shape)
    if task in ("largest", "smallest") and by is not None and not shape.is_unique[by]:
        means = ("count",) if column is None else ("sum", "mean")
        return (head.best, head.group, head.column) == (task, by, column) and head.computed in means
    if task in EXTREMES:
        alike = {"first": "smallest", "last": "largest", "largest": "last", "smallest": "first"}[task]
        return not head.best and head.computed in (task, alike) and head.column == column
    if task in ("sum", "count", "mean") and by is not None:
        return (head.computed, head.group, head.best, head.column) == (task, by, "", column)
    is_plain = head.group is None and head.other is None
    return is_plain and head.computed == task and head.column == column


def is_right(gold: Mapping[str, Any], one: Candidate, heads: Sequence[Head], shape: Shape) -> bool:
    """Return whether a candidate is what a question means: what is computed, over the same rows, and what it names."""
    head, rows = heads[one.head], rows_meant(gold, shape)
    if rows is None:
        return False
    mask = shape.kept([condition.filter for condition in one.conditions])
    if one.query.less:
        part, less = (shape.kept([*one.query.filters, *two]) for two in (one.query.part, one.query.less))
        return is_head(gold, head, shape) and bool((part | less == rows).all() and part.any() and less.any())
    if not (mask == rows).all():
        return False
    is_single = {gold["task"], head.computed} <= ONE_CELL and int(rows.sum()) == 1
    if is_single and not gold["by"]:
        return head.column == _column(gold["column"], shape)
    return is_head(gold, head, shape) and (
        head.computed not in EXTREMES or bool(head.best) or _names(gold, head, shape, mask)
    )


def _names(gold: Mapping[str, Any], head: Head, shape: Shape, mask: np.ndarray) -> bool:
    """Return whether the row with the extreme says all that is expected, by its label or the extreme itself."""
    cells = [(at, shape.cells[head.column or 0][at]) for at in np.flatnonzero(mask)]
    held = [(at, cell) for at, cell in cells if cell is not None]
    if not held:
        return False
    ends: Callable[..., Any] = min if head.computed in ("smallest", "first") else max
    best = ends(cell for _at, cell in held)
    shown = [row.shown for table in shape.names.tables for row in table.rows]
    columns = [column for column in (head.column, head.label) if column is not None]
    said = {_plain(shown[at][column]) for at, cell in held if cell == best for column in columns}
    said |= {_plain(best)}
    return all(_plain(one) in said for one in gold["expect"])


def rows_meant(gold: Mapping[str, Any], shape: Shape) -> np.ndarray | None:
    """Return the rows that a question is about, `(rows,)` of bool; None where a column is not there."""
    shown = [row.shown for table in shape.names.tables for row in table.rows]
    alike: dict[tuple[int, str], list[np.ndarray]] = {}
    for name, operator, value in gold["where"]:
        column = _column(name, shape)
        if column is None:
            return None
        mask = np.array(
            [_is_met(operator, value, row[column].strip(), shape.cells[column][n]) for n, row in enumerate(shown)], bool
        )
        alike.setdefault((column, operator), []).append(mask)
    total = np.ones(len(shown), bool)
    for (_column_no, operator), masks in alike.items():
        total &= np.any(masks, axis=0) if operator in ("=", "month", "year") else np.all(masks, axis=0)
    return total


def _is_met(operator: str, value: Any, shown: str, cell: float | str | None) -> bool:
    """Return whether a cell, as it is shown and as it is stored, meets a condition of the set."""
    values: list[Any] = value if isinstance(value, list) else [value]  # type: ignore[assignment]
    if operator in ("empty", "filled"):
        return (not shown) == (operator == "empty")
    if operator in ("=", "!="):
        is_equal = any(
            _plain(shown) == _plain(one) or (isinstance(cell, float) and _plain(cell) == _plain(one)) for one in values
        )
        return is_equal if operator == "=" else bool(shown) and not is_equal
    if operator in ("month", "year"):
        part = slice(5, 7) if operator == "month" else slice(0, 4)
        return isinstance(cell, str) and cell[part] == f"{int(values[0]):02}"
    if cell is None:
        return False
    try:
        limits = [float(one) if isinstance(cell, float) else str(one) for one in values]
    except ValueError:
        return False
    signs: dict[str, Callable[[Any, Any], bool]] = {
        ">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    }  # fmt: skip
    if operator == "between":
        return limits[0] <= cell <= limits[1]  # type: ignore[operator]
    return signs[operator](cell, limits[0])


def _column(name: str | None, shape: Shape) -> int | None:
    names = [column.name.strip() for column in shape.columns]
    return names.index(name.strip()) if name is not None and name.strip() in names else None


def _plain(value: Any) -> str:
    """Return a value as it is compared: a number without marks, a text in lower case."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = " ".join(str(value).split()).casefold()
    try:
        return f"{float(text):.6g}"
    except ValueError:
        return text
