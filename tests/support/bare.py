"""A pytest plugin: a machine without any optional part (`scripts/run_tests.py --bare`).

Where the variable BARE is set, `require` skips every test that calls it, no program is found on PATH, and only the
tests that may call `require` are collected: none of them may fail, because a test whose real part is missing is
skipped. Which ones these are is read from the sources: a test asks for a part where it, one of its fixtures, or what
one of them uses, names `require`.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

IS_BARE = bool(os.environ.get("BARE"))
_ASKING = pytest.StashKey[dict[Path, set[str]]]()
_ASKED = "require"
_TESTS = Path(__file__).resolve().parent.parent

Node = tuple[Path, str]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def pytest_configure(config: pytest.Config) -> None:
    if IS_BARE:
        os.environ["PATH"] = ""
        config.stash[_ASKING] = asking(_TESTS)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without a test that asks for a part: importing all of them takes most of a minute."""
    if IS_BARE and collection_path.name.startswith("test_") and collection_path.suffix == ".py":
        return True if collection_path not in config.stash[_ASKING] else None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not IS_BARE:
        return
    asked = config.stash[_ASKING]
    left_out = [item for item in items if getattr(item, "originalname", "") not in asked.get(item.path, ())]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def asking(folder: Path) -> dict[Path, set[str]]:
    """Return the names of the test functions below a folder that may call `require`, by the path of their file.

    `require` is that of the folder's own conftest.py.
    """
    sources = {path: _Source.read(path) for path in sorted(folder.rglob("*.py"))}
    modules = {name: path for path in sources for name in _names(path, folder)}
    uses: dict[Node, set[Node]] = {}
    for source in sources.values():
        for name, uncertain in source.uses.items():
            uses[source.path, name] = set(_resolved(source, uncertain, sources, modules, folder))
    found = {(folder / "conftest.py", _ASKED)}
    waiting = list(found)
    users: dict[Node, list[Node]] = {}
    for user, used in uses.items():
        for one in used:
            users.setdefault(one, []).append(user)
    while waiting:
        new = [user for user in users.get(waiting.pop(), ()) if user not in found]
        found.update(new)
        waiting += new
    tests: dict[Path, set[str]] = {}
    for path, name in found:
        if path.name.startswith("test_") and name.startswith("test_"):
            tests.setdefault(path, set()).add(name)
    return tests


@dataclass
class _Source:
    """What one file defines, and which names each of these uses."""

    path: Path
    uses: dict[str, set[str]] = field(default_factory=dict)
    """By the name of a function, class or constant: names, dotted names, and `@name` for what may be a fixture."""
    imports: dict[str, str] = field(default_factory=dict)
    """By the name in this file: the dotted name of what is imported."""
    fixtures: dict[str, str] = field(default_factory=dict)
    """By the name of a fixture: the name of its function."""
    always: set[str] = field(default_factory=set)
    """Fixtures that every test of the file has."""

    @classmethod
    def read(cls, path: Path) -> _Source:
        source = cls(path)
        for statement in ast.parse(path.read_text("utf-8")).body:
            source._add(statement)
        return source

    def _add(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Import(names=names):
                self.imports |= {
                    one.asname or one.name.split(".")[0]: (one.asname and one.name) or one.name.split(".")[0]
                    for one in names
                }
            case ast.ImportFrom(module=str(module), names=names):
                self.imports |= {one.asname or one.name: f"{module}.{one.name}" for one in names}
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.uses.setdefault(statement.name, set()).update(_used(statement))
                self._add_fixture(statement)
            case ast.ClassDef():
                self.uses.setdefault(statement.name, set()).update(_used(statement))
            case ast.Assign() | ast.AnnAssign():
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                for target in targets:
                    if isinstance(target, ast.Name):
                        self.uses.setdefault(target.id, set()).update(_used(statement))
            case ast.If(body=body, orelse=otherwise):
                for inner in [*body, *otherwise]:
                    self._add(inner)
            case _:
                pass

    def _add_fixture(self, function: Function) -> None:
        for decorator in function.decorator_list:
            call = decorator.func if isinstance(decorator, ast.Call) else decorator
            if not (isinstance(call, ast.Attribute) and call.attr == "fixture"):
                continue
            options = {one.arg: one.value for one in decorator.keywords} if isinstance(decorator, ast.Call) else {}
            named = options.get("name")
            name = str(named.value) if isinstance(named, ast.Constant) else function.name
            self.fixtures[name] = function.name
            if "autouse" in options:
                self.always.add(name)


def _used(node: ast.AST) -> Iterator[str]:
    """Yield the names that a definition uses; those that may name a fixture are written `@name`."""
    if isinstance(node, Function):
        yield from (f"@{one.arg}" for one in [*node.args.args, *node.args.kwonlyargs])
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name):
                yield name
            case ast.Attribute(attr=attribute, value=ast.Name(id=name)):
                yield f"{name}.{attribute}"
            case ast.Call(func=ast.Attribute(attr="getfixturevalue" | "usefixtures"), args=arguments):
                yield from (f"@{one.value}" for one in arguments if isinstance(one, ast.Constant))
            case _:
                pass


def _names(path: Path, folder: Path) -> Iterator[str]:
    """Yield the dotted names by which a file can be imported: from the folder, and from its folder `support`."""
    for root in (folder, folder / "support"):
        if path.is_relative_to(root):
            yield ".".join(path.relative_to(root).with_suffix("").parts)


def _resolved(
    source: _Source, used: set[str], sources: dict[Path, _Source], modules: dict[str, Path], folder: Path
) -> Iterator[Node]:
    fixtures = [source, *_conftests(source.path, sources, folder)]
    is_test = source.path.name.startswith("test_")
    always = {f"@{name}" for one in fixtures for name in one.always} if is_test else set()
    for name in used | always:
        if name.startswith("@"):
            for one in fixtures:
                if function := one.fixtures.get(name[1:]):
                    yield one.path, function
                    break
            continue
        first, _, rest = name.partition(".")
        if first in source.uses:
            yield source.path, first
        if first not in source.imports:
            continue
        whole = source.imports[first] + (f".{rest}" if rest else "")
        module, _, last = whole.rpartition(".")
        if module in modules:
            yield modules[module], last
            if last in (imported := sources[modules[module]].imports):  # it imports it itself
                module, _, last = imported[last].rpartition(".")
                if module in modules:
                    yield modules[module], last
        elif (outer := module.rpartition("."))[0] in modules:  # an attribute of a class or of a function
            yield modules[outer[0]], outer[2]


def _conftests(path: Path, sources: dict[Path, _Source], folder: Path) -> Sequence[_Source]:
    above = [parent / "conftest.py" for parent in path.parents if parent.is_relative_to(folder)]
    return [sources[one] for one in above if one in sources and one != path]
