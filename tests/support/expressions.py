"""Every regular expression of DocMind's sources, by what it is called and how it is used, and attacks on all of them.

Run as a program it collects them, attacks each, and prints what it found as JSON: a process of its own, because an
attack may take any time, and because it must see what modules compile while they are imported.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

from backtracking import Method, fault_of
from docmind.language import LANGUAGES

BOUNDED = {
    "answers/asking.py _rules": "answers.asking.LONGEST",
    "answers/intents.py _GREETING": "answers.intents.LONGEST",
    "answers/intents.py _compiled": "answers.intents.LONGEST",
    "answers/kinds.py _CLAUSE": "answers.kinds.LONGEST",
    "answers/kinds.py _any_of": "answers.kinds.LONGEST",
    "answers/list_questions.py _forms": "answers.list_questions.LONGEST",
    "answers/mail_questions.py made": "answers.mail_questions.LONGEST",
    "answers/names.py _STARTS": "answers.names._BEFORE",
    "documents/titles.py _NO_TITLE": "documents.titles._LONGEST",
    "embedding/sentence_boundary.py _LAST_TOKEN": "embedding.sentence_boundary._LOOK",
    "reading/formats/captions.py _PLAIN": "reading.formats.captions._PLAIN_MAX",
    "reading/formats/number_format.py _PIECE": "reading.formats.number_format._CODE_MAX",
    "reading/formats/prose.py _PAGES": "reading.formats.prose._RUNNING_MAX",
    "reading/formats/rtf/fields.py _RUBY": "reading.formats.rtf.fields._LONGEST",
}
"""Expressions that no longer text reaches, with the constant by which the code in front of them cuts or refuses it."""

OURS = {
    "ui/app/guard.py _INLINE_SCRIPT": "pages of DocMind and of Streamlit",
    "ui/app/guard.py _INLINE_STYLE": "pages of DocMind and of Streamlit",
}
"""Expressions for files of ours alone."""

LOCAL = {
    "answers/drafts.py claim": {"first": "[('Rent',)]"},
    "answers/item_lists.py _are_organisations": {"ends": "[table()['organisations']['ends']]"},
    "answers/kind_values.py _organisation": {"heads": "[_orgs()[1]]"},
    "answers/kind_values.py _places": {"pairs": "[table()['places']['pairs']]"},
    "answers/list_fits.py _announcing": {"states": "[table()['states']]"},
    "answers/list_questions.py _is_asked": {"lead": "[table()['frame']['lead']]"},
    "conversations/changes.py _source": {"side": "[Made(statement='The rent rises.')]"},
    "embedding/siglip_onnx.py _tower": {"name": "['vision_model']"},
    "evaluation/questions.py is_answered_by": {"wanted": "['Lisbon']"},
    "index/server.py _resolved": {"self": "[Made(_text='docmind')]"},
    "index/server.py _sweep": {"self": "[Made(_known=['docmind'])]"},
    "memory/service.py expanded": {"term": "['ACME']"},
    "reading/chromium/process.py _sheet": {"side": "['width']"},
    "reading/formats/formula_functions.py _pattern": {"text": "['*a*b?c*', 'a*', '*a']"},
    "reading/formats/notes.py without_label": {"bare": "['1']"},
    "reading/formats/pandoc/source.py with_defined": {"name": "['cventry']"},
    "storage/files.py unfinished": {"path": "[Path('library.db')]"},
}  # fmt: skip
"""For expressions that are put together in a function: lists of values of its local names, as code of its module."""

_LANGUAGES = LANGUAGES
_METHODS: dict[str, Method] = {
    "search": "search", "match": "match", "fullmatch": "fullmatch", "findall": "scan", "finditer": "scan",
    "sub": "scan", "subn": "scan", "split": "scan",
}  # fmt: skip
_COVERS: dict[Method, set[Method]] = {
    "scan": {"search", "match"}, "search": {"match"}, "match": set(), "fullmatch": set(),
}  # fmt: skip
"""Attacks that another one stands for: `search` begins everywhere where `match` begins once."""
_UNKNOWN: set[Method] = {"scan", "fullmatch"}
_PLACES_OF_FLAGS = {
    "compile": 1, "search": 2, "match": 2, "fullmatch": 2, "findall": 2, "finditer": 2, "split": 3, "sub": 4, "subn": 4,
}  # fmt: skip


class Site(NamedTuple):
    """A place in the sources that makes an expression: the file, its lines, and the name that the expression gets.

    In a function that is the function's name. `called` is the function of `re`, `used` the method that is called on
    what it compiled, if one is called at once.
    """

    path: str
    first: int
    last: int
    name: str
    called: str
    used: str
    arguments: list[ast.expr]
    is_local: bool
    is_named: bool  # the name is that of the expression itself, not of what holds it

    @property
    def is_constant(self) -> bool:
        """Whether the expression stands in the source as it is."""
        return bool(self.arguments) and isinstance(self.arguments[0], ast.Constant)

    def __str__(self) -> str:
        return f"{self.path} {self.name}"


@dataclass
class Expression:
    """An expression, the places of the sources that make it, and the methods that it is used by."""

    pattern: re.Pattern[Any]
    places: set[str] = field(default_factory=set)
    methods: set[Method] = field(default_factory=set)


class Collected(NamedTuple):
    """The expressions, and the places whose expressions nobody saw."""

    expressions: list[Expression]
    unknown: list[str]


def sites_in(tree: ast.AST, path: str) -> Iterator[Site]:
    """Yield every call of `re`, and every mention of a function of `re` as a value."""
    called: set[int] = set()
    named = {id(value): name for node in ast.iter_child_nodes(tree) for name, value in _assigned(node)}

    def visit(node: ast.AST, name: str, parent: ast.AST | None, *, is_local: bool) -> Iterator[Site]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name, is_local = node.name, True
        name = named.get(id(node), name)
        if isinstance(node, ast.Call) and (function := _of_re(node.func)):
            called.add(id(node.func))
            flags = [one.value for one in node.keywords if one.arg == "flags"]
            given = [node.args[0], *(flags or node.args[_PLACES_OF_FLAGS[function] :][:1])]
            used = parent.attr if isinstance(parent, ast.Attribute) else ""
            lines = node.lineno, node.end_lineno or node.lineno
            yield Site(path, *lines, name, function, used, given, is_local, id(node) in named)
        elif isinstance(node, ast.Attribute) and (function := _of_re(node)) and id(node) not in called:
            yield Site(path, node.lineno, node.lineno, name, function, "", [], is_local, is_named=False)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, name, node, is_local=is_local)

    yield from visit(tree, "", None, is_local=False)


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a statement of a module assigns, each with its value."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    for target in targets:
        value = node.value  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=True))
        else:
            pairs = [(target, value)]
        yield from ((one.id, said) for one, said in pairs if isinstance(one, ast.Name) and said is not None)


def _of_re(node: ast.AST) -> str:
    """Return the function of `re` that a node names, if it makes an expression."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "re":
        return node.attr if node.attr in _PLACES_OF_FLAGS else ""
    return ""


class _Watch:
    """Notes what is compiled while it lasts, with the place in the sources that asked for it."""

    def __init__(self, root: Path) -> None:
        self._root = f"{root}/"
        self.seen: dict[tuple[str, int], list[re.Pattern[Any]]] = {}

    def __enter__(self) -> _Watch:
        self._compile = re._compile  # pyright: ignore[reportAttributeAccessIssue]

        def compile_(pattern: Any, flags: Any) -> Any:
            made = self._compile(pattern, flags)
            caller = sys._getframe(2)
            path = caller.f_code.co_filename
            if path.startswith(self._root):
                self.seen.setdefault((path.removeprefix(self._root), caller.f_lineno), []).append(made)
            return made

        re._compile = compile_  # pyright: ignore[reportAttributeAccessIssue]
        return self

    def __exit__(self, *_: object) -> None:
        re._compile = self._compile  # pyright: ignore[reportAttributeAccessIssue]


def collect(package: ModuleType) -> Collected:
    """Return the expressions of a package; modules are imported that put expressions together."""
    root = Path(inspect.getfile(package)).parent
    texts = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in root.rglob("*.py")}
    trees = {path: ast.parse(text) for path, text in texts.items() if re.search(r"^import re$", text, re.M)}
    sites = {path: list(sites_in(tree, path)) for path, tree in trees.items()}
    modules: dict[str, ModuleType] = {}
    with _Watch(root) as watch:
        for path in sorted(sites):
            parts = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            if not all(site.is_constant for site in sites[path]):
                modules[path] = importlib.import_module(f"{package.__name__}.{parts}")
        for path, module in modules.items():
            if local := {site.name for site in sites[path] if site.is_local}:
                _fill_caches(module, local)
    public = {site.name for listed in sites.values() for site in listed if not (site.is_local or site.name[:1] == "_")}
    for path, text in texts.items():
        if path not in trees and not public.isdisjoint(re.findall(r"\b[A-Z][A-Z_]+\b", text)):
            trees[path] = ast.parse(text)
    uses = _Uses(trees)
    expressions: dict[tuple[Any, int], Expression] = {}
    unknown = []
    for path, listed in sites.items():
        names = vars(modules[path]) if path in modules else {}
        for site in listed:
            lines = range(site.first, site.last + 1)
            patterns = [one for line in lines for one in watch.seen.get((path, line), [])] or _written(site, names)
            unknown += [] if patterns else [str(site)]
            for one in patterns:
                key = one.pattern, one.flags
                held = expressions.setdefault(key, Expression(one))
                held.places.add(str(site))
                at_once: list[Method] = [_METHODS[called] for called in (site.used, site.called) if called in _METHODS]
                by_name = uses.of(path, site.name) if site.is_named else set()
                held.methods.update(set(at_once[:1]) or by_name or uses.without_name(path))
    return Collected(list(expressions.values()), unknown)


def _fill_caches(module: ModuleType, local: set[str]) -> None:
    """Call the functions of a module that keep what they made and take nothing, or those of `local` a language."""
    for name, value in list(vars(module).items()):
        if hasattr(value, "cache_info") and value.__module__ == module.__name__:
            parameters = list(inspect.signature(value).parameters)
            if parameters == ["language"] and name in local:
                list(map(value, _LANGUAGES))
            elif not parameters:
                value()


def _written(site: Site, names: Mapping[str, Any]) -> list[re.Pattern[Any]]:
    """Return the expressions that are written at a site, which nothing has compiled yet."""
    around = {"re": re, "Made": SimpleNamespace, "Path": Path, **names}
    local = {name: eval(code, around) for name, code in LOCAL.get(str(site), {}).items()}
    patterns = []
    for values in product(*local.values()):
        scope = {**around, **dict(zip(local, values, strict=True))}
        try:
            pattern, *flags = [eval(compile(ast.Expression(one), site.path, "eval"), scope) for one in site.arguments]
        except (NameError, ValueError):  # a local name that is not given, or no expression
            continue
        if isinstance(pattern, str | bytes):
            patterns.append(re.compile(pattern, *flags))
    return patterns


class _Uses:
    """By which methods expressions are used, from the sources."""

    def __init__(self, trees: Mapping[str, ast.AST]) -> None:
        self._uses: dict[tuple[str, str], set[Method]] = {}
        self._imported: dict[str, set[str]] = {}
        self._nameless: dict[str, set[Method]] = {}
        for path, tree in trees.items():
            self._read(path, tree)

    def _read(self, path: str, tree: ast.AST) -> None:
        waiting: list[tuple[ast.AST, ast.AST | None, ast.AST | None]] = [(tree, None, None)]
        while waiting:
            node, parent, above = waiting.pop()
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self._imported.setdefault(alias.name, set()).add(path)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._uses.setdefault((path, node.id), set()).update(_used(parent, above))
            elif isinstance(node, ast.Attribute):
                self._note(path, node)
            waiting += [(child, node, parent) for child in ast.iter_child_nodes(node)]

    def _note(self, path: str, node: ast.Attribute) -> None:
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        if name:
            self._uses.setdefault(("", node.attr), set()).update(_UNKNOWN)  # `module.NAME`
        if node.attr in _METHODS.keys() - {"split"} and name != "re" and not name.strip("_").isupper():
            self._nameless.setdefault(path, set()).add(_METHODS[node.attr])  # strings have `split` too

    def without_name(self, path: str) -> set[Method]:
        """Return the methods by which a module uses expressions that it keeps in tuples, tables and local names."""
        return self._nameless.get(path) or _UNKNOWN

    def of(self, path: str, name: str) -> set[Method]:
        """Return the methods by which an expression with a name in a module is used there and elsewhere."""
        found = set(self._uses.get((path, name), set()))
        for other in self._imported.get(name, ()):
            found |= self._uses.get((other, name), set())
        return found | (set() if name.startswith("_") else self._uses.get(("", name), set()))


def _used(parent: ast.AST | None, call: ast.AST | None) -> set[Method]:
    """Return how a name is used by what stands around it: by the method that is called, or in ways not known."""
    if isinstance(parent, ast.Attribute) and parent.attr in ("pattern", "flags", "groups", "groupindex"):
        return set()  # of what it is a part of, that is another expression
    if not isinstance(parent, ast.Attribute) or parent.attr not in _METHODS:
        return _UNKNOWN
    if not isinstance(call, ast.Call) or call.func is not parent:
        return _UNKNOWN
    is_once = any(one.arg == "count" for one in call.keywords)
    return {"search"} if is_once else {_METHODS[parent.attr]}


def longest_of(places: set[str]) -> int | None:
    """Return the characters of the longest text that reaches an expression; None where nothing bounds it."""
    bounds = []
    for place in places:
        if place not in BOUNDED:
            return None
        module, _, name = f"docmind.{BOUNDED[place]}".rpartition(".")
        bounds.append(getattr(importlib.import_module(module), name))
    return max(bounds)


def attacked(one: Expression) -> Iterator[dict[str, Any]]:
    """Attack an expression by the methods that it is used by, and yield the faults as plain values."""
    covered = {other for method in one.methods for other in _COVERS[method]}
    for method in sorted(one.methods - covered):
        if (fault := fault_of(one.pattern, method, longest_of(one.places))) is not None:
            yield {"places": sorted(one.places), "pattern": str(one.pattern.pattern), **fault._asdict()}


def main() -> None:
    """Print the number of expressions, the places that nobody saw, and the faults."""
    import docmind

    logging.disable(logging.CRITICAL)  # Streamlit is imported without its server
    found = collect(docmind)
    theirs = [one for one in found.expressions if not one.places <= OURS.keys()]
    listed = {place for one in found.expressions for place in one.places}
    faults = [fault for one in theirs for fault in attacked(one)]
    gone = sorted((BOUNDED.keys() | OURS.keys() | LOCAL.keys()) - listed)
    print(json.dumps({"count": len(theirs), "unknown": found.unknown, "gone": gone, "faults": faults}))


if __name__ == "__main__":
    main()
