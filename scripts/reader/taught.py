"""Teaching of the passage reader: batches of a question with passages, the loss, and figures of what is set aside."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from pair_network import Network, padded, published
from torch import nn

from docmind.answers.extractive import JUDGED
from docmind.embedding.activations import packed
from docmind.embedding.bert_onnx import build_of_pairs
from docmind.embedding.bert_session import batches
from docmind.embedding.minilm_weights import tokenizer
from docmind.embedding.passage_reader import EPS, HEADS, LAYERS, given_of, joined
from eval.aside import TWINS, is_aside
from eval.fit_answers import SHOWN, Row
from eval.int8_activations import measured

FROZEN = 6  # first layers, which are not taught: they cost half of the time, and language is the same
TAUGHT, NEAR, RIGHT = 8, 4, 2  # passages of a question in a step: of these the nearest ones, and right ones at most
BATCH = 4  # questions of a step
RATE, WARM, LEAST, NORM = 5e-5, 0.1, 0.02, 1.0  # of learning; share of steps it rises in; its end; of gradients
RUN_TOKENS = 2_048
REPORTED = 300  # questions that the figures are of, since all of them take as long as to teach
SEED = 1


def teach(rows: Sequence[Row], epochs: int) -> dict[str, np.ndarray]:
    """Return what the questions teach whose documents are not set aside; print the figures of the others."""
    random.seed(SEED)
    torch.manual_seed(SEED)
    read = [row for row in rows if row.comparison is not None and "across" not in row.tags]
    own = [row for row in read if not is_aside(row.group) and (row.right.any() or is_twin(row))]
    others = [row for row in read if is_aside(row.group) and (row.right.any() or is_twin(row))]
    some = random.sample(others, min(len(others), REPORTED))
    pairs, taught = Pairs(), Taught(epochs * (len(own) // BATCH))
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

    def __init__(self, steps: int) -> None:
        self.net = Network(published(), FROZEN).bfloat16()
        self._parts = [one for one in self.net.parameters() if one.requires_grad]
        self._exact = [one.detach().float().clone().requires_grad_() for one in self._parts]
        self._prior, self._scale, self._none = (nn.Parameter(torch.tensor(one)) for one in (0.4, 0.3, 0.0))
        self._optimizer = torch.optim.AdamW(self._exact, lr=RATE, weight_decay=0.01)
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
    """Questions with passages as the network is given them; each is cut into pieces once."""

    def __init__(self) -> None:
        self._made, self._known = tokenizer(), dict[tuple[str, str], tuple[list[int], list[int]]]()

    def of(self, question: str, passage: str) -> tuple[list[int], list[int]]:
        """Return the pieces of both and their types."""
        if (question, passage) not in self._known:
            ids = joined(self._made, question, passage)
            types = given_of(np.array([ids]), np.ones((1, len(ids)), np.int64))["token_type_ids"][0].tolist()
            self._known[question, passage] = ids, types
        return self._known[question, passage]

    def run(self, net: Network, pairs: Sequence[tuple[str, str]]) -> torch.Tensor:
        """Return `(n,)` float32 logits of pairs."""
        encoded = [self.of(*pair) for pair in pairs]
        groups = batches([len(ids) for ids, _types in encoded], RUN_TOKENS)
        found = torch.cat([net(*padded([encoded[i] for i in group])) for group in groups])
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


def activations(weights: Mapping[str, np.ndarray], rows: Sequence[Row]) -> dict[str, np.ndarray]:
    """Return the ranges of what goes into the products of the graph, of questions that are taught."""
    return packed(measured(build_of_pairs(weights, layers=LAYERS, heads=HEADS, eps=EPS), _inputs(rows)))


def _inputs(rows: Sequence[Row]) -> Iterator[dict[str, np.ndarray]]:
    made = tokenizer()
    for row in rows:
        if row.comparison is not None and not is_aside(row.group):
            ids = np.array([joined(made, row.text, row.texts[int(np.argmax(row.scores))])], np.int64)
            yield given_of(ids, np.ones_like(ids))
