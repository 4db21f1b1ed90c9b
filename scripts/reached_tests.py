"""Which files of tests a change reaches: `.venv/bin/python scripts/reached_tests.py FILE…` prints them, a line each.

Used by `run_tests.py --changed`. Tests mirror packages, so a changed module reaches

* the tests of its package,
* every file of tests that imports the module or its package,
* the files of tests that mirror a module of another package which imports them,
* the contract suites (`test_contract.py`) that import a package which the change reaches, however far,

and a changed file of tests or of their support reaches itself and every file of tests that imports it. Browser tests
are left out where they are not changed themselves: CI runs them. The tests of the architecture and of the docs are
always there.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath

import grimp

ROOT = Path(__file__).resolve().parent.parent
ALWAYS = ("tests/test_architecture.py", "tests/test_docs.py", "tests/wording/test_catalogues.py")
_PACKAGE = "docmind"
_BROWSER = "tests/browser"
_SUITE = "test_contract.py"


def reached(root: Path, files: Iterable[str]) -> list[str]:
    """Return the files of tests that changed files reach, sorted; all paths are relative to `root`, with slashes."""
    changed = [PurePosixPath(name) for name in files]
    tests = {path.relative_to(root).as_posix(): _imports(path) for path in sorted((root / "tests").rglob("*.py"))}
    found = {name for name in ALWAYS if name in tests}
    if modules := {_module(path) for path in changed if path.parts[:2] == ("src", _PACKAGE)}:
        found |= _of_modules(modules, tests)
    found |= _of_tests({path.as_posix() for path in changed if path.parts[0] == "tests"}, tests)
    return sorted(name for name in found if PurePosixPath(name).name.startswith("test_"))


def _of_modules(modules: set[str], tests: dict[str, set[str]]) -> set[str]:
    graph = _graph()
    packages = {_package(module) for module in modules}
    # Another package imports a package by its front door, whose exports are lazy: no import leads on from there.
    doors = {one for one in modules | packages if one in graph.modules and one != _PACKAGE}
    users = {user for door in doors for user in graph.find_modules_that_directly_import(door)}
    above = _above(packages, graph)
    found: set[str] = set()
    for name, imported in tests.items():
        path = PurePosixPath(name)
        is_own = any(path.is_relative_to(_folder(package)) for package in packages if package != _PACKAGE)
        is_importing = any(one == door or one.startswith(f"{door}.") for one in imported for door in doors)
        is_mirror = any(path in _mirrors(user) for user in users)
        is_suite = path.name == _SUITE and any(_package(one) in above for one in imported)
        if is_own or is_suite or ((is_importing or is_mirror) and not path.is_relative_to(_BROWSER)):
            found.add(name)
    return found


@cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph(_PACKAGE, cache_dir=None)


def _above(packages: set[str], graph: grimp.ImportGraph) -> set[str]:
    """Return the packages, and all that import one of them, directly or not."""
    users: dict[str, set[str]] = {}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            users.setdefault(_package(imported), set()).add(_package(module))
    found, new = set(packages), packages
    while new:
        new = {user for package in new for user in users.get(package, ())} - found
        found |= new
    return found


def _of_tests(changed: set[str], tests: dict[str, set[str]]) -> set[str]:
    """Return the changed files of tests, and those that import a changed one, directly or not."""
    names = {name: set(_names(PurePosixPath(name))) for name in tests}
    found = {name for name in changed if name in tests}
    new = found
    while new:
        told = {module for name in new for module in names[name]}
        new = {name for name, imported in tests.items() if name not in found and imported & told}
        new = {name for name in new if not name.startswith(_BROWSER)}
        found |= new
    return found


def _module(path: PurePosixPath) -> str:
    parts = path.with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _package(module: str) -> str:
    return ".".join(module.split(".")[:2])


def _folder(package: str) -> str:
    return "/".join(["tests", *package.split(".")[1:]])


def _mirrors(module: str) -> Iterator[PurePosixPath]:
    *folders, last = module.split(".")[1:] or [module]
    yield PurePosixPath("tests", *folders, f"test_{last}.py")


def _names(path: PurePosixPath) -> Iterator[str]:
    """Yield the dotted names by which a file of tests can be imported: from `tests`, and from `tests/support`."""
    parts = path.with_suffix("").parts[1:]
    yield ".".join(parts)
    if parts[0] == "support":
        yield ".".join(parts[1:])


@cache
def _imports(path: Path) -> set[str]:
    """Return the dotted names that a file imports, with what it takes from each."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{one.name}" for one in node.names}
    return found


if __name__ == "__main__":
    print("\n".join(reached(ROOT, sys.argv[1:])))
