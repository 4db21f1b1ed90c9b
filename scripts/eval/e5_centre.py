"""Fit what DocMind takes from the vectors of multilingual-e5-small: a share of their mean, and their language.

    .venv/bin/python scripts/eval FOLDER fit-e5

FOLDER holds one folder a language (`en`, `pt`, `ja`, …) with plain text files; best, the same texts in all of them, so
that the means differ by language alone. The file in the package was fitted on the Debian Administrator's Handbook and
GNOME's user guide in 23 languages. Writes `src/docmind/embedding/e5_centre.safetensors` and prints its sha256, which
`docmind.embedding.e5` must name.

The directions of language are the first principal ones of the languages' means, of questions and of passages, which
have `VARIANCE` of the variance of these means.

An example is a window, a fragment of it as another passage, and a shorter fragment as a question; all lengths from
three word pieces up are there, because the prefixes weigh more in short texts. Decisions are made on the nearest
cosines of a text, so these should be MiniLM's in English, where MiniLM is at home: those with the nearest of all other
examples, and with the nearest when the text's own example is there too. For each share the table has both means, the
root of the mean squared difference and the mean difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import exp, log
from pathlib import Path
from random import Random

import numpy as np
from harness import save_arrays

from docmind.embedding.chunking import windows
from docmind.embedding.e5 import E5, PASSAGE, QUERY, centred, default_cache_dir
from docmind.embedding.minilm import MiniLM

TARGET = Path(__file__).resolve().parents[2] / "src/docmind/embedding/e5_centre.safetensors"
EXAMPLES, ENGLISH = 80, 240  # of a language; of English
PER_FILE, LONGEST = 2, 6_000  # windows and characters of one file
SHORTEST, QUESTION, WINDOW = 3, 40, 40  # word pieces: fragments at least, questions at most, windows at least
SHARES = (0.0, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
VARIANCE = 0.9  # of the means of languages, in the directions that are removed
KINDS = (0, 2), (1, 2), (0, 1)  # question and windows, fragment and windows, question and fragments

Vectors = list[np.ndarray]
"""Of questions, fragments and windows, `(n, 384)` each."""


def fit(folder: Path) -> None:
    """Fit, write and print."""
    model = E5(default_cache_dir())
    means: list[tuple[np.ndarray, np.ndarray]] = []
    english: tuple[Vectors, Vectors] | None = None
    for place in sorted(folder.iterdir()):
        found = list(islice(_examples(model, place), ENGLISH if place.name == "en" else EXAMPLES))
        texts = [list(kind) for kind in zip(*found, strict=True)]
        vectors = [model.plain(texts[0], QUERY), model.plain(texts[1], PASSAGE), model.plain(texts[2], PASSAGE)]
        means.append((vectors[0].mean(axis=0), np.concatenate(vectors[1:]).mean(axis=0)))
        print(f"{place.name}: {len(found)} examples", flush=True)
        if place.name == "en":
            minilm = MiniLM(default_cache_dir())
            english = vectors, [minilm.embed_documents(one) for one in texts]
    kinds = [np.stack(rows) for rows in zip(*means, strict=True)]
    query, passage = (rows.mean(axis=0) for rows in kinds)
    languages = _directions(np.concatenate([rows - rows.mean(axis=0) for rows in kinds]))
    print(f"{len(languages)} directions")
    save_arrays(TARGET, {"query": query, "passage": passage, "languages": languages})
    if english is not None:
        _table(*english, [query, passage, passage], languages)


def _directions(differences: np.ndarray) -> np.ndarray:
    """Return the first principal directions `(k, dim)` of rows `(n, dim)`, which have `VARIANCE` of their variance."""
    _, lengths, directions = np.linalg.svd(differences, full_matrices=False)
    explained = np.cumsum(lengths**2) / (lengths**2).sum()
    return np.ascontiguousarray(directions[: int(np.searchsorted(explained, VARIANCE)) + 1], np.float32)


def _table(vectors: Vectors, expected: Vectors, means: Vectors, languages: np.ndarray) -> None:
    wanted = _nearest(expected)
    print(f"{'share':>6} {'own':>7} {'others':>7} {'rms':>7} {'mean':>7}")
    for share in SHARES:
        found = _nearest([centred(rows, mean, languages, share) for rows, mean in zip(vectors, means, strict=True)])
        difference = found - wanted
        print(
            f"{share:6.2f} {found[0].mean():7.3f} {found[1].mean():7.3f} {np.sqrt((difference**2).mean()):7.4f}"
            f" {difference.mean():+7.3f}"
        )
    print(f"MiniLM {wanted[0].mean():7.3f} {wanted[1].mean():7.3f}")


def _nearest(vectors: Vectors) -> np.ndarray:
    """Return `(2, n)`: the nearest cosine of each text with its own example there, and without it."""
    tables = [vectors[one] @ vectors[other].T for one, other in KINDS]
    others = [np.where(np.eye(len(table), dtype=bool), -1.0, table) for table in tables]
    return np.stack([np.concatenate([table.max(axis=1) for table in some]) for some in (tables, others)])


def _examples(model: E5, place: Path) -> Iterator[tuple[str, str, str]]:
    """Yield a question, a fragment and the window of both."""
    files = sorted(place.glob("*.txt"))
    random = Random(0)  # noqa: S311
    random.shuffle(files)
    for path in files:
        text = path.read_text("utf-8")[:LONGEST]
        for start, end in islice(windows(text, model.pieces(text)), PER_FILE):
            window = text[start:end]
            pieces = model.pieces(window)
            if len(pieces) >= WINDOW:
                yield _cut(random, window, pieces, QUESTION), _cut(random, window, pieces, len(pieces)), window


def _cut(random: Random, window: str, pieces: np.ndarray, most: int) -> str:
    """Return a part of the window; the logarithm of its length in word pieces is uniform."""
    count = round(exp(random.uniform(log(SHORTEST), log(most))))
    first = random.randrange(len(pieces) - count + 1)
    return window[pieces[first][0] : pieces[first + count - 1][1]]
