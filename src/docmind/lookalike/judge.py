"""How likely it is that a picture is of a page, from how they agree."""

from __future__ import annotations

import math

from docmind.lookalike.sighting import Comparison

FOUND = 0.5
_LIKENESS, _SLOPE = 0.55, 25.0
_INLIERS = 0.35
_FEW_BLOCKS = 4


def probability(compared: Comparison) -> float:
    """0..1. A picture with hardly any ink to compare proves little, however well it agrees."""
    if not compared.quad:
        return 0.0
    evidence = _SLOPE * (compared.likeness - _LIKENESS) + _INLIERS * (math.log1p(compared.inliers) - 2.0)
    chance = 1.0 / (1.0 + math.exp(-evidence))
    return round(min(chance, 0.4) if compared.blocks < _FEW_BLOCKS else chance, 4)
