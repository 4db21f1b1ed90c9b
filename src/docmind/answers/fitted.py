"""Weights of evidence."""

from __future__ import annotations

PASSAGE = {True: (0.0,) * 25, False: (0.0,) * 25}
FOUND = {True: (0.0, (0.0,) * 19), False: (0.0, (0.0,) * 19)}
FIRST = {True: (0.0, (0.0,) * 19), False: (0.0, (0.0,) * 19)}
KEPT_SURE, KEPT_UNSURE = 0.2, 0.02
