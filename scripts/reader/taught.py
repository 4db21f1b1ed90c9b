"""Teaching of the passage reader: batches of a question with passages, the loss, and figures of what is set aside."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from pair_network import SEED, Begun, Network
from torch import nn

from docmind.answers.extractive import JUDGED
from docmind.embedding.activations import packed
from docmind.embedding.bert_session import batches
from eval.aside import TWINS, is_aside
from eval.fit_answers import SHOWN, Row
from eval.int8_activations import measured

FROZEN = 6  # first layers, which are not taught: they cost half of the time, and language is the same
TAUGHT, NEAR, RIGHT = 8, 4, 2  # passages of a question in a step: of these the nearest ones, and right ones at most
BATCH = 4  # questions of a step
RATE, WARM, LEAST, NORM = 5e-5, 0.1, 0.02, 1.0  # of learning; share of steps it rises in; its end; of gradients
RUN_TOKENS = 2_048
REPORTED = 300  # questions that the figures are of, since all of them take as long as to teach


def teach(begun: Begun, rows: Sequence[Row], epochs: int) -> dict[str, np.ndarray]:
    """Return the weights that the questions teach whose documents are not set aside; print the figures of others."""
    random.seed(SEED)
    torch.manual_seed(SEED)
    read = [row for row in rows if row.comparison is not None and (begun.reads_across or "across" not in row.tags)]
    own = [row for row in read if not is_aside(row.group) and (row.right.any() or is_twin(row))]
    others = [row for row in read if is_aside(row.group) and (row.right.any() or is_twin(row))]
    some = random.sample(others, min(len(others), REPORTED))
    pairs, taught = Pairs(begun), Taught(begun, epochs * (len(own) // BATCH))
    print(f"{len(own)} questions are taught, {len(others)} are set aside")
    report("before", taught.net, pairs, some)
    for epoch in range(epochs):
        started, total = time.monotonic(), 0.0
        random.shuffle(own)
        for at in range(0, len(own) - BATCH + 1, BATCH):
            chosen = [(row, drawn(row)) for row in own[at : at + BATCH]]
            logits = pairs.run(taught.net, [(row.text, row.texts[i]) for row, those in chosen for i in those])
            loss, begin = torch.zeros(()), 0
            for row, those in chosen:
                end = begin + len(those)
                loss = loss + taught.loss(logits[begin:end], prior(row)[those], torch.from_numpy(row.right[those]))
                begin = end
            taught.step(loss / BATCH)
            total += float(loss.detach())
        print(f"epoch {epoch + 1}: loss {total / len(own):.3f}, {time.monotonic() - started:.0f} s", flush=True)
        report(f"after epoch {epoch + 1}", taught.net, pairs, some)
    return taught.net.weights()


def is_twin(row: Row) -> bool:
    """Return whether a question has no answer, and is not known from one that has by its words."""
    return row.of_set == TWINS and not row.is_answerable


class Taught:
    """The network in bfloat16 with its exact weights, since small steps are lost in bfloat16, and what teaches them."""

    def __init__(self, begun: Begun, steps: int) -> None:
        self.net = Network(begun, FROZEN)
        named = [(name, one) for name, one in self.net.named_parameters() if one.requires_grad]
        self._exact = [one.detach().clone().requires_grad_() for _name, one in named]
        self.net.bfloat16()
        self._parts = [one for _name, one in named]
        self._prior, self._scale, self._none = (nn.Parameter(torch.tensor(one)) for one in (0.4, 0.3, 0.0))
        rates = [RATE if name.startswith("layers") else RATE * begun.head_rate for name, _one in named]
        groups = [{"params": [one], "lr": rate} for one, rate in zip(self._exact, rates, strict=True)]
        self._optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
        self._scales = torch.optim.Adam([self._prior, self._scale, self._none], lr=0.01)
        self._rate = torch.optim.lr_scheduler.LambdaLR(
            self._optimizer, lambda at: min(1.0, (at + 1) / (WARM * steps)) * max(LEAST, 1 - at / steps)
        )

    def loss(self, logits: torch.Tensor, prior: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Return the loss of one question.

        The right passage is to be chosen among all, beside what the evidence says; it is to be above `none`; and
        without the right ones no other is to be: the question is the same both times, so that it cannot tell by itself.
        """
        logits = self._scale * logits
        with_none = torch.cat([logits, self._none[None]])
        is_right = torch.cat([right, torch.zeros(1, dtype=torch.bool)])
        loss = with_none[~is_right].logsumexp(0) - self._none
        if right.any():
            both = logits + self._prior * prior
            loss = loss + both.logsumexp(0) - both[right].logsumexp(0)
            loss = loss + with_none.logsumexp(0) - with_none[is_right].logsumexp(0)
        return loss

    def step(self, loss: torch.Tensor) -> None:
        """Make the weights a little better."""
        self.net.zero_grad()
        self._scales.zero_grad()
        loss.backward()
        for part, exact in zip(self._parts, self._exact, strict=True):
            exact.grad = part.grad.float() if part.grad is not None else None
        nn.utils.clip_grad_norm_(self._exact, NORM)
        self._optimizer.step()
        self._scales.step()
        self._rate.step()
        with torch.no_grad():
            for part, exact in zip(self._parts, self._exact, strict=True):
                part.copy_(exact)


def prior(row: Row) -> torch.Tensor:
    """Return the logarithms of the probabilities that the evidence gives to the passages of a question."""
    return torch.from_numpy(row.scores - np.logaddexp.reduce(row.scores)).float()


def drawn(row: Row) -> list[int]:
    """Return the passages of a step: right ones, the nearest others, and some of the rest."""
    best = np.argsort(-row.scores, kind="stable").tolist()
    right, others = [i for i in best if row.right[i]][:RIGHT], [i for i in best[:JUDGED] if not row.right[i]]
    rest = others[NEAR:]
    return right + others[:NEAR] + random.sample(rest, min(len(rest), max(0, TAUGHT - NEAR - len(right))))


class Pairs:
    """Questions with passages as the layers that are taught are given them: what comes before is computed once.

    Takes 60 KB of memory a pair.
    """

    def __init__(self, begun: Begun) -> None:
        self._begun, self._known = begun, dict[tuple[str, str], torch.Tensor]()

    def run(self, net: Network, pairs: Sequence[tuple[str, str]]) -> torch.Tensor:
        """Return `(n,)` float32 logits of pairs."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        pieces = [self._begun.joined(*pair) for pair in new]
        for group in batches(list(map(len, pieces)), RUN_TOKENS):
            begun = net.begin([pieces[i] for i in group])
            self._known |= {new[i]: states for i, states in zip(group, begun, strict=True)}
        states = [self._known[pair] for pair in pairs]
        groups = batches(list(map(len, states)), RUN_TOKENS)
        found = torch.cat([net([states[i] for i in group]) for group in groups])
        place = torch.empty(len(pairs), dtype=torch.long)
        place[torch.tensor([i for group in groups for i in group])] = torch.arange(len(pairs))
        return found[place]


def report(name: str, net: Network, pairs: Pairs, rows: Sequence[Row]) -> None:
    """Print the figures of questions that were set aside, by the weight of the reader beside the evidence."""
    with torch.no_grad():
        best = [np.argsort(-row.scores, kind="stable")[:JUDGED] for row in rows]
        found = [
            pairs.run(net, [(row.text, row.texts[i]) for i in those]).numpy()
            for row, those in zip(rows, best, strict=True)
        ]
    read = list(zip(rows, best, found, strict=True))
    answered = [one for one in read if one[0].right.any()]
    print(f"{name}, {len(answered)} questions with an answer")
    for weight in (0.0, 0.2, 0.4, 0.8, 1.6):
        first, anywhere = np.mean([shown(*one, weight) for one in answered], axis=0)
        print(f"  evidence + {weight} x reader: first {first:.3f}, any of five {anywhere:.3f}")
    judged = [(one, one[~row.right[those]]) for row, those, one in answered if not row.right[those].all()]
    whole, rest = (np.array([one.max() for one in some]) for some in zip(*judged, strict=True))
    twins = np.array([one.max() for row, _those, one in read if is_twin(row)])
    asked = np.array([one.max() for row, _those, one in answered if row.of_set == TWINS])
    print(
        f"  area under the curve: with and without the right passages {(whole[:, None] > rest).mean():.3f}, "
        f"beside {len(twins)} twins without an answer {(asked[:, None] > twins).mean():.3f}",
        flush=True,
    )


def shown(row: Row, best: np.ndarray, found: np.ndarray, weight: float) -> tuple[bool, bool]:
    """Return whether the first passage is right, and whether any of five is."""
    scores = row.scores + weight * found.min()
    scores[best] = row.scores[best] + weight * found
    order = row.order(scores, SHOWN)
    return bool(row.right[order[:1]].any()), bool(row.right[order].any())


def activations(begun: Begun, packed_file: Mapping[str, np.ndarray], rows: Sequence[Row]) -> dict[str, np.ndarray]:
    """Return the ranges of what goes into the products of the graph, of questions that are taught."""
    return packed(measured(begun.graph(packed_file), _inputs(begun, rows)))


def _inputs(begun: Begun, rows: Sequence[Row]) -> Iterator[dict[str, np.ndarray]]:
    for row in rows:
        if row.comparison is not None and not is_aside(row.group):
            ids = np.array([begun.joined(row.text, row.texts[int(np.argmax(row.scores))])], np.int64)
            yield begun.given(ids, np.ones_like(ids))
