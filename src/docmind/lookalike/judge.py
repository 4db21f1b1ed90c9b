"""How likely it is that a picture is of a page, from how they agree."""

from __future__ import annotations

import math

from docmind.lookalike.sighting import Comparison

FOUND = 0.5
# Where a page and another document's page are told apart: 300 pictures of pages that are there had a likeness of at
# least 0.54 with 15 marks or more that agree; 300 of pages that are not, at most 0.59 with 12.
_LIKENESS, _SLOPE = 0.58, 14.0
_INLIERS, _WEIGHT = 13, 2.2
_FEW_BLOCKS = 4


def probability(compared: Comparison) -> float:
    """0..1. A picture with hardly any ink to compare proves little, however well it agrees."""
    if not compared.quad:
        return 0.0
    evidence = _SLOPE * (compared.likeness - _LIKENESS)
    evidence += _WEIGHT * (math.log1p(compared.inliers) - math.log1p(_INLIERS))
    chance = 1.0 / (1.0 + math.exp(-evidence))
    return round(min(chance, 0.4) if compared.blocks < _FEW_BLOCKS else chance, 4)
