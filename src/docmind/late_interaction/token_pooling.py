"""Token pooling: a page as few vectors, the means of groups of similar patches, for search in many pages.

Above some thousands of pages a question is first compared with these, and only the best pages are scored with all their
vectors. A page's vectors are grouped by k-means, started from vectors spread evenly over the page; the means are scaled
to length 1. Means of rows and columns of patches, or of tiles, find less: a word is one patch or two, and is lost in
them.
"""

from __future__ import annotations

import numpy as np

from docmind.late_interaction.quantize import PAGE_LIMIT

DIGEST = 96  # vectors: with 64 twice as many pages have to be scored directly to find the same
_ROUNDS = 2


def digest(vectors: np.ndarray) -> np.ndarray:
    """Return `(DIGEST, dim)` int8 for a page `(tokens, dim)` float32; a page of fewer tokens repeats some.

    One step has the same value in all digests: a rotated vector of length 1 has no component above about 5.5 /
    sqrt(dim).
    """
    means = vectors[np.linspace(0, len(vectors) - 1, DIGEST).round().astype(int)]
    for _ in range(_ROUNDS):
        nearest = (vectors @ means.T).argmax(axis=1)
        sums = (nearest == np.arange(DIGEST)[:, None]).astype(np.float32) @ vectors
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        means = np.where(lengths > 0, sums / np.where(lengths > 0, lengths, 1.0), means)
    largest = min(1.0, 5.5 / vectors.shape[1] ** 0.5)
    return np.rint(np.clip(means / largest, -1.0, 1.0) * PAGE_LIMIT).astype(np.int8)
