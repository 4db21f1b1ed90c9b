"""`docmind bundle`: writes, verifies and reads, asks for passphrases, and says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from desks import text_pdf
from docmind.errors import ConfigError, TamperedError, VaultFormatError, WrongKeyError
from docmind.records.documents import Upload
from libraries import Library, confirm
from shells import Shell, sentence_of, stocked_shell

LINE = "The herons of Vellamo nest in the reeds of the northern shore."


@pytest.fixture
def passphrase(tmp_path: Path) -> Path:
    file = tmp_path / "passphrase.txt"
    file.write_text("seven herons at dusk\n", "utf-8")
    return file


@pytest.fixture
def bundle(tmp_path: Path, passphrase: Path) -> Path:
    (tmp_path / "old").mkdir()
    birds = Library("birds.pdf with a line", [Upload("birds.pdf", text_pdf([LINE]))], confirm)
    shell = stocked_shell(tmp_path / "old", birds)
    file = tmp_path / "all.docmind"
    told = shell.run("bundle", "write", str(file), "--passphrase-file", str(passphrase))
    assert "1 document, 1 page, 0 conversations, 0 memories" in told.stdout
    return file


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "new").mkdir()
    return Shell(tmp_path / "new")


@pytest.mark.slow
def test_a_library_is_carried(shell: Shell, bundle: Path, passphrase: Path) -> None:
    told = shell.run("bundle", "read", str(bundle), "--passphrase-file", str(passphrase)).stdout
    assert "Added 1 document, 1 page" in told
    assert "birds.pdf" in shell.run("ask", "Where do the herons of Vellamo nest?").stdout
    again = shell.json("bundle", "read", str(bundle), "--passphrase-file", str(passphrase))["read"]
    assert (again["documents"], again["known"]) == (0, 1)


@pytest.mark.slow
def test_verify_needs_no_library(shell: Shell, bundle: Path, passphrase: Path) -> None:
    shell.begins = False
    told = shell.json("bundle", "verify", str(bundle), "--passphrase-file", str(passphrase))
    assert (told["bundle"]["documents"], told["bundle"]["pages"]) == (1, 1)
    assert not (shell.folder / "data").exists()


@pytest.mark.slow
def test_what_is_wrong_is_said(shell: Shell, bundle: Path, passphrase: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("another passphrase", "utf-8")
    given = ("--passphrase-file", passphrase)
    shell.run("list")
    told = [
        shell.run("bundle", "verify", bundle, "--passphrase-file", other, code=WrongKeyError.exit_code),
        shell.run("bundle", "verify", passphrase, *given, code=VaultFormatError.exit_code),
        shell.run("bundle", "write", bundle, *given, code=ConfigError.exit_code),
        shell.run("bundle", "read", bundle, code=ConfigError.exit_code),
    ]
    bundle.write_bytes(bundle.read_bytes()[:-1])
    told.append(shell.run("bundle", "read", bundle, *given, code=TamperedError.exit_code))
    for result in told:
        sentence_of(result)
    assert shell.json("list")["documents"] == []
