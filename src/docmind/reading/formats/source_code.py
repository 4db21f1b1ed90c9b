"""Source code, in parts: each function and class by itself, with the comment above it.

Tree-sitter parses a language whose grammar is there (`GRAMMARS`). Code in another language, or that does not parse, is
one part. The text is never changed, and never run.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING

from docmind.blocks import IMPORTS, Block, Symbols, Table
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.text import LINE_ENDS, decode
from docmind.reading.formats.typeset import LaidOut
from docmind.records.code import BY_ENDING
from docmind.records.documents import Upload

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_LONGEST = 1_000_000  # characters that are parsed; hostile ones take 10 s, and a longer file is generated
_LONGEST_WITHIN = 50_000  # characters of code among prose that are parsed
_DEEPEST = 200  # nodes within each other that are looked through
_LONG = 80  # lines of a function whose inner functions are parts too
_NAME_MAX = 100  # characters of a symbol
_BROKEN = 0.3  # share of the lines that do not parse, above which the tree is not believed

# What a file is written in, by the end of its name; other ends are the name themselves.

# How documents name languages, where that is no ending of a file.
_NAMES = {
    "c++": "cpp", "c#": "csharp", "golang": "go", "node": "javascript", "python3": "python", "python2": "python",
    "pycon": "python", "ipython": "python", "ipython3": "python", "shell": "bash", "console": "bash",
    "shell-session": "bash", "sh-session": "bash", "postgresql": "sql", "mysql": "sql", "sqlite": "sql",
}  # fmt: skip

GRAMMARS = {
    "bash": ("tree_sitter_bash", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "python": ("tree_sitter_python", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "sql": ("tree_sitter_sql", "language"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}
"""The module and the function that give the grammar of each language."""


def _words(text: str) -> dict[str, str]:
    return {kind: word for kind, _equals, word in (pair.partition("=") for pair in text.split())}


_CLASSES = """
class_declaration=class interface_declaration=interface enum_declaration=enum record_declaration=record
"""
_SCRIPT = f"""{_CLASSES} abstract_class_declaration=class function_declaration=function
generator_function_declaration=function method_definition= type_alias_declaration=type internal_module=namespace
module=module variable_declarator=function assignment_expression=function public_field_definition= field_definition="""
_C = """function_definition= struct_specifier=struct union_specifier=union enum_specifier=enum type_definition=type
class_specifier=class namespace_definition=namespace concept_definition=concept preproc_function_def=macro"""
# The word before the name of each kind of definition; a function is `name()` where its language has no word for it.
_DEFINED = {
    "bash": _words("function_definition="),
    "c": _words(_C),
    "cpp": _words(_C),
    "csharp": _words(
        f"""{_CLASSES} struct_declaration=struct namespace_declaration=namespace delegate_declaration=delegate
        method_declaration= constructor_declaration= destructor_declaration= operator_declaration=
        property_declaration=property local_function_statement="""
    ),
    "go": _words("function_declaration=func method_declaration=func type_spec=type type_alias=type"),
    "java": _words(
        f"""{_CLASSES} annotation_type_declaration=annotation method_declaration= constructor_declaration=
        compact_constructor_declaration="""
    ),
    "javascript": _words(_SCRIPT),
    "php": _words(
        f"""{_CLASSES} trait_declaration=trait namespace_definition=namespace function_definition=function
        method_declaration=function"""
    ),
    "python": _words("class_definition=class function_definition=def"),
    "ruby": _words("module=module class=class method=def singleton_method=def"),
    "rust": _words(
        """function_item=fn struct_item=struct enum_item=enum union_item=union trait_item=trait impl_item=impl
        mod_item=mod macro_definition=macro type_item=type"""
    ),
    "sql": _words(
        """create_table=table create_view=view create_materialized_view=view create_function=function
        create_procedure=procedure create_trigger=trigger create_index=index create_type=type create_schema=schema"""
    ),
    "tsx": _words(_SCRIPT),
    "typescript": _words(_SCRIPT),
}
_IMPORTING = """
import_statement import_from_statement future_import_statement import_declaration package_declaration package_clause
preproc_include using_directive use_declaration extern_crate_declaration namespace_use_declaration
"""
_IMPORTS = frozenset(_IMPORTING.split())
_STATEMENT_MAX = 2_000  # characters of an import whose names are looked for
_REQUIRED = re.compile(r"(?:const|let|var) [^=;]+= ?(?:await )?(?:require|import)\( ?['\"][^'\"]+['\"] ?\)[\w.]*;?")
_REQUIRED_IN_RUBY = re.compile(r"require(?:_relative)? ?\(? ?['\"]")
_WRAPPING = """
decorated_definition export_statement template_declaration ambient_declaration lexical_declaration variable_declaration
expression_statement type_declaration declaration statement linkage_specification global_statement
"""
_WRAPPERS = frozenset(_WRAPPING.split())
"""What a definition is the content of; the whole of it belongs to the definition."""
_ABOVE = re.compile("comment|attribute|annotation|decorator")
_ASSIGNED = re.compile("function|class|arrow")
_FUNCTIONS = re.compile(r"function|method|constructor|destructor|operator|declarator|assignment|field|property")
# A line that only closes what was begun, with a comment on what that is.
_CLOSING = re.compile(
    r"(?=[})\];,]|end\b|#\s*endif|\?>)[})\];,\s]*+(?:(?:end\b|#\s*endif|\?>)[})\];,\s]*+)?(?:(?://|/\*|#|--).*)?"
)
_WITH_BODY = frozenset(("struct_specifier", "union_specifier", "enum_specifier", "class_specifier"))


def open_code(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a file of source code. Raises `TooLargeError` or `EmptyFileError`."""
    text = decode(upload, rules, is_code=True)
    return LaidOut(source_code(text, language_of(upload.name, text)), facts_of(upload.name), upload.name, rules)


def language_of(name: str, text: str = "") -> str:
    """Return the language that source code is written in, by the name of its file; `.h` is C or C++ by its text."""
    suffix = PurePath(name).suffix.lower().removeprefix(".")
    if suffix == "h" and re.search(r"^[^\S\n]*(?:class\s+\w|namespace\b|template\s*<|public:|using\s+\w)", text, re.M):
        return "cpp"
    return BY_ENDING.get(suffix, suffix)


def source_code(text: str, language: str) -> Iterator[Block | Table]:
    """Yield code verbatim as one block that knows where its definitions begin."""
    text = LINE_ENDS.sub("\n", text)
    shown = "typescript" if language == "tsx" else language
    yield Block(kind="code", text=text, language=shown, symbols=symbols_of(text, language))


def code_within(text: str, language: str) -> Block:
    """Return code that stands among prose as a block; `language` is how its document names it: "py", "c++", "shell"."""
    known = _NAMES.get(language, BY_ENDING.get(language, language))
    symbols = symbols_of(text, known) if len(text) <= _LONGEST_WITHIN else ()
    return Block(kind="code", text=text, language="typescript" if known == "tsx" else known, symbols=symbols)


@dataclass(frozen=True, slots=True)
class _Owner:
    """A definition: lines are its own unless a definition inside has them. `number` is below 0 for imports."""

    number: int
    path: tuple[str, ...]


def symbols_of(text: str, language: str) -> Symbols:
    """Return the line at which each part of code begins, counted from 0, with its symbols, outermost first.

    A part goes on to the next one. Code that is not parsed has no parts.
    """
    if language not in GRAMMARS or len(text) > _LONGEST or "\n" not in text:
        return ()
    lines = text.split("\n")
    walk = _Walk(language, lines)
    if not walk.look(_parser(language).parse(text.encode("utf-8", "replace")).root_node):
        return ()
    found: list[tuple[int, tuple[str, ...]]] = []
    at = 0
    for owner, run in groupby(walk.owners):
        count = len(list(run))
        begins = next((at + n for n in range(count) if lines[at + n].strip()), None)
        is_rest = all(not line.strip() or _CLOSING.fullmatch(line.strip()) for line in lines[at : at + count])
        if begins is not None and (not found or not is_rest):  # a closing bracket belongs to what it closes
            found.append((begins, (*owner.path, *walk.imported(owner))))
        at += count
    return tuple(found) if any(path for _line, path in found) else ()


@cache
def _parser(language: str) -> Parser:
    from tree_sitter import Language, Parser

    module, function = GRAMMARS[language]
    return Parser(Language(getattr(importlib.import_module(module), function)()))


class _Walk:
    """A walk over the tree of a text, which says of each line to which definition it belongs."""

    def __init__(self, language: str, lines: list[str]) -> None:
        self._words = _DEFINED[language]
        self._lines = lines
        self._count = 0
        self._broken = 0
        self.owners = [_Owner(0, ())] * len(lines)
        self._language = language
        self._imports: dict[int, list[str]] = {}  # what each part of imports imports, by its number

    def imported(self, owner: _Owner) -> tuple[str, ...]:
        """Return the symbol of a part that has imports alone; nothing for other parts."""
        names = list(dict.fromkeys(self._imports.get(owner.number, ())))
        return (_cut(IMPORTS + ", ".join(names)),) if names else ()

    def look(self, root: Node) -> bool:
        """Walk over a tree. Returns whether it is to be believed: most of the text is code of its language."""
        waiting: list[tuple[Node, tuple[str, ...], int]] = [(root, (), 0)]
        while waiting:
            node, path, depth = waiting.pop()
            inner = [(child, self._taken(child, path), depth + 1) for child in node.named_children]
            # Those last in the text are looked at last, so that an inner definition follows its outer one.
            waiting += [
                (child, below, deep)
                for child, below, deep in reversed(inner)
                if below is not None and deep < _DEEPEST and _may_hold(child)
            ]
        return self._broken <= _BROKEN * len(self._lines)

    def _taken(self, node: Node, path: tuple[str, ...]) -> tuple[str, ...] | None:
        """Give a node its lines, and return the path below it; None where nothing inside is looked for."""
        kind = node.type
        if kind == "ERROR":
            self._broken += node.end_point.row - node.start_point.row + 1
            return path
        if kind in _IMPORTS or _is_required(node, self._language):
            self._own(node, node, path, is_import=True)
            owner = self.owners[_last_row(node)]
            if owner.number < 0 and not kind.startswith("package"):
                self._imports.setdefault(owner.number, []).extend(imported_names(node, self._language))
            return None
        if kind not in self._words or not (name := self._name(node)):
            return path
        below = (*path, name)
        outer = node
        while (parent := outer.parent) is not None and parent.type in _WRAPPERS and not self._has_others(parent, outer):
            outer = parent
        self._own(outer, _first_above(outer, self._lines), below)
        is_long = node.end_point.row - node.start_point.row >= _LONG
        return below if is_long or not _FUNCTIONS.search(kind) else None

    def _has_others(self, parent: Node, node: Node) -> bool:
        """Return whether a node holds other definitions beside one: several types declared together."""
        return sum(child.type == node.type for child in parent.named_children) > 1

    def _own(self, node: Node, first: Node, path: tuple[str, ...], *, is_import: bool = False) -> None:
        start, end = first.start_point.row, _last_row(node)
        before, above = self.owners[start], self.owners[max(start - 1, 0)]
        if is_import and above.number < 0 and above.path == path:
            owner = above
        else:
            self._count += 1
            owner = _Owner(-self._count if is_import else self._count, path)
        is_within = path[: len(before.path)] == before.path and (is_import or len(before.path) < len(path))
        if not is_within:  # of two definitions on one line the first has it
            start += 1
        for row in range(start, min(end + 1, len(self.owners))):
            self.owners[row] = owner

    def _name(self, node: Node) -> str:
        """Return a definition as its language writes it ("class Desk", "def ask", "ask()"); "" where it is none."""
        word = self._words[node.type]
        kind = node.type
        is_one_line = node.start_point.row == node.end_point.row
        may_use = kind in _WITH_BODY or (kind == "method_declaration" and is_one_line)
        if may_use and node.child_by_field_name("body") is None:
            return ""  # `struct point p;` uses one, and a method of an interface only names one
        if kind == "impl_item":
            said = [_said(node.child_by_field_name(field)) for field in ("trait", "type")]
            return _cut(f"impl {' for '.join(filter(None, said))}")
        if kind in ("variable_declarator", "assignment_expression", "public_field_definition", "field_definition"):
            value = node.child_by_field_name("value") or node.child_by_field_name("right")
            if value is None or not _ASSIGNED.search(value.type):
                return ""
            word = word and ("class" if value.type == "class" else "function")
        name = _said(_name_node(node))
        receiver = _said(node.child_by_field_name("receiver")) if kind == "method_declaration" else ""
        said = " ".join(filter(None, (word, receiver, name))) if word else f"{name}()"
        return _cut(said) if name else ""


def _is_required(node: Node, language: str) -> bool:
    """Return whether a statement imports by calling a function, as in Node.js and Ruby."""
    if language == "ruby":
        return node.type == "call" and _REQUIRED_IN_RUBY.match(_said(node)) is not None
    is_script = language in ("javascript", "typescript", "tsx")
    declares = is_script and node.type in ("lexical_declaration", "variable_declaration")
    return declares and _REQUIRED.fullmatch(_said(node)) is not None


def imported_names(node: Node, language: str) -> list[str]:
    """Return the modules that a statement imports, as it writes them."""
    said = _said(node)[:_STATEMENT_MAX]
    if language == "python":
        found = re.match(r"from (\S+) import\b", said)
        names = [found[1]] if found else [one.split(" as ")[0] for one in said.removeprefix("import ").split(",")]
    elif language in ("c", "cpp"):
        names = re.findall(r"[<\"]([^<>\"]+)[>\"]", said)
    elif language in ("javascript", "typescript", "tsx", "ruby", "go"):
        names = [name for _sign, name in re.findall(r"([\"'`])(.*?)\1", said)]
    else:  # Java, C#, Rust, PHP
        bare = re.sub(r"^(?:pub |global |extern |static |import |using |use |crate |function |const )*", "", said)
        names = [bare.split("=")[-1].split("{")[0].split(" as ")[0].rstrip(" ;:\\")]
    return [name.strip() for name in names if name.strip()]


def _may_hold(node: Node) -> bool:
    """Return whether a definition may lie within a node: it has several lines, or is a form around one."""
    return node.start_point.row < node.end_point.row or node.type in _WRAPPERS


def _name_node(node: Node) -> Node | None:
    """Return the node that holds the name of a definition: in C it lies within what is declared."""
    for field in ("name", "left", "property"):
        if (found := node.child_by_field_name(field)) is not None:
            return found
    inner = node.child_by_field_name("declarator")
    for _ in range(_DEEPEST):
        if inner is None:
            break
        below = inner.child_by_field_name("declarator")
        if below is None and inner.type in ("reference_declarator", "parenthesized_declarator"):
            below = next(iter(inner.named_children), None)
        if below is None:
            return inner
        inner = below
    named = ("object_reference", "identifier", "type_identifier", "operator_cast")
    return next((child for child in node.named_children if child.type in named), None)


def _first_above(node: Node, lines: list[str]) -> Node:
    """Return the first of the comments and attributes directly above a node; the node where there is none."""
    first = node
    while (above := first.prev_named_sibling) is not None and _ABOVE.search(above.type):
        is_close = _last_row(above) + 1 >= first.start_point.row
        row, column = above.start_point
        begins_line = not lines[row].encode("utf-8", "replace")[:column].strip()
        if not (is_close and begins_line):
            break
        first = above
    return first


def _last_row(node: Node) -> int:
    """Return the last line of a node; the end of some lies at the beginning of the next line."""
    row, column = node.end_point
    return row if column or row == node.start_point.row else row - 1


def _said(node: Node | None) -> str:
    return " ".join((node.text or b"").decode("utf-8", "replace").split()) if node is not None else ""


def _cut(name: str) -> str:
    return name if len(name) <= _NAME_MAX else f"{name[: _NAME_MAX - 1]}…"
