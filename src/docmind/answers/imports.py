"""What lines of source code import: the lines of a page that import something by its name.

Of a part of code that the reader has found to be imports each line counts that has the name. Elsewhere, as within
functions, in languages without a grammar and in code of before that was known, a line counts that is an import by its
form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from docmind.blocks import IMPORTS, PageBlock

_LINE = re.compile(r"[^\n]+")
_NAME = re.compile(r"[@\w$](?:[@./:\\-]{0,20}+[\w$+*]++)*+|\.{1,2}/[\w./-]+")
_PARTED = re.compile(r"::|[./\\:]")
_ENDING = re.compile(r"\.(?:h|hh|hpp|hxx|js|mjs|ts|tsx|jsx|rb|py|php|css|scss)$")
_COMMENT = re.compile(r"\s(?://|#(?!\s*include)|--)\s.*$|/\*.*?(?:\*/|$)", re.MULTILINE)
_FROM = re.compile(r"\s*from\s+(?P<module>[\w.]++)\s+import\s+(?P<names>.*)")
_WORDS = """
import from use using include require require_relative export const let var as static type pub extern crate package
global function await source library
"""
_KEYWORDS = frozenset(_WORDS.split())
_IMPORT = r"import\s+(?:static\s+|type\s+)?[\w.*$:/\\]+(?:\s+as\s+\w+)?(?:\s*,\s*[\w.]+(?:\s+as\s+\w+)?)*\s*;?"
_SCRIPT = (
    r"import\s*(?:['\"]|[\w*{].*\bfrom\s*['\"]).*|export\s.*\bfrom\s*['\"].*"
    r"|(?:const|let|var)\s[^=]+=\s*(?:await\s+)?(?:require|import)\(\s*['\"].*"
)
_STATEMENTS: dict[str, str] = {
    **dict.fromkeys(("python",), rf"{_IMPORT}|from\s+[\w.]++\s+import\s.+"),
    **dict.fromkeys(("javascript", "typescript", "tsx", "vue", "svelte"), _SCRIPT),
    **dict.fromkeys(("c", "cpp"), r"#\s*include\s*[<\"].+[>\"]"),
    "csharp": r"(?:global\s+)?using\s+(?:static\s+)?[\w.]+(?:\s*=\s*[\w.]+)?\s*;",
    "rust": r"(?:pub(?:\([\w ]+\))?\s+)?use\s.+|extern\s+crate\s.+",
    "php": r"use\s+(?:function\s+|const\s+)?\\?[\w\\].*;|(?:require|include)(?:_once)?\b.*['\"].*",
    "ruby": r"require(?:_relative)?\s*+(?:\(\s*+)?['\"].+['\"]\s*\)?",
    "perl": r"(?:use|require)\s+[A-Z][\w:].*;",
    "bash": r"(?:source|\.)\s+[\w./$~-]+",
    "r": r"(?:library|require)\(\s*['\"]?[\w.]+['\"]?\s*\)",
    "lua": r"(?:local\s+\w+\s*=\s*)?require\s*+(?:\(\s*+)?['\"].+['\"]\s*\)?",
    **dict.fromkeys(("css", "scss", "sass", "less"), r"@(?:import|use|forward)\s.+"),
}
_STATEMENTS[""] = rf"{_IMPORT}|import\s+['\"].+['\"].*"  # Java, Kotlin, Scala, Swift, Dart, Go
_FORMS = {language: re.compile(form, re.DOTALL) for language, form in _STATEMENTS.items()}


def imports_in(text: str, blocks: Sequence[PageBlock], name: str) -> Iterator[tuple[int, int]]:
    """Yield the lines of a page that import something of a name, without the space around them."""
    wanted = _parts(name)
    for block in blocks if wanted else ():
        if block.kind != "code":
            continue
        is_import = bool(block.path) and block.path[-1].startswith(IMPORTS)
        form = _FORMS.get(block.language, _FORMS[""])
        for found in _LINE.finditer(text, block.start, block.end):
            line = _COMMENT.sub("", found[0])
            if (is_import or form.fullmatch(line.strip())) and _has(line, wanted):
                yield found.end() - len(found[0].lstrip()), found.start() + len(found[0].rstrip())


def _has(line: str, wanted: list[str]) -> bool:
    """Return whether a line names something: a module, what lies in it, or one name that is taken from it."""
    named = [_parts(one) for one in _NAME.findall(line) if one not in _KEYWORDS]
    if (said := _FROM.match(line)) is not None:
        module = _parts(said["module"])
        named += [[*module, *_parts(one)] for one in _NAME.findall(said["names"])]
    size = len(wanted)
    return any(parts[:size] == wanted or parts[-size:] == wanted for parts in named)


def _parts(name: str) -> list[str]:
    """Return the parts of the name of a module, in small letters, without the ending of a file."""
    bare = _ENDING.sub("", name.strip(" \t\"'`<>;(){}[],").lower())
    return [part for part in _PARTED.split(bare) if part not in ("", "*")]
