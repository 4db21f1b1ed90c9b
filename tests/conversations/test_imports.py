"""Which files import something: every line of code that does, in all languages, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from desks import settings_in
from docmind.answers import imports_in, list_questions
from docmind.application import DocMind
from docmind.blocks import unpack
from docmind.errors import ConfigError
from docmind.reading.file_type import identify
from docmind.reading.formats import Rules, reader
from docmind.records.documents import Upload
from each import each_of

FILES = {
    "fetch.py": 'import os\nimport requests\n\n\ndef get(url):\n    """Call import requests first."""\n    return 1\n',
    "late.py": "def get(url):\n    from requests.adapters import HTTPAdapter\n    return 1\n\n\ndef own():\n    pass\n",
    "fakes.py": "import requests_mock\n\nSAID = 'import requests'\n\n\ndef f():\n    pass\n",
    "cart.ts": "import axios from 'axios';\nimport {load} from './load';\nexport const cart = () => load(axios);\n",
    "main.go": 'package main\n\nimport (\n\t"fmt"\n\t"net/http"\n)\n\nfunc main() {\n\tfmt.Println(http.Get)\n}\n',
    "port.kt": "import okhttp3.OkHttpClient\n\nfun main() {\n}\n",
    "node.c": '#include <stdio.h>\n#include "list/node.h"\nint main(void)\n{\n  return 0;\n}\n',
    "notes.md": "# Notes\n\nWe import requests and wine.\n\n```python\nimport requests\n```\n",
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with DocMind(settings_in(tmp_path_factory.mktemp("imports"))) as docmind:
        docmind.add([Upload(name, text.encode()) for name, text in FILES.items()])
        yield docmind


def lines(name: str, text: str, wanted: str) -> list[str]:
    """Return the lines of a file that import something."""
    kind, upload = identify(Upload(name, text.encode()))
    page = reader(kind)(upload, kind, Rules()).page(1)
    return [page.text[start:end] for start, end in imports_in(page.text, unpack(page.blocks, len(page.text)), wanted)]


@pytest.mark.slow
@each_of(
    "question, wanted",
    [
        ("Which files import requests?", ["fetch.py: import requests",
         "late.py: from requests.adapters import HTTPAdapter", "notes.md: import requests"]),
        ("Welche Python-Dateien importieren requests?", ["fetch.py: import requests",
         "late.py: from requests.adapters import HTTPAdapter", "notes.md: import requests"]),
        ("¿Qué archivos importan requests_mock?", ["fakes.py: import requests_mock"]),
        ("Quels fichiers importent axios ?", ["cart.ts: import axios from 'axios';"]),
        ("Que ficheiros importam net/http?", ['main.go: "net/http"']),
        ("Where is okhttp3 imported?", ["port.kt: import okhttp3.OkHttpClient"]),
        ("Which files include <list/node.h>?", ['node.c: #include "list/node.h"']),
    ],
)  # fmt: skip
def test_every_file_that_imports_something_is_listed_with_its_line(
    desk: DocMind, question: str, wanted: list[str]
) -> None:
    answer = desk.ask(question)
    assert answer.listing is not None
    assert (answer.listing.what, answer.listing.is_complete, answer.listing.total) == ("imports", True, len(wanted))
    assert sorted(f"{one.document}: {one.quote}" for one in answer.sources) == sorted(wanted)
    assert all(one.boxes for one in answer.sources)


@pytest.mark.slow
def test_what_nothing_imports_is_told(desk: DocMind) -> None:
    answer = desk.ask("Which files import numpy?")
    assert "None found: 0 lines import “numpy”." in answer.answer


def test_a_list_of_imports_is_made_without_a_question(desk: DocMind) -> None:
    assert [item.text for item in desk.find("fmt", "imports").items] == ['"fmt"']
    with pytest.raises(ConfigError):
        desk.find("", "imports")


@each_of(
    "question",
    ["Which companies import wine?", "Who imports goods from Spain?", "What does Portugal import?",
     "Where is the wine imported from?", "Which files mention requests?", "How are the files imported?"],
)  # fmt: skip
def test_other_questions_ask_for_no_imports(question: str) -> None:
    assert not [asked for asked in list_questions(question) if asked.what == "imports"]


def test_documents_that_import_something_may_be_no_code() -> None:
    (asked, *_others) = list_questions("Which documents import wine?")
    assert (asked.what, asked.is_explicit) == ("imports", False)


@each_of(
    "name, text, wanted, found",
    [
        ("a.py", "from a.b import c, d as e\nx = 1\n", "a.b.c", ["from a.b import c, d as e"]),
        ("a.py", "from a.b import c, d as e\nx = 1\n", "d", ["from a.b import c, d as e"]),
        ("a.py", "from a.b import (\n    c,\n    d,\n)\nx = 1\n", "d", ["d,"]),
        ("a.py", "import ab\nimport a  # not b\nx = 1\n", "b", []),
        ("a.py", "text = '''\nimport a and b\n'''\nx = 1\n", "a", []),
        ("a.rs", "use std::{fs, io};\nfn f() {\n}\n", "io", ["use std::{fs, io};"]),
        ("a.js", "const { a } = require('lodash/fp');\na();\na();\n", "lodash",
         ["const { a } = require('lodash/fp');"]),
        ("a.js", "const lodash = make('x');\nlodash();\nlodash();\n", "lodash", []),
        ("a.cs", "using System.Text;\nclass A {\n  void B() {\n    using (var text = C()) {}\n  }\n}\n", "text",
         ["using System.Text;"]),
        ("a.php", "<?php\nuse App\\Mail;\nrequire_once 'lib/mail.php';\n", "mail",
         ["use App\\Mail;", "require_once 'lib/mail.php';"]),
        ("a.swift", "import Foundation\n\nstruct A {\n}\n", "foundation", ["import Foundation"]),
        ("a.sh", "source lib/log.sh\n. ./env\n\nrun() {\n  true\n}\n", "env", [". ./env"]),
    ],
)  # fmt: skip
def test_lines_that_import(name: str, text: str, wanted: str, found: list[str]) -> None:
    assert lines(name, text, wanted) == found
