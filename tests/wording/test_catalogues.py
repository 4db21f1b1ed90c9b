"""Every text of the code is in each catalogue, translated, with its names and its markup, and in no other place."""

from __future__ import annotations

import ast
import importlib.util
import re
import string
from pathlib import Path
from types import ModuleType

import pytest

from conftest import ROOT, require
from docmind.language import LANGUAGES as ANSWERED
from docmind.wording import LANGUAGES, _, language, ngettext, number_text, say, say_many, speak, system_language

_TRANSLATED = [code for code in LANGUAGES if code != "en"]
_ANSWERED = [code for code in ANSWERED if code != "en"]
_CATALOGUES = [*(("docmind", code) for code in _TRANSLATED), *(("answers", code) for code in _ANSWERED)]
_of_each = pytest.mark.parametrize(("domain", "code"), _CATALOGUES)
_MARKUP = re.compile(r"`[^`]*`|\*\*|:material/\w+:|(?<![\w-])--[a-z][a-z-]+|DOCMIND_[A-Z0-9_]+")


@pytest.fixture(scope="module")
def messages() -> ModuleType:
    require(importlib.util.find_spec("babel"), "Babel reads the catalogues: pip install -c constraints.txt babel")
    from catalogues import messages

    return messages


@pytest.fixture
def _english():
    yield
    speak("en")


def forms(value: object) -> list[str]:
    return list(value) if isinstance(value, list | tuple) else [str(value)]


_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def names(text: str) -> set[str]:
    """Return the names that `format` fills."""
    return {name for _text, name, _format, _conversion in string.Formatter().parse(text) if name is not None}


def test_all_catalogues_are_offered(messages: ModuleType) -> None:
    assert set(messages.CATALOGUES) == set(_CATALOGUES)


@pytest.mark.slow
@_of_each
def test_each_text_of_the_code_is_translated(messages: ModuleType, domain: str, code: str) -> None:
    wanted = {(text.context, text.key) for text in messages.texts() if text.domain == domain}
    catalog = messages.read(domain, code)
    there = {(message.context or "", message.id) for message in catalog if message.id}
    assert not wanted - there, "run scripts/catalogues update"
    assert not there - wanted, "run scripts/catalogues update"
    assert [message.id for message in messages.untranslated(catalog)] == []


@_of_each
def test_a_translation_has_the_names_and_the_markup_of_its_text(messages: ModuleType, domain: str, code: str) -> None:
    for message in messages.read(domain, code):
        if not message.id:
            continue
        texts, translations = forms(message.id), forms(message.string)
        assert len(translations) == (2 if len(texts) == 2 else 1), message.id
        for number, translation in enumerate(translations):
            text = texts[min(number, len(texts) - 1)]
            assert names(translation) == names(text), translation
            assert sorted(_MARKUP.findall(translation)) == sorted(_MARKUP.findall(text)), translation
            assert translation[:1].isspace() == text[:1].isspace(), translation
            assert translation[-1:].isspace() == text[-1:].isspace(), translation


@pytest.mark.slow
@_of_each
def test_the_compiled_catalogue_is_that_of_the_file(messages: ModuleType, domain: str, code: str) -> None:
    compiled = messages.po_file(domain, code).with_suffix(".mo").read_bytes()
    assert compiled == messages.compiled(domain, code), "run scripts/catalogues compile"


def test_a_text_that_is_put_together_first_is_refused(messages: ModuleType) -> None:
    found = messages.texts_of("_(\"A {n}\").format(n=f\"{ngettext('x', 'y', 2)}\")", "a.py")
    assert [text.key for text in found] == ["A {n}", ("x", "y")]
    with pytest.raises(messages.NotLiteralError, match=r"a\.py:1"):
        list(messages.texts_of('_(f"{n} pages")', "a.py"))
    with pytest.raises(messages.NotLiteralError, match=r"a\.py:2"):
        list(messages.texts_of('\n_("A " + name)', "a.py"))


def test_texts_of_answers_are_found_with_their_context(messages: ModuleType) -> None:
    source = "say(code, 'a', 'b'); say_many(code, 'c', 'd', n); A_('e', 'f'); A_many('g', 'h'); say(code, table[n])"
    found = [(text.domain, text.context, text.key) for text in messages.texts_of(source, "a.py")]
    assert found == [
        ("answers", "b", "a"),
        ("answers", "", ("c", "d")),
        ("answers", "f", "e"),
        ("answers", "", ("g", "h")),
    ]
    with pytest.raises(messages.NotLiteralError, match=r"a\.py:1"):
        list(messages.texts_of('say(code, f"{n} pages")', "a.py"))


_TELLING = ("answers", "tables", "conversations", "memory", "search")  # packages that say something in an answer
_WORDS = {  # tables by language of what is read in a question, not told
    "answers/intents.py": {"_GREETINGS", "_DOCUMENTS", "_SUMMARIES", "_SUMS", "_CHANGES"},
}


@pytest.mark.slow
def test_phrases_by_language_stand_in_catalogues_alone() -> None:
    found: dict[str, set[str]] = {}
    for package in _TELLING:
        folder = ROOT / "src" / "docmind"
        for path in (folder / package).rglob("*.py"):
            tables = set(_tables_by_language(ast.parse(path.read_text("utf-8"))))
            found |= {path.relative_to(folder).as_posix(): tables} if tables else {}
    assert found == _WORDS, f"phrases are texts of `say`; tables of words that are read: {_WORDS}"


def _tables_by_language(module: ast.Module) -> list[str]:
    """Return the names, or the lines, of the dicts and of the sequences of pairs that have phrases by language."""
    names = {
        id(node.value): ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0])
        for node in ast.walk(module)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
    }
    found = []
    for node in ast.walk(module):
        if isinstance(node, ast.Dict):
            pairs = list(zip(node.keys, node.values, strict=True))
        elif isinstance(node, ast.Tuple | ast.List):
            pairs = [tuple(one.elts) for one in node.elts if isinstance(one, ast.Tuple) and len(one.elts) == 2]
        else:
            continue
        of_languages = [
            value for key, value in pairs if isinstance(key, ast.Constant) and key.value in ("en", *_ANSWERED)
        ]
        if len(of_languages) > 1 and any(map(_has_phrase, of_languages)):
            found.append(names.get(id(node), f"line {node.lineno}"))
    return found


def _has_phrase(value: ast.expr) -> bool:
    if isinstance(value, ast.Dict):
        return any(map(_has_phrase, value.values))
    if isinstance(value, ast.Tuple | ast.List | ast.JoinedStr):
        return any(map(_has_phrase, value.elts if not isinstance(value, ast.JoinedStr) else value.values))
    return isinstance(value, ast.Constant) and isinstance(value.value, str) and " " in value.value


def test_a_table_of_phrases_is_seen() -> None:
    seen = "A = {'en': 'one row', 'pt': 'x'}\nB = {'de': {'k': ('a b',)}, 'fr': {}}\nC = (('en', 'a b'), ('es', 'c'))"
    passed = "D = {'en': 'eng', 'pt': 'por'}\nE = {'en': 'one row'}\nF = {'a': 'one row', 'b': 'two'}"
    assert _tables_by_language(ast.parse(f"{seen}\n{passed}")) == ["A", "B", "C"]


@pytest.mark.slow
def test_no_function_hides_the_lookup_behind_a_variable() -> None:
    """A function that assigns `_` cannot call it: Python takes it for its own variable everywhere in it."""
    hidden = []
    for path in (ROOT / "src" / "docmind").rglob("*.py"):
        functions = (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, _FUNCTIONS))
        hidden += [f"{path.relative_to(ROOT)}:{one.lineno}" for one in functions if _is_hidden(one)]
    assert hidden == []


def _is_hidden(function: ast.AST) -> bool:
    nodes = list(ast.walk(function))
    lookups = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    if not any(isinstance(node.func, ast.Name) and node.func.id == "_" for node in lookups):
        return False
    stored = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return any(node.id == "_" for node in stored) or any(
        isinstance(node, ast.arg) and node.arg == "_" for node in nodes
    )


@pytest.mark.usefixtures("_english")
def test_a_text_is_given_in_the_language_in_use() -> None:
    assert _("The question is empty.") == "The question is empty."
    speak("pt")
    assert (language(), _("The question is empty.")) == ("pt", "A pergunta está vazia.")
    assert [ngettext("{n} page", "{n} pages", n).format(n=n) for n in (1, 2)] == ["1 página", "2 páginas"]
    speak("es")
    assert _("The question is empty.") == "La pregunta está vacía."
    assert _("A text that no catalogue has.") == "A text that no catalogue has."
    speak("tlh")
    assert language() == "en"


def test_a_text_of_an_answer_is_given_in_the_language_of_the_question() -> None:
    assert [say(code, "And {n} more.").format(n=2) for code in ("en", "de", "fr", "tlh")] == [
        "And 2 more.",
        "Und 2 weitere.",
        "Et 2 de plus.",
        "And 2 more.",
    ]
    assert language() == "en", "that of the interface stays"
    assert [say("de", "“{column}” is empty", context) for context in ("", "sentence")] == [
        "„{column}“ leer ist",
        "„{column}“ ist leer",
    ]
    counted = [say_many("fr", "{n} row", "{n} rows", n).format(n=n) for n in (0, 1, 2)]
    assert counted == ["0 ligne", "1 ligne", "2 lignes"]
    assert say_many("tlh", "{n} row", "{n} rows", 2) == "{n} rows"


@pytest.mark.parametrize(
    ("environ", "code"),
    [
        ({}, "en"),
        ({"LANG": "pt_PT.UTF-8"}, "pt"),
        ({"LANG": "pt_PT.UTF-8", "LC_MESSAGES": "es"}, "es"),
        ({"LANG": "pt_PT.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_the_language_of_the_system(environ: dict[str, str], code: str) -> None:
    assert system_language(environ) == code


@pytest.mark.parametrize(
    ("code", "number"),
    [("", "12,345"), ("de", "12.345"), ("es", "12\xa0345"), ("fr", "12\xa0345"), ("it", "12.345"), ("pt", "12\xa0345")],
)
def test_a_number_of_an_answer_is_written_in_the_language_of_the_question(code: str, number: str) -> None:
    assert number_text(12_345, code=code) == number
    assert language() == "en", "that of the interface stays"


def test_the_catalogues_are_in_the_package() -> None:
    folder = Path(speak.__code__.co_filename).parent
    for domain, code in _CATALOGUES:
        assert (folder / code / "LC_MESSAGES" / f"{domain}.mo").is_file()
