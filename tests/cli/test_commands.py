"""The command line: every command, its JSON, its exit codes, no control sequences."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

import forked
from desks import environment_of, opened, report, text_pdf
from docmind.cli import main
from docmind.cli.output import inert
from docmind.records.documents import DocumentInfo
from shells import BEGINNING, Shell, assert_inert, sentence_of

HOSTILE = "evil\x1b[2J\x1b]0;owned\x07\u202egnp.txt"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """Make a vault with two documents, for commands that only read."""
    shell = Shell(tmp_path_factory.mktemp("stocked"))
    heron = shell.file("herons.pdf", text_pdf(["Herons wait in shallow water for fish.", "Herons nest in tall trees."]))
    shell.run("add", heron, shell.file("owls.txt", b"Owls hunt at night and swallow their prey whole. " * 3))
    return shell


# --- every command ----------------------------------------------------------------------------------------------------


def test_help_and_version_name_what_there_is(shell: Shell) -> None:
    listed = shell.run("--help").stdout
    assert isinstance(main, click.Group)
    for name in main.commands:
        assert name in listed
        assert "Usage" in shell.run(name, "--help").stdout
    assert importlib.metadata.version("docmind") in shell.run("--version").stdout


@pytest.mark.slow
def test_adding_says_what_became_of_each_file(shell: Shell) -> None:
    good = shell.file("herons.pdf", report("herons", 3).data)
    bad = shell.file("empty.pdf", b"")
    result = shell.run("add", good, bad, good, shell.files / "missing.pdf", code=20)
    assert "Added herons.pdf: 3 pages" in result.stdout
    assert "Already here: herons.pdf, 3 pages" in result.stdout
    assert "empty.pdf could not be read: it is empty" in result.stderr
    assert "missing.pdf can't be opened" in result.stderr


def test_the_recovery_code_is_shown_and_not_on_stdout(shell: Shell) -> None:
    shell.begins = False
    first, second = shell.run(*BEGINNING, "--json"), shell.run("list", "--json")
    assert "recovery code" in first.stderr
    assert "recovery" not in first.stdout
    assert (json.loads(second.stdout), second.stderr) == ({"documents": []}, "")


@pytest.mark.slow
def test_add_as_json(shell: Shell) -> None:
    good = shell.file("herons.pdf", report("herons", 3).data)
    told = shell.json("add", good, shell.file("empty.pdf", b""), code=21)
    assert set(told) == {"files"}
    added, refused = told["files"]
    fields = {
        *("document", "status", "doc_id", "pages", "ocr_pages"),
        *("error", "message", "hint", "exit_code", "duration_ms", "losses", "enclosed"),
    }
    assert set(added) == set(refused) == fields
    assert (added["document"], added["status"], added["pages"]) == ("herons.pdf", "added", 3)
    assert (refused["document"], refused["status"], refused["doc_id"]) == ("empty.pdf", "refused", None)
    assert (refused["error"], refused["exit_code"]) == ("EmptyFileError", 21)
    assert refused["message"].endswith(".")


@pytest.mark.slow
def test_a_folder_is_added_with_all_below_it_but_what_is_hidden(shell: Shell) -> None:
    for n, name in enumerate(["a.txt", "sub/b.txt", ".hidden.txt", ".git/c.txt", "sub/deep/d.txt"]):
        shell.file(name, f"Document {n} speaks of herons and of owls.".encode())
    told = shell.json("add", shell.files)
    assert [entry["document"] for entry in told["files"]] == ["a.txt", "b.txt", "d.txt"]


@pytest.mark.skipif(os.name != "posix", reason="symbolic links of POSIX")
def test_links_in_a_folder_are_not_followed(shell: Shell, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("A secret.")
    (shell.files / "link.txt").symlink_to(outside / "secret.txt")
    (shell.files / "inner").symlink_to(outside)
    typed = shell.json("add", shell.files / "link.txt")["files"]  # a path that the user wrote may be a link
    assert [one["status"] for one in typed] == ["added"]
    (shell.files / "second name of the key.txt").hardlink_to(shell.folder / "docmind.key")
    assert "links are left out" in shell.run("add", shell.files).stderr


@pytest.mark.slow
def test_tags_narrow_a_search(shell: Shell) -> None:
    shell.run("add", shell.file("a.txt", b"Herons wait in the water."), "--tag", "birds", "--tag", "2024")
    shell.run("add", shell.file("b.txt", b"Herons nest in the trees."))
    found = shell.json("search", "herons", "--tag", "birds")
    assert [hit["document"] for hit in found["hits"]] == ["a.txt"]
    listed = {info["document"]: info["tags"] for info in shell.json("list")["documents"]}
    assert listed == {"a.txt": ["birds", "2024"], "b.txt": []}


@pytest.mark.slow
def test_list_as_json_and_as_text(stocked: Shell) -> None:
    told = stocked.json("list")
    assert set(told) == {"documents"}
    assert [info["document"] for info in told["documents"]] == ["owls.txt", "herons.pdf"]
    for info in told["documents"]:
        assert {"document", "doc_id", "pages", "language", "status"} <= set(info)
        assert set(info) == set(DocumentInfo.__dataclass_fields__)
        assert info["status"] == "ready"
    listed = stocked.run("list").stdout
    assert "herons.pdf" in listed
    assert told["documents"][0]["doc_id"][:12] in listed


@pytest.mark.slow
def test_search_as_json_and_as_text(stocked: Shell) -> None:
    told = stocked.json("search", "Where do herons nest?")
    assert {"query", "hits", "lists", "degraded", "timings_ms"} <= set(told)
    assert told["query"] == "Where do herons nest?"
    assert told["degraded"] == []
    assert "total" in told["timings_ms"]
    assert [hit["rank"] for hit in told["hits"]] == list(range(1, len(told["hits"]) + 1))
    first = told["hits"][0]
    assert {"rank", "score", "document", "doc_id", "page_no", "page_id", "modality", "text", "boxes"} <= set(first)
    assert (first["document"], first["page_no"], first["modality"]) == ("herons.pdf", 2, "text")
    assert first["page_id"] == f"{first['doc_id']}::page::2"
    assert first["text"] == "Herons nest in tall trees."
    assert first["boxes"]
    assert all(len(box) == 4 for box in first["boxes"])
    assert len(stocked.json("search", "herons", "-k", "1")["hits"]) == 1
    assert "herons.pdf, page 2" in stocked.run("search", "Where do herons nest?").stdout
    assert {hit["document"] for hit in stocked.json("search", "herons", "--doc", "owls.txt")["hits"]} <= {"owls.txt"}


@pytest.mark.slow
def test_ask_as_json_and_as_text(stocked: Shell) -> None:
    told = stocked.json("ask", "Where do herons nest?")
    assert {"question", "answer", "found", "sources", "degraded", "timings_ms"} <= set(told)
    assert told["question"] == "Where do herons nest?"
    assert isinstance(told["found"], bool)
    assert told["found"] == bool(told["sources"])
    for n, source in enumerate(told["sources"], 1):
        assert {"n", "document", "page_no", "quote", "boxes"} <= set(source)
        assert source["n"] == n
        assert f"[{n}]" in told["answer"]
    assert stocked.run("ask", "Where do herons nest?").stdout.strip()


@pytest.mark.slow
def test_show_a_page_and_its_image(stocked: Shell, tmp_path: Path) -> None:
    told = stocked.json("show", "herons.pdf", "2")
    assert (told["document"], told["page_no"], told["pages"]) == ("herons.pdf", 2, 2)
    assert [word["text"] for word in told["words"]] == ["Herons", "nest", "in", "tall", "trees."]
    assert "Herons nest" in stocked.run("show", told["doc_id"][:6], "2", "--image", tmp_path / "page.webp").stdout
    assert (tmp_path / "page.webp").read_bytes()[8:12] == b"WEBP"
    assert "can't be written" in sentence_of(
        stocked.run("show", "herons.pdf", "2", "--image", tmp_path / "no" / "page.webp", code=2)
    )


@pytest.mark.slow
def test_status_as_json_and_as_text(stocked: Shell) -> None:
    told = stocked.json("status")
    assert (told["documents"], told["pages"], told["key_source"]) == (2, 3, "file")
    assert told["index_epoch"] == told["vault_epoch"]
    assert {part["state"] for part in told["capabilities"]} <= {"present", "missing", "off"}
    assert "2 documents, 3 pages" in stocked.run("status").stdout


@pytest.mark.slow
def test_delete_asks_or_is_told(shell: Shell) -> None:
    shell.run("add", shell.file("a.txt", b"Herons wait."), shell.file("b.txt", b"Owls hunt."))
    assert "Nothing was deleted" in sentence_of(shell.run("delete", "a.txt", "--permanently", code=130))
    told = shell.json("delete", "a.txt", "a.txt", "--permanently", "--yes")
    (receipt,) = told["deleted"]
    assert (receipt["document"], receipt["erased"]["pages"], receipt["erased"]["passages"]) == ("a.txt", 1, 1)
    assert receipt["is_clean"]
    assert "There is no document" in sentence_of(shell.run("delete", "a.txt", "--yes", code=4))
    assert "b.txt was erased (1 page)." in shell.run("delete", "b.txt", "--permanently", "-y").stdout
    assert list((shell.folder / "data" / "artifacts").iterdir()) == []


@pytest.mark.slow
def test_one_wrong_name_deletes_none(shell: Shell) -> None:
    shell.run("add", shell.file("a.txt", b"Herons wait."))
    shell.run("delete", "a.txt", "b.txt", "--yes", code=4)
    assert len(shell.json("list")["documents"]) == 1


@pytest.mark.slow
def test_reindex_counts_documents_and_finds_as_before(shell: Shell) -> None:
    shell.run("add", shell.file("a.txt", b"Herons wait in the water."))
    before = shell.json("search", "herons")["hits"]
    assert shell.json("reindex") == {"documents": 1}
    assert shell.json("search", "herons")["hits"] == before


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_an_unknown_setting_is_one_sentence(shell: Shell) -> None:
    shell.begins = False
    assert "DOCMIND_TYPO" in sentence_of(shell.run("list", code=2, DOCMIND_TYPO="1"))
    assert not (shell.folder / "data").exists()


def test_an_empty_question_is_one_sentence(stocked: Shell) -> None:
    assert "There is nothing to search for." in sentence_of(stocked.run("search", "  ", code=2))
    assert "The question is empty." in sentence_of(stocked.run("ask", "  ", code=2))


def test_what_is_not_there_is_one_sentence(stocked: Shell) -> None:
    assert "no document" in sentence_of(stocked.run("show", "nobody.pdf", "1", code=4))
    assert "This document has 2 pages" in sentence_of(stocked.run("show", "herons.pdf", "9", code=4))
    assert "no document" in sentence_of(stocked.run("search", "x", "--doc", "nobody.pdf", code=4))


@pytest.mark.slow
def test_no_room_for_the_output_is_one_sentence(stocked: Shell) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "docmind", "list"]
        environment = os.environ | environment_of(stocked.folder)
        ended = forked.run(command, env=environment, stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert b"disk is full" in ended.stderr
    assert b"Traceback" not in ended.stderr
    assert ended.returncode == 17


@pytest.mark.slow
def test_characters_the_output_cannot_encode_are_replaced(shell: Shell) -> None:
    shell.run("add", shell.file("relatório.txt", "Garças esperam na água rasa por peixes → 漢.".encode()))
    environment = os.environ | shell.environment | {"PYTHONIOENCODING": "ascii"}
    for words in (("list",), ("show", "relatório.txt", "1"), ("ask", "Onde esperam as garças?"), ("list", "--json")):
        command = [sys.executable, "-m", "docmind", *words]
        ended = forked.run(command, env=environment, capture_output=True, timeout=60)
        assert ended.returncode == 0, ended.stderr
        assert b"Traceback" not in ended.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="closed streams")
def test_without_standard_input_commands_work(stocked: Shell) -> None:
    """It starts Python: what a start finds closed is what it tests."""
    code = (
        "from docmind.cli import main\n"
        "for words in (['list'], ['chat'], ['ask', 'Where do herons nest?']):\n"
        "    assert not main(words, standalone_mode=False), words"
    )
    line = f"{shlex.quote(sys.executable)} -c {shlex.quote(code)} <&-"
    ended = subprocess.run(line, shell=True, env=os.environ | stocked.environment, capture_output=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert b"Traceback" not in ended.stderr
    assert b"tall trees" in ended.stdout


@pytest.mark.slow
def test_where_nothing_was_found_for_another_reason_it_is_told(shell: Shell, stocked: Shell) -> None:
    assert "library is empty" in shell.run("ask", "herons").stderr
    assert "documents are in: en" in stocked.run("search", "herons", "--language", "klingon").stderr
    assert "the tag birds" in stocked.run("search", "herons", "--tag", "birds").stderr
    assert stocked.run("search", "herons", "--language", "EN").stdout.startswith(" 1. ")


@pytest.mark.slow
def test_a_question_of_any_bytes_is_a_question(stocked: Shell) -> None:
    for command in ("search", "ask"):
        stocked.run(command, "herons \udcff")


@pytest.mark.slow
def test_a_tag_of_any_bytes_neither_fails_nor_closes_the_vault(shell: Shell) -> None:
    shell.run("add", shell.file("a.txt", b"Herons wait."), "--tag", "a\udcff")
    assert [info["tags"] for info in shell.json("list")["documents"]] == [["a?"]]
    assert shell.run("search", "herons", "--tag", "a?").stdout.startswith(" 1. ")


def test_a_question_that_is_broken_off_is_a_stop(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken_off(*_: Any, **__: Any) -> None:
        raise click.Abort

    monkeypatch.setattr("click.prompt", broken_off)
    monkeypatch.setattr("docmind.cli.context.sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    assert "stopped." in shell.run(*BEGINNING, code=130, DOCMIND_KEYS__SOURCE="passphrase").stderr


def test_a_folder_without_files_says_so(shell: Shell) -> None:
    assert "Nothing to add" in shell.run("add", shell.files).stderr


def test_a_data_directory_that_cannot_be_is_told_with_what_helps(shell: Shell) -> None:
    taken = shell.file("taken", b"")
    result = shell.run(*BEGINNING, code=10, DOCMIND_DATA_DIR=str(taken))
    assert "can't be created" in sentence_of(result)
    assert "DOCMIND_DATA_DIR" in result.stderr


def test_the_recovery_code_brings_a_new_key_and_a_new_code(shell: Shell) -> None:
    shell.begins = False
    code = shell.run(*BEGINNING).stderr.split("recovery code: ")[1].split()[0]
    (shell.folder / "docmind.key").unlink()
    said = shell.run("list", DOCMIND_KEYS__RECOVERY_CODE=code).stderr
    assert "new key" in said
    assert "new vault" not in said
    assert shell.run("list").stderr == ""


@pytest.mark.slow
def test_a_passphrase_is_asked_for_twice_where_it_is_chosen(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def prompt(_what: str, *, confirmation_prompt: bool, **_how: Any) -> str:
        asked.append(confirmation_prompt)
        return "correct horse"

    monkeypatch.setattr("click.prompt", prompt)
    monkeypatch.setattr("docmind.cli.context.sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    made = shell.run(*BEGINNING, DOCMIND_KEYS__SOURCE="passphrase")
    shell.run("list", DOCMIND_KEYS__SOURCE="passphrase")
    code = made.stderr.split("recovery code: ")[1].split()[0]
    # The code gives the vault a new key, and so a new passphrase.
    shell.run("list", DOCMIND_KEYS__SOURCE="passphrase", DOCMIND_KEYS__RECOVERY_CODE=code)
    assert asked == [True, False, True]


def test_a_lost_key_is_one_sentence(shell: Shell) -> None:
    shell.run("list")
    (shell.folder / "docmind.key").unlink()
    assert "is missing" in sentence_of(shell.run("list", code=13))


@pytest.mark.slow
def test_a_busy_vault_is_one_sentence_from_another_process(shell: Shell) -> None:
    with opened(shell.folder):
        result = forked.run(
            [sys.executable, "-m", "docmind", "list"],
            env=os.environ | environment_of(shell.folder),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert result.returncode == 11
        assert f"(process {os.getpid()})" in result.stderr
        waited, *sentence = result.stderr.splitlines()
        assert waited.startswith("Another command of DocMind uses the library")
        assert len(sentence) == 2
        assert result.stdout == ""


@pytest.mark.skipif(os.name != "posix", reason="special files")
def test_what_is_no_file_is_refused_and_not_read(shell: Shell) -> None:
    os.mkfifo(shell.files / "pipe")
    told = shell.json("add", shell.files / "pipe", "/dev/zero", code=4)
    assert [entry["error"] for entry in told["files"]] == ["NotFoundError", "NotFoundError"]


def test_what_is_too_large_does_not_come_into_memory(shell: Shell) -> None:
    with (shell.files / "huge.pdf").open("wb") as file:
        file.truncate(600 << 20)  # sparse
    (told,) = shell.json("add", shell.files / "huge.pdf", code=25)["files"]
    assert (told["document"], told["error"]) == ("huge.pdf", "TooLargeError")
    assert "600 MB" in told["message"]


# --- passwords --------------------------------------------------------------------------------------------------------


def locked_docx(shell: Shell, password: str) -> Path:
    import io

    import docx
    from msoffcrypto.format.ooxml import OOXMLFile

    paper = docx.Document()
    paper.add_paragraph("The heron report is kept under lock and key.")
    plain, locked = io.BytesIO(), io.BytesIO()
    paper.save(plain)
    OOXMLFile(plain).encrypt(password, locked)
    return shell.file("locked.docx", locked.getvalue())


@pytest.mark.slow
def test_passwords_from_a_file_open_what_is_locked(shell: Shell) -> None:
    locked = locked_docx(shell, "segredo é")
    (told,) = shell.json("add", locked, code=24)["files"]
    assert told["error"] == "PasswordNeededError"
    wrong = shell.file("wrong", b"one\ntwo\n")
    assert shell.json("add", locked, "--password-file", wrong, code=24)["files"][0]["status"] == "refused"
    right = shell.file("right", "\ufeffone\r\n\r\nsegredo é\r\n".encode())
    (told,) = shell.json("add", locked, "--password-file", right)["files"]
    assert (told["status"], told["pages"]) == ("added", 1)
    assert shell.json("search", "heron report")["hits"][0]["document"] == "locked.docx"


def test_a_password_file_that_is_no_text_is_one_sentence(shell: Shell) -> None:
    bad = shell.file("bad", b"\xff\xfe\x00")
    assert "UTF-8" in sentence_of(shell.run("add", "x.pdf", "--password-file", bad, code=2))


# --- text that commands no terminal -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="such names cannot be made on Windows")
def test_hostile_names_are_inert_wherever_they_are_shown(shell: Shell) -> None:
    good = shell.file(HOSTILE, b"Herons wait in the water and do not move.")
    bad = shell.file("bad" + HOSTILE, b"")
    missing = shell.files / ("gone" + HOSTILE)
    shown = [shell.run("add", good, bad, missing, code=20), shell.run("list"), shell.run("search", "herons")]
    shown += [shell.run("ask", "Where do herons wait?"), shell.run("show", HOSTILE, "1")]
    shown += [shell.run("show", missing.name, "1", code=4), shell.run("delete", HOSTILE, "-y")]
    for result in shown:
        assert_inert(result.stdout)
        assert_inert(result.stderr)
    assert "owned" in shown[1].stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes")
def test_a_name_of_any_bytes_can_be_added_and_refused(shell: Shell) -> None:
    path = os.fsencode(shell.files) + b"/caf\xe9.txt"
    for data, code in ((b"", 21), (b"Herons wait in the water.", 0)):
        with open(path, "wb") as file:
            file.write(data)
        result = forked.run(
            [sys.executable, "-m", "docmind", "add", os.fsdecode(path), "--json"],
            env=os.environ | environment_of(shell.folder),
            capture_output=True,
            timeout=120,
        )
        assert result.returncode == code, result.stderr
        (told,) = json.loads(result.stdout)["files"]
        assert told["document"] == "caf?.txt"


def test_inert_keeps_what_people_write() -> None:
    text = "Über 3 €, «sim» – 漢字 🦩"
    assert inert(text) == text
    assert inert("a\nb\tc", keep_lines=True) == "a\nb\tc"
    assert inert("a\nb\x1b[0m\x9b\u202e") == "a b [0m  "


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error(stocked: Shell) -> None:
    command = [sys.executable, "-m", "docmind", "show", "herons.pdf", "1", "--json"]
    with forked.popen(
        command, env=os.environ | environment_of(stocked.folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
        assert process.wait(60) == 0
