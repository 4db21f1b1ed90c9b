"""Installed packages: the extras, with the line that installs them, and the licence that a package states."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from docmind.errors import ExtraMissingError

if TYPE_CHECKING:
    from importlib.metadata import PackageMetadata

EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "colpali": ("Models in the form of colpali-engine", ("colpali_engine", "torchvision", "peft")),
    "traces": ("Traces", ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.common")),
}
"""By the extra's name in pyproject.toml: the feature that needs it, and the packages that it must install."""

_BESIDE = {"colpali": ", with a torchvision that fits your torch"}


def need_extra(extra: str) -> None:
    """Raise `ExtraMissingError` with the install line where a package of this extra is not installed.

    Nothing is imported.
    """
    what, packages = EXTRAS[extra]
    missing = [package for package in packages if not _is_there(package)]
    if missing:
        raise ExtraMissingError(
            f"{what} need {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed.",
            hint=f'Run: pip install "docmind[{extra}]"{_BESIDE.get(extra, "")}.',
        )


def _is_there(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # of the package that it lies in
        return False


def licence_of(about: PackageMetadata) -> str:
    """Return the licence that a package's metadata states, in up to 80 characters; "" where it states none."""
    kinds = [value for value in about.get_all("Classifier") or () if value.startswith("License ::")]
    named = [*(about.get_all("License-Expression") or ()), *(kind.rpartition(":: ")[2] for kind in kinds)]
    told = next(iter([*named, *(about.get_all("License") or ())]), "")
    return told.strip().partition("\n")[0][:80]
