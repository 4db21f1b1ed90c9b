"""Help that is shown whole, numbers that are explained, the language of the system, and an app that is open."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from desks import environment_of
from docmind import DocMind, Settings
from docmind.access import NONCE_HEADER, PROOF_HEADER, RunningApp, announce, prove
from docmind.cli import main
from docmind.cli.output import excerpt, print_result
from docmind.records.documents import AddResult
from docmind.wording import speak
from shells import Shell, sentence_of

SECRET = bytes(range(32))


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    yield Shell(tmp_path)
    speak("en")


def groups(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    if isinstance(command, click.Group):
        yield path
        for name, child in command.commands.items():
            yield from groups(child, *path, name)


def test_no_line_of_the_help_is_cut(shell: Shell) -> None:
    for path in groups(main):
        listed = shell.run(*path, "--help").stdout
        assert "..." not in listed.replace("[ARGS]...", "").replace("[FILES]...", ""), path
        assert "…" not in listed, path


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("search", "x", "-k", "one"), "Give a whole number in place of “one”."),
        (("search", "x", "--limit", "text"), "--limit text has no whole number."),
        (("show", "a.pdf", "one"), "Give a whole number, 1 or more, in place of “one”."),
    ],
)
def test_a_number_out_of_range_is_answered_with_the_range(shell: Shell, words: tuple[str, ...], sentence: str) -> None:
    assert sentence in shell.run(*words, code=2).stderr


def test_the_language_is_that_of_the_system(shell: Shell) -> None:
    told = shell.run("search", "--help", LC_ALL="pt_PT.UTF-8").stdout
    assert "Utilização: " in told
    assert "Escrever JSON" in told
    assert "La pregunta está vacía." in sentence_of(shell.run("ask", " ", code=2, LC_ALL="es_ES.UTF-8"))
    assert "The question is empty." in sentence_of(shell.run("ask", " ", code=2, LC_ALL="C.UTF-8"))


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("a.pdf is empty.", "a.pdf could not be read: it is empty. Copy it again."),
        ("That password does not open a.pdf.", "That password does not open a.pdf. Copy it again."),
        ("The reader broke off.", "a.pdf could not be read: The reader broke off. Copy it again."),
    ],
)
def test_a_refused_file_is_named_once(capsys: pytest.CaptureFixture[str], message: str, told: str) -> None:
    print_result(AddResult("a.pdf", "refused", message=message, hint="Copy it again."))
    assert capsys.readouterr().err == told + "\n"


def test_an_excerpt_is_where_the_words_of_the_question_are() -> None:
    text = "An introduction without any of it. " * 20 + "Herons nest in tall\ntrees near rivers. " + "The end. " * 60
    shown = excerpt(text, "Where do herons nest?")
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert "Herons nest in tall trees near rivers." in shown
    assert len(shown) < 240
    assert all(word in text.split() for word in shown.split() if word != "…")


def test_the_words_of_the_question_are_bold_on_a_terminal() -> None:
    shown = excerpt("Owls hunt. Herons nested here.", "Do herons nest?", is_marked=True)
    assert shown == f"Owls hunt. {click.style('Herons', bold=True)} nested here."
    assert excerpt("Owls hunt at night.", "unicorns") == "Owls hunt at night."
    assert excerpt("", "unicorns") == ""


@pytest.mark.slow
def test_a_page_that_is_not_there_is_answered_with_their_number(shell: Shell) -> None:
    shell.run("add", shell.file("a.txt", b"Herons nest in trees."))
    result = shell.run("show", "a.txt", "99", code=4)
    assert "This document has 1 page." in sentence_of(result)
    assert "docmind list" in result.stderr


@pytest.mark.slow
def test_while_the_app_is_open_a_command_says_so(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    probes = []

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            probes.append(self.path)
            self.send_response(403)
            self.send_header(PROOF_HEADER, prove(SECRET, self.headers[NONCE_HEADER]))
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has there
            pass

    for name, value in environment_of(shell.folder).items():
        monkeypatch.setenv(name, value)
    server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings = Settings.load()
    try:
        with DocMind(settings):
            assert "in use by another DocMind" in shell.run("reindex", code=11).stderr
            address = f"http://127.0.0.1:{server.server_port}/"
            announce(settings.data_dir, RunningApp(address, address, SECRET, True, 1))
            result = shell.run("reindex", code=11)
    finally:
        server.shutdown()
        server.server_close()
    assert "DocMind is open in the browser" in sentence_of(result)
    assert probes == ["/"], "the app is asked once"
    assert "docmind open" in result.stderr


@pytest.mark.slow
def test_a_command_waits_for_another_that_is_about_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Shell(tmp_path)
    shell.run("add", shell.file("kettle.txt", b"The kettle is descaled in June."))
    for name, value in environment_of(shell.folder).items():
        monkeypatch.setenv(name, value)
    other = DocMind(Settings.load())
    ending = threading.Timer(0.5, other.close)
    ending.start()
    try:
        result = shell.run("list")
    finally:
        ending.join()
    assert "kettle.txt" in result.stdout
    assert "Another command of DocMind uses the library" in result.stderr
