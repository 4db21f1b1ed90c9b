"""What the evidence of an answer weighs, with a text model (True) and by words alone (False).

Written by `scripts/eval FOLDER fit-answers`, in the order of `evidence.PASSAGE` and `evidence.CERTAINTY`.
Questions: papers, 729 with an answer and 370 without; plain, 152 with an answer and 79 without; everyday, 61 with an answer and 40 without.
"""

from __future__ import annotations

PASSAGE: dict[bool, tuple[float, ...]] = {True: (0.574, 1.89, 0.283, 0.85, 0.033, 0.181, 1.602, -0.509, 9.105, -9.851, -2.751, 0.876, 0.048, 0.537, -0.922, -1.545, -0.892, -1.727, 0.231, 0.123, 0.639, 0.439, 0.265, -0.867, -1.363), False: (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.675, -0.644, 5.575, -1.036, -2.389, 1.919, 0.171, 1.318, 0.485, -1.633, -1.791, -1.648, 0.359, 0.294, 1.058, 0.728, 0.995, -0.814, -0.765)}
FOUND: dict[bool, tuple[float, tuple[float, ...]]] = {True: (-7.609, (1.594, 1.859, 4.637, -0.492, 0.01, 0.086, 0.382, 0.311, 0.187, 1.793, -0.315, 1.788, -1.284, -0.0, -4.318, 0.094, 0.896, -0.032, -0.221)), False: (-5.545, (1.68, 0.802, 0.0, 0.0, 0.0, 2.37, -0.264, 0.089, 0.74, 1.444, -0.395, 1.571, -0.739, 0.169, 0.0, -0.029, 0.815, -0.013, -0.27))}
FIRST: dict[bool, tuple[float, tuple[float, ...]]] = {True: (-8.514, (2.983, 1.416, 5.229, -1.381, -0.157, 0.291, 0.891, -0.283, 0.398, 1.808, -0.346, 1.811, -2.119, 0.238, -3.849, 0.215, 0.036, 0.158, -0.2)), False: (-6.866, (3.172, 0.891, 0.0, 0.0, 0.0, 1.762, 0.405, -0.548, 0.716, 1.816, -0.306, 1.184, -2.023, 0.658, 0.0, 0.09, 0.327, -0.124, -0.212))}
