"""Every regular expression of DocMind's sources, with the ways in which it is used.

Run as a program it imports every module, attacks every expression, and prints what it found as JSON: a process of its
own, because an attack may take any time, and because it must see what modules compile while they are imported.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from backtracking import Method, fault_of

_METHODS: dict[str, Method] = {
    "search": "search", "match": "match", "fullmatch": "fullmatch", "findall": "scan", "finditer": "scan",
    "sub": "scan", "subn": "scan", "split": "scan",
}  # fmt: skip
_COVERS: dict[Method, set[Method]] = {"scan": {"search", "match"}, "search": {"match"}, "match": set(), "fullmatch": set()}
"""Attacks that another one stands for: `search` begins everywhere where `match` begins once."""


class Site(NamedTuple):
    """A place in the sources that makes an expression: the file, its lines, the function, what is called."""

    path: str
    first: int
    last: int
    function: str
    called: str
    arguments: list[ast.expr]

    def __str__(self) -> str:
        return f"{self.path}:{self.first} {self.function}"


@dataclass
class Expression:
    pattern: re.Pattern[Any]
    places: set[str] = field(default_factory=set)
    methods: set[Method] = field(default_factory=set)


class Collected(NamedTuple):
    expressions: list[Expression]
    unknown: list[str]  # sites whose expressions nobody saw


def sites_in(tree: ast.AST, path: str) -> Iterator[Site]:
    """Yield every call of `re`, and every mention of `re.compile` as a value."""
    called: set[int] = set()

    def visit(node: ast.AST, function: str) -> Iterator[Site]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        if isinstance(node, ast.Call) and (name := _of_re(node.func)):
            called.add(id(node.func))
            flags = [one.value for one in node.keywords if one.arg == "flags"]
            given = [node.args[0], *(flags or node.args[_PLACE_OF_FLAGS[name] :][:1])]
            yield Site(path, node.lineno, node.end_lineno or node.lineno, function, name, given)
        elif (name := _of_re(node)) and id(node) not in called:
            yield Site(path, node.lineno, node.end_lineno or node.lineno, function, name, [])  # pyright: ignore[reportAttributeAccessIssue]
        for child in ast.iter_child_nodes(node):
            yield from visit(child, function)

    yield from visit(tree, "")


_PLACE_OF_FLAGS = {"compile": 1, "search": 2, "match": 2, "fullmatch": 2, "findall": 2, "finditer": 2, "sub": 4, "subn": 4, "split": 3}


def _of_re(node: ast.AST) -> str:
    is_ours = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "re"
    return node.attr if is_ours and node.attr in _PLACE_OF_FLAGS else ""  # pyright: ignore[reportAttributeAccessIssue]


class _Watch:
    """Notes what is compiled while it lasts, with the place in the sources that asked for it."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self.seen: list[tuple[str, int, re.Pattern[Any]]] = []

    def __enter__(self) -> _Watch:
        self._compile = re._compile  # pyright: ignore[reportAttributeAccessIssue]

        def compile_(pattern: Any, flags: Any) -> Any:
            made = self._compile(pattern, flags)
            caller = sys._getframe(2)
            if caller.f_code.co_filename.startswith(self._root):
                self.seen.append((caller.f_code.co_filename, caller.f_lineno, made))
            return made

        re._compile = compile_  # pyright: ignore[reportAttributeAccessIssue]
        return self

    def __exit__(self, *_: object) -> None:
        re._compile = self._compile  # pyright: ignore[reportAttributeAccessIssue]


def collect(package: ModuleType, scripts: tuple[str, ...], local: Mapping[str, Mapping[str, Any]]) -> Collected:
    """Import every module of a package, those named `scripts` apart, and return its expressions.

    `local` has, for `FILE FUNCTION`, values of the local names from which an expression is put together there.
    """
    root = Path(inspect.getfile(package)).parent
    modules: dict[str, ModuleType] = {}
    with _Watch(root) as watch:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.startswith(scripts):
                module = importlib.import_module(found.name)
                modules[Path(inspect.getfile(module)).relative_to(root).as_posix()] = module
        trees = {path.relative_to(root).as_posix(): ast.parse(path.read_text("utf-8")) for path in root.rglob("*.py")}
        sites = {path: list(sites_in(tree, path)) for path, tree in trees.items()}
        for path, listed in sites.items():
            if path in modules and any(site.function for site in listed):
                _fill_caches(modules[path])
    uses = _Uses(trees)
    expressions: dict[tuple[Any, int], Expression] = {}

    def add(pattern: re.Pattern[Any], place: str, methods: set[Method]) -> None:
        held = expressions.setdefault((pattern.pattern, pattern.flags), Expression(pattern))
        held.places.add(place)
        held.methods.update(methods)

    names = {path: list(_named(module)) for path, module in modules.items()}
    by_pattern: dict[tuple[Any, int], set[Method]] = {}
    for path, listed in names.items():
        for name, pattern in listed:
            by_pattern.setdefault((pattern.pattern, pattern.flags), set()).update(uses.of(path, name))
    found: dict[tuple[str, int], list[re.Pattern[Any]]] = {}
    for file, line, pattern in watch.seen:
        found.setdefault((Path(file).relative_to(root).as_posix(), line), []).append(pattern)
    unknown = []
    for path, listed in sites.items():
        for site in listed:
            patterns = [one for line in range(site.first, site.last + 1) for one in found.get((path, line), [])]
            patterns = patterns or _written(site, vars(modules[path]) if path in modules else {}, local)
            if not patterns:
                unknown.append(str(site))
            for pattern in patterns:
                how: set[Method] = (
                    {_METHODS[site.called]}
                    if site.called in _METHODS
                    else by_pattern.get((pattern.pattern, pattern.flags)) or uses.without_name(path)
                )
                add(pattern, f"{path}:{site.first}", how)
    return Collected(list(expressions.values()), unknown)


def _fill_caches(module: ModuleType) -> None:
    """Call the functions of a module that keep what they made and take nothing: they read tables of expressions."""
    for value in list(vars(module).values()):
        if hasattr(value, "cache_info") and value.__module__ == module.__name__ and not inspect.signature(value).parameters:
            value()


def _named(module: ModuleType) -> Iterator[tuple[str, re.Pattern[Any]]]:
    for name, value in vars(module).items():
        if isinstance(value, re.Pattern):
            yield name, value


def _written(site: Site, names: Mapping[str, Any], local: Mapping[str, Mapping[str, Any]]) -> list[re.Pattern[Any]]:
    """Return the expression that stands at a site, where it can be put together from names of the module."""
    given = local.get(f"{site.path} {site.function}", {})
    try:
        values = [eval(compile(ast.Expression(one), site.path, "eval"), {"re": re, **names, **given}) for one in site.arguments]
    except NameError:
        return []
    if not values or not isinstance(values[0], str | bytes):
        return []
    return [re.compile(*values)]


class _Uses:
    """By which methods the expressions are used that have a name in a module."""

    def __init__(self, trees: Mapping[str, ast.AST]) -> None:
        self._uses: dict[tuple[str, str], set[Method]] = {}
        self._imported: dict[str, set[str]] = {}
        self._nameless: dict[str, set[Method]] = {}
        for path, tree in trees.items():
            parents = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom):
                    for alias in node.names:
                        self._imported.setdefault(alias.name, set()).add(path)
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    self._uses.setdefault((path, node.id), set()).update(_used(node, parents))
                if isinstance(node, ast.Attribute) and node.attr in _METHODS.keys() - {"split"}:  # strings have that too
                    is_constant = isinstance(node.value, ast.Name) and (node.value.id == "re" or node.value.id.strip("_").isupper())
                    if not is_constant:
                        self._nameless.setdefault(path, set()).add(_METHODS[node.attr])
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    self._uses.setdefault(("", node.attr), set()).update({"scan", "fullmatch"})

    def without_name(self, path: str) -> set[Method]:
        """Return the methods of expressions that a module keeps in tuples, tables and local names."""
        return self._nameless.get(path) or {"scan", "fullmatch"}

    def of(self, path: str, name: str) -> set[Method]:
        found = set(self._uses.get((path, name), set()))
        for other in self._imported.get(name, ()):
            found |= self._uses.get((other, name), set())
        if not name.startswith("_"):
            found |= self._uses.get(("", name), set())
        return found


def _used(node: ast.Name, parents: Mapping[int, ast.AST]) -> set[Method]:
    """Return how a mention of an expression uses it: by a method that is called, or in ways that are not looked at."""
    parent = parents.get(id(node))
    call = parents.get(id(parent))
    if not isinstance(parent, ast.Attribute):
        return {"scan", "fullmatch"}
    if parent.attr in ("pattern", "flags", "groups", "groupindex"):
        return set()  # of what it is a part of, that is another expression
    if parent.attr not in _METHODS or not isinstance(call, ast.Call) or call.func is not parent:
        return {"scan", "fullmatch"}
    begins_anywhere = parent.attr == "match" and len(call.args) > 1
    return {"search"} if begins_anywhere else {_METHODS[parent.attr]}


def attacked(expressions: list[Expression]) -> list[dict[str, Any]]:
    """Attack every expression by the methods it is used by, and return the faults as plain values."""
    faults = []
    for one in expressions:
        covered = {other for method in one.methods for other in _COVERS[method]}
        for method in sorted(one.methods - covered):
            if (fault := fault_of(one.pattern, method)) is not None:
                pattern = one.pattern.pattern
                faults.append({"places": sorted(one.places), "pattern": pattern if isinstance(pattern, str) else repr(pattern), **fault._asdict()})
    return faults
