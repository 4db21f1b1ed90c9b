"""Optional parts: what each needs, and the line that installs it where it is missing."""

from __future__ import annotations

import importlib.util

from docmind.errors import ExtraMissingError

EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "colpali": ("Models in the form of colpali-engine", ("colpali_engine", "torchvision", "peft")),
}
"""By the name in pyproject.toml: what asks for it, and the packages it must bring."""


def need(extra: str) -> None:
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
