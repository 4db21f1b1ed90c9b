"""`docmind check`: a file or standard input, for people and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shells import Shell, assert_inert, sentence_of, stocked_shell

pytestmark = pytest.mark.slow
DRAFT = """# Herons

Herons nest in tall trees near rivers. Their nests are made of 421 sticks.

Whales sing in the harbour at noon.
"""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return stocked_shell(tmp_path_factory.mktemp("check"))


def objects(printed: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in printed.splitlines()]


def test_a_file_is_checked_one_object_a_sentence(shell: Shell) -> None:
    found = objects(shell.run("check", shell.file("draft.md", DRAFT.encode()), "--json").stdout)
    assert [one["verdict"] for one in found] == ["no claim", "supported", "contradicted", "not found"]
    source = found[1]["source"]
    assert isinstance(source, dict)
    assert (source["document"], source["page_no"]) == ("herons.pdf", 2)
    assert source["quote"] == "Herons nest in tall trees near rivers."
    assert len(source["boxes"][0]) == 4
    assert found[3]["source"] is None


def test_standard_input_is_checked(shell: Shell) -> None:
    found = objects(shell.run("check", "-", "--json", typed="Owls hunt at night.").stdout)
    assert [one["verdict"] for one in found] == ["supported"]


def test_people_get_verdicts_in_words_and_the_places(shell: Shell) -> None:
    told = shell.run("check", shell.file("draft.md", (DRAFT + "\nBeeps \x1b[31m ring twice a day.").encode()))
    assert "+ Supported: Herons nest in tall trees near rivers." in told.stdout
    assert "! Contradicted: Their nests are made of 421 sticks." in told.stdout
    assert "? Not found: Whales sing in the harbour at noon." in told.stdout
    assert "[1] herons.pdf, page 2" in told.stdout
    assert "Supported: 1" in told.stderr
    assert_inert(told.stdout)


def test_what_only_an_earlier_version_says_is_outdated(shell: Shell) -> None:
    for name, days in (("swans.txt", 30), ("swans (2).txt", 35)):
        shell.run("add", shell.file(name, f"Swans brood. Their eggs hatch after {days} days in the nest.".encode()))
    told = shell.run("check", "-", typed="Their eggs hatch after 30 days in the nest.").stdout
    assert "~ Outdated: Their eggs hatch after 30 days in the nest." in told
    assert "[1] swans.txt, page 1, in an earlier version" in told
    assert "[2] swans (2).txt, page 1, in the newest version" in told
    (one,) = objects(shell.run("check", "-", "--json", typed="Their eggs hatch after 30 days in the nest.").stdout)
    assert (one["verdict"], "35 days" in str(one["also"])) == ("outdated", True)


def test_filters_narrow_the_check(shell: Shell) -> None:
    given = ("check", "-", "--json", "--doc", "herons.pdf")
    assert objects(shell.run(*given, typed="Owls hunt at night.").stdout)[0]["verdict"] == "not found"


def test_the_text_is_written_with_footnotes(shell: Shell, tmp_path: Path) -> None:
    output = tmp_path / "checked.md"
    shell.run("check", shell.file("draft.md", DRAFT.encode()), "--output", output)
    written = output.read_text("utf-8")
    assert "near rivers.[^1]" in written
    assert "[^1]: herons.pdf, page 2: “Herons nest in tall trees near rivers.”" in written


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("check", "none.md"), 4, "isn't a file"),
        (("check", "-"), 2, "There is no text to check."),
    ],
)
def test_what_cannot_be_checked_is_refused(shell: Shell, words: tuple[str, ...], code: int, sentence: str) -> None:
    assert sentence in sentence_of(shell.run(*words, code=code, typed="  "))
