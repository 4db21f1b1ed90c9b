"""Optional extras: the packages that each needs, and the line that installs them."""

from __future__ import annotations

import importlib.util

from docmind.errors import ExtraMissingError

EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "colpali": ("Models in the form of colpali-engine", ("colpali_engine", "torchvision", "peft")),
}
"""By the extra's name in pyproject.toml: the feature that needs it, and the packages that it must install."""


def need_extra(extra: str) -> None:
    """Raise `ExtraMissingError` with the install line where a package of this extra is not installed.

    Nothing is imported.
    """
    what, packages = EXTRAS[extra]
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        raise ExtraMissingError(
            f"{what} need {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed.",
            hint=f'Run: pip install "docmind[{extra}]", with a torchvision that fits your torch.',
        )
