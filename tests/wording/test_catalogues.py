"""Every text of the code is in each catalogue, translated, with its names and its markup."""

from __future__ import annotations

import ast
import importlib.util
import re
import string
from pathlib import Path
from types import ModuleType

import pytest

from conftest import ROOT, require
from docmind.wording import LANGUAGES, _, language, ngettext, speak, system_language

_TRANSLATED = [code for code in LANGUAGES if code != "en"]
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
    assert set(messages.LANGUAGES) == set(_TRANSLATED)


@pytest.mark.slow
@pytest.mark.parametrize("code", _TRANSLATED)
def test_each_text_of_the_code_is_translated(messages: ModuleType, code: str) -> None:
    wanted = {text.key for text in messages.texts()}
    catalog = messages.read(code)
    there = {message.id for message in catalog if message.id}
    assert not wanted - there, "run scripts/catalogues update"
    assert not there - wanted, "run scripts/catalogues update"
    assert [message.id for message in messages.untranslated(catalog)] == []


@pytest.mark.parametrize("code", _TRANSLATED)
def test_a_translation_has_the_names_and_the_markup_of_its_text(messages: ModuleType, code: str) -> None:
    for message in messages.read(code):
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
@pytest.mark.parametrize("code", _TRANSLATED)
def test_the_compiled_catalogue_is_that_of_the_file(messages: ModuleType, code: str) -> None:
    compiled = messages.po_file(code).with_suffix(".mo").read_bytes()
    assert compiled == messages.compiled(code), "run scripts/catalogues compile"


def test_a_text_that_is_put_together_first_is_refused(messages: ModuleType) -> None:
    assert list(messages.texts_of("_(\"A {n}\").format(n=f\"{ngettext('x', 'y', 2)}\")", "a.py")) == [
        "A {n}",
        ("x", "y"),
    ]
    with pytest.raises(messages.NotLiteralError, match=r"a\.py:1"):
        list(messages.texts_of('_(f"{n} pages")', "a.py"))
    with pytest.raises(messages.NotLiteralError, match=r"a\.py:2"):
        list(messages.texts_of('\n_("A " + name)', "a.py"))


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


def test_the_catalogues_are_in_the_package() -> None:
    folder = Path(speak.__code__.co_filename).parent
    for code in _TRANSLATED:
        assert (folder / code / "LC_MESSAGES" / "docmind.mo").is_file()
