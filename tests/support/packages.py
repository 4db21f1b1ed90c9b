"""Installed packages: what they require here, and an environment that has a wheel and what it requires, no more."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def closure(requirements: list[str]) -> dict[str, str]:
    """Return {name: installed version} of these requirements and of what they require here."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    queue = [(Requirement(text), "") for text in requirements]
    while queue:
        requirement, extra = queue.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        found[name] = package.version
        for wanted in ["", *sorted(requirement.extras)]:
            if (name, wanted) not in seen:
                seen.add((name, wanted))
                queue += [(Requirement(text), wanted) for text in package.requires or []]
    return found


def installed_alone(wheel: Path, folder: Path) -> Path:
    """Make an empty environment in `folder`, install a wheel in it, and return its folder of programs.

    What the wheel requires is not fetched: the files of those packages are linked from this environment, and of no
    other package. So what the metadata of the wheel do not name is not there.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    programs = folder / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (about,) = site.glob("docmind-*.dist-info")
    requirements = metadata.Distribution.at(about).requires or []
    ours = Path(metadata.distribution("pip")._path).parent  # pyright: ignore[reportAttributeAccessIssue]
    for name in closure([text for text in requirements if "extra ==" not in text]):
        files = metadata.distribution(name).files or []
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(ours / top)
    return programs
