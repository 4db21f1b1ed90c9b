"""Source code: where its functions and classes begin, in each language, and code that does not parse."""

from __future__ import annotations

import random

import pytest

from docmind.blocks import Block, unpack
from docmind.reading.formats import Rules, reader
from docmind.reading.formats.source_code import GRAMMARS, language_of, source_code, symbols_of
from docmind.records.documents import Upload
from each import each_of
from sampled import tenth_of

PYTHON = '''"""Calls again what failed."""
import time
from random import random


LIMIT = 5  # calls


# Waits longer after each failure.
@logged
def wait(n):
    time.sleep(n)


class Retry:
    """A policy."""

    attempts = 3

    def run(self, call):
        return call()

    async def stop(self):
        pass
'''


def parts(text: str, language: str) -> list[tuple[str, str]]:
    """Return the innermost symbols and the text of each part, on one line."""
    lines = text.split("\n")
    symbols = symbols_of(text, language)
    ends = [line for line, _path in symbols[1:]] + [len(lines)]
    return [
        (" · ".join(path), " ".join(" ".join(lines[line:end]).split()))
        for (line, path), end in zip(symbols, ends, strict=True)
    ]


def test_functions_and_classes_have_their_comments_and_decorators() -> None:
    assert parts(PYTHON, "python") == [
        ("", '"""Calls again what failed."""'),
        ("import time, random", "import time from random import random"),
        ("", "LIMIT = 5 # calls"),
        ("def wait", "# Waits longer after each failure. @logged def wait(n): time.sleep(n)"),
        ("class Retry", 'class Retry: """A policy.""" attempts = 3'),
        ("class Retry · def run", "def run(self, call): return call()"),
        ("class Retry · def stop", "async def stop(self): pass"),
    ]


CASES = [
    ("bash", "set -e\n# Copies.\nbackup() {\n  cp a b\n}\nfunction clean {\n  rm x\n}\n", ["", "backup()", "clean()"]),
    (
        "c",
        "#include <a.h>\nstruct node {\n  int v;\n};\nstatic struct node *last(struct node *n)\n{\n  return n;\n}\n"
        "struct node first;\n#define MAX(a, b) \\\n  a\n",
        ["import a.h", "struct node", "last()", "", "macro MAX"],
    ),
    (
        "cpp",
        "namespace geo {\ntemplate <class T>\nclass Vec {\n public:\n  ~Vec() {}\n  T operator+(T o) {\n    return o;\n"
        "  }\n};\nint Vec::size() {\n  return 0;\n}\n}\n",
        ["namespace geo", "namespace geo · class Vec", "namespace geo · class Vec · ~Vec()",
         "namespace geo · class Vec · operator+()", "namespace geo · Vec::size()"],
    ),
    (
        "csharp",
        "using System;\nnamespace A\n{\n  public class Basket\n  {\n    public int Total { get; set; }\n"
        "    int Sum(int a)\n    {\n      return a;\n    }\n  }\n}\n",
        ["import System", "namespace A", "namespace A · class Basket", "namespace A · class Basket · property Total",
         "namespace A · class Basket · Sum()"],
    ),
    (
        "go",
        'package a\nimport "os"\n// Asks.\nfunc (d *Desk) Ask(q string) error {\n\treturn nil\n}\ntype (\n\tA int\n'
        "\tB struct {\n\t\tx int\n\t}\n)\n",
        ["import os", "func (d *Desk) Ask", "", "type A", "type B"],
    ),
    (
        "java",
        "import a.B;\n/** Retries. */\npublic class Retry {\n  Retry(int n) {\n  }\n  @Override\n  void run() {\n  }\n"
        "  interface Listener {\n    void failed();\n  }\n}\n",
        ["import a.B", "class Retry", "class Retry · Retry()", "class Retry · run()",
         "class Retry · interface Listener"],
    ),
    (
        "javascript",
        "const fs = require('fs');\nexport const open = async (p) => {\n  return p;\n};\n"
        "exports.save = function (d) {\n  fs(d);\n};\nclass A {\n  close = () => {\n    1;\n  };\n}\n",
        ["import fs", "function open", "function exports.save", "class A", "class A · close()"],
    ),
    (
        "php",
        "<?php\nuse A\\B;\nclass Page {\n  public function show(): string {\n    return 'a';\n  }\n}\n"
        "function help() {\n}\n",
        ["", "import A\\B", "class Page", "class Page · function show", "function help"],
    ),
    (
        "ruby",
        "require 'a'\nmodule Jobs\n  class Night\n    # At three.\n    def run\n      1\n    end\n  end\nend\n",
        ["import a", "module Jobs", "module Jobs · class Night", "module Jobs · class Night · def run"],
    ),
    (
        "rust",
        "use std::fmt;\n/// A point.\n#[derive(Debug)]\npub struct Point {\n  x: i32,\n}\n"
        "impl fmt::Display for Point {\n  fn fmt(&self) {\n  }\n}\n",
        ["import std::fmt", "struct Point", "impl fmt::Display for Point", "impl fmt::Display for Point · fn fmt"],
    ),
    (
        "sql",
        "-- People.\nCREATE TABLE people (\n  id INT\n);\nCREATE VIEW old AS SELECT 1;\nSELECT 2;\n",
        ["table people", "view old", ""],
    ),
    ("tsx", "export function Cart() {\n  return <ul>\n  </ul>;\n}\n", ["function Cart"]),
    (
        "typescript",
        "interface A {\n  b: string;\n}\nexport default class Desk {\n  async ask(q: string): Promise<void> {\n    q;\n"
        "  }\n}\n",
        ["interface A", "class Desk", "class Desk · ask()"],
    ),
]  # fmt: skip


@each_of("language, text, named", CASES)
def test_the_definitions_of_each_language(language: str, text: str, named: list[str]) -> None:
    assert [name for name, _text in parts(text, language)] == named


def test_every_language_with_a_grammar_is_tried_here() -> None:
    tried = {language for language, _text, _named in CASES} | {"python"}
    assert tried == set(GRAMMARS)


@each_of(
    "name, text, language",
    [
        ("a.py", "", "python"),
        ("a.rs", "", "rust"),
        ("a.HPP", "", "cpp"),
        ("a.go", "", "go"),
        ("a.tsx", "", "tsx"),
        ("a.h", "struct a { int b; };", "c"),
        ("a.h", "#pragma once\nnamespace a {\n}", "cpp"),
    ],
)
def test_the_language_is_known_by_the_name(name: str, text: str, language: str) -> None:
    assert language_of(name, text) == language


def test_code_without_a_grammar_or_without_sense_is_one_part() -> None:
    assert list(source_code("x = 1", "python")) == [Block(kind="code", text="x = 1", language="python")]
    assert symbols_of("fn a\n  b\n", "elm") == ()
    assert symbols_of("This is a letter.\nIt has {no code (at all.\n" * 20, "java") == ()


def test_a_broken_function_leaves_those_beside_it() -> None:
    text = "def good():\n    return 1\n\ndef bad(:\n    return (2\n\n\n" + "x = 1\n" * 20
    assert ("def good", "def good(): return 1") in parts(text, "python")


def test_a_long_function_is_parted_at_the_functions_inside() -> None:
    inner = "    def inner(a):\n        return a\n"
    assert [name for name, _ in parts("def outer():\n" + inner + "    x = 1\n" * 3, "python")] == ["def outer"]
    long = "def outer():\n" + inner + "    x = 1\n" * 90
    assert [name for name, _ in parts(long, "python")] == ["def outer", "def outer · def inner", "def outer"]


def test_the_page_has_the_lines_of_the_file_and_a_block_for_each_part() -> None:
    opened = reader("code")(Upload("a.py", PYTHON.replace("\n", "\r\n").encode()), "code", Rules())
    page = opened.page(1)
    assert [line.strip() for line in page.text.split("\n") if line.strip()] == [
        line.strip() for line in PYTHON.split("\n") if line.strip()
    ]
    found = unpack(page.blocks, len(page.text))
    assert [block.path for block in found][-2:] == [("class Retry", "def run"), ("class Retry", "def stop")]
    assert page.text[found[-2].start : found[-2].end] == "    def run(self, call):\n        return call()"
    assert {(block.kind, block.language) for block in found} == {("code", "python")}


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_hostile_code_is_read_in_time() -> None:
    rng = random.Random(7)
    signs = "(){}[];\n abc\"'=<>$"
    for language in GRAMMARS:
        symbols_of("".join(rng.choices(signs, k=20_000)), language)
        symbols_of("{(\n" * 20_000, language)
    for number in tenth_of(range(300)):
        rng = random.Random(number)
        at = rng.randrange(len(PYTHON))
        text = PYTHON[:at] + rng.choice(signs) + PYTHON[at + rng.randrange(30) :]
        lines = [line for line, _path in symbols_of(text, "python")]
        assert lines == sorted(set(lines))


@each_of(
    "language, text, named",
    [
        ("python", "import os, sys as s\nfrom a.b import (\n    c,\n    d,\n)\nx = 1\n", "import os, sys, a.b"),
        ("go", 'package a\nimport (\n\t"fmt"\n\tb "x/y"\n)\nfunc A() {\n}\n', "import fmt, x/y"),
        ("typescript", "import a from 'react';\nimport './b.css';\nlet c = 1;\nlet d = 2;\n", "import react, ./b.css"),
        ("javascript", "const a = require('fs').promises;\nconst b = make('x');\nb();\n", "import fs"),
        ("csharp", "using System;\nusing T = System.Text;\nclass A {\n}\n", "import System, System.Text"),
        ("rust", "use std::io::{Read, Write};\nextern crate serde;\nfn f() {\n}\n", "import std::io, serde"),
        ("ruby", "require 'json'\nrequire_relative 'b'\nputs 1\nputs 2\n", "import json, b"),
        ("cpp", '#include <vector>\n#include "a/b.hpp"\nint f() {\n}\n', "import vector, a/b.hpp"),
    ],
)  # fmt: skip
def test_a_part_of_imports_names_what_they_import(language: str, text: str, named: str) -> None:
    assert symbols_of(text, language)[0] == (0, (named,))
