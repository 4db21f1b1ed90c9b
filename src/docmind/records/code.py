"""Languages of source code: the endings of their files, and how they are written."""

from __future__ import annotations

from pathlib import PurePath

_CODE = """bash c cc clj cmake cpp cs css cxx dart elm erl ex exs f90 fs go gradle groovy h hh hpp hs java jl js jsx kt
kts less lua mjs ml nim php pl pm ps1 py pyi r rb rs sass scala scss sh sol sql svelte swift tcl ts tsx vb vue zig
zsh"""
CODE_SUFFIXES = frozenset(_CODE.split())
"""The ends of names of files of source code."""

BY_ENDING = {
    "bash": "bash", "sh": "bash", "zsh": "bash", "cc": "cpp", "cxx": "cpp", "hpp": "cpp", "hh": "cpp", "h": "c",
    "clj": "clojure", "cs": "csharp", "erl": "erlang", "ex": "elixir", "exs": "elixir", "f90": "fortran",
    "fs": "fsharp", "hs": "haskell", "jl": "julia", "js": "javascript", "mjs": "javascript", "jsx": "javascript",
    "kt": "kotlin", "kts": "kotlin", "ml": "ocaml", "pl": "perl", "pm": "perl", "ps1": "powershell", "py": "python",
    "pyi": "python", "rb": "ruby", "rs": "rust", "ts": "typescript", "tsx": "tsx", "vb": "vbnet",
}  # fmt: skip
"""Languages by the ending of a file, where that is not their name."""

NAMES = {language: language.capitalize() for language in BY_ENDING.values()} | {
    "c": "C", "cpp": "C++", "csharp": "C#", "css": "CSS", "dart": "Dart", "elm": "Elm", "fsharp": "F#", "go": "Go",
    "java": "Java", "javascript": "JavaScript", "lua": "Lua", "ocaml": "OCaml", "powershell": "PowerShell",
    "scala": "Scala", "swift": "Swift", "typescript": "TypeScript", "vbnet": "Visual Basic", "vue": "Vue", "zig": "Zig",
}  # fmt: skip
"""How languages are written, where capitals alone are not enough."""


def languages_of(name: str) -> tuple[str, ...]:
    """Return the languages that a file of source code may be in, by its name: a header of C may be one of C++."""
    ending = PurePath(name).suffix.lower().removeprefix(".")
    if ending in ("h", "tsx"):
        return ("c", "cpp") if ending == "h" else ("typescript",)
    return (BY_ENDING.get(ending, ending),)
