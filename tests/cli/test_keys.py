"""`docmind keys`: the recovery code is always shown, is confirmed by typing it, and can be replaced."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pydantic import SecretStr

import forked
from desks import environment_of
from docmind.config import KeySettings
from docmind.errors import CancelledError, ConfigError, KeyUnavailableError, NotFoundError, WrongKeyError
from docmind.storage.keys import open_keys
from shells import BEGINNING, Shell, sentence_of

NOTICE = (
    "The recovery code of this library isn't confirmed yet. See it with `docmind keys code`; "
    "confirm it with `docmind keys confirm`.\n"
)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = Shell(tmp_path)
    shell.begins = shell.confirms = False
    return shell


def made(shell: Shell) -> str:
    """Create a vault; return its code as the first command prints it."""
    return shell.run(*BEGINNING).stderr.split("recovery code: ")[1].split()[0]


def opens(folder: Path, code: str) -> bool:
    """Tell whether the code opens the vault, on a copy of vault.json: a code that opens is used up."""
    copy = folder / "copy"
    copy.mkdir(exist_ok=True)
    (copy / "vault.json").write_bytes((folder / "data" / "vault.json").read_bytes())
    try:
        open_keys(copy, KeySettings(source="file", file=folder / "new.key", recovery_code=SecretStr(code)))
    except WrongKeyError:
        return False
    return True


@pytest.mark.slow
def test_every_command_reminds_until_the_code_is_confirmed(shell: Shell) -> None:
    code = made(shell)
    for command in (["list"], ["status"], ["threads", "list"], ["list", "--json"]):
        assert shell.run(*command).stderr == NOTICE
    assert shell.run("keys", "code").stdout == f"{code}\n"
    assert shell.json("keys", "code") == {"recovery_code": code}
    assert "confirmed" in shell.run("keys", "confirm", code[-5:]).stdout
    assert shell.run("list").stderr == ""
    assert "no longer keeps it" in sentence_of(shell.run("keys", "code", code=NotFoundError.exit_code))
    assert "confirmed already" in shell.run("keys", "confirm", "ZZZZZ").stdout
    assert opens(shell.folder, code)


@pytest.mark.parametrize("wrong", ["ZZZZZ", "", "first group"])
def test_only_having_the_code_confirms_it(shell: Shell, wrong: str) -> None:
    code = made(shell)
    given = code[:5] if wrong == "first group" else wrong
    said = sentence_of(shell.run("keys", "confirm", given, code=WrongKeyError.exit_code))
    assert "n't the recovery code" in said
    assert shell.run("keys", "code").stdout == f"{code}\n"


def test_the_last_group_is_asked_for_or_named_as_missing(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    code = made(shell)
    assert "last five characters" in sentence_of(shell.run("keys", "confirm", code=ConfigError.exit_code))
    monkeypatch.setattr("docmind.cli.keys.is_asking", lambda: True)
    shell.run("keys", "confirm", typed=f"{code[-5:].lower()}\n")
    assert shell.run("list").stderr == ""


def test_a_new_code_takes_the_place_of_the_old_one(shell: Shell) -> None:
    old = made(shell)
    shell.run("keys", "confirm", old)
    shell.run("keys", "new-code", code=130)  # nobody can be asked
    assert opens(shell.folder, old)
    said = shell.run("keys", "new-code", "--yes").stderr
    new = said.split("recovery code: ")[1].split()[0]
    assert new != old
    assert shell.run("list").stderr == NOTICE
    assert shell.json("keys", "code") == {"recovery_code": new}
    assert not opens(shell.folder, old)
    assert opens(shell.folder, new)
    newest = shell.json("keys", "new-code", "--yes")["recovery_code"]
    assert not opens(shell.folder, new)
    assert opens(shell.folder, newest)


def test_after_a_recovery_the_new_code_is_unconfirmed(shell: Shell) -> None:
    old = made(shell)
    shell.run("keys", "confirm", old)
    (shell.folder / "docmind.key").unlink()
    new = shell.run("list", DOCMIND_KEYS__RECOVERY_CODE=old).stderr.split("recovery code: ")[1].split()[0]
    assert shell.run("list").stderr == NOTICE
    assert shell.json("keys", "code") == {"recovery_code": new}


# --- killed -----------------------------------------------------------------------------------------------------------

_KILLED_AT = {
    "the rename": "os.replace = lambda old, new: (replace(old, new), str(new).endswith('vault.json') and die())",
    "the print": "click.echo = die",
}
_HOOK = """
import os, signal, sys
import click
replace = os.replace
def die(*_words, **_how):
    os.kill(os.getpid(), signal.SIGKILL)
"""
_WITHOUT = """
from docmind.storage import keys
write = keys.RecoveryCode._write

def forgetful(self, raw, keyset):
    write(self, {name: raw[name] for name in raw if name != "unconfirmed"}, keyset)

keys.RecoveryCode._write = forgetful
"""
_RUN = """
from docmind.cli import main
main(sys.argv[1:])
"""


def run(folder: Path, *words: str, before: str = "") -> forked.Started:
    return forked.popen(
        [sys.executable, "-c", _HOOK + before + _RUN, *words],
        env=os.environ | environment_of(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def is_lost(folder: Path) -> bool:
    """Tell whether the vault's code can no longer be read.

    A code that is read must open the vault.
    """
    code = open_keys(folder / "data", KeySettings(source="file", file=folder / "docmind.key")).recovery.code()
    return code is None or not opens(folder, code)


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
@pytest.mark.parametrize("moment", _KILLED_AT)
@pytest.mark.parametrize("is_kept", [True, False])
def test_a_kill_before_printing_loses_only_an_unkept_code(tmp_path: Path, moment: str, is_kept: bool) -> None:
    with run(tmp_path, *BEGINNING, before=_KILLED_AT[moment] + ("" if is_kept else _WITHOUT)) as process:
        _, said = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert "recovery code" not in said
    assert (tmp_path / "data" / "vault.json").exists()
    assert is_lost(tmp_path) is not is_kept


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_twelve_kills_after_the_vault_is_made_lose_no_code(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    lost = []
    for number in range(12):
        folder = tmp_path / str(number)
        folder.mkdir()
        with run(folder, *BEGINNING) as process:
            while not (folder / "data" / "vault.json").exists():
                assert process.poll() is None
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 0.3))
            process.kill()
            process.communicate(timeout=60)
        if is_lost(folder):
            lost.append(number)
    assert lost == [], f"seed {seed}"


def test_rotated_keys_bring_a_new_code(shell: Shell) -> None:
    old = made(shell)
    assert "The keys were not changed." in sentence_of(shell.run("keys", "rotate", code=CancelledError.exit_code))
    assert opens(shell.folder, old)
    rotated = shell.run("keys", "rotate", "--yes")
    assert "Everything has new keys" in rotated.stdout
    code = rotated.stderr.split("recovery code: ")[1].split()[0]
    assert code != old
    assert not opens(shell.folder, old)
    assert opens(shell.folder, code)
    told = shell.json("keys", "rotate", "--yes")
    assert told["rotation"]["damaged"] == []
    assert told["recovery_code"] not in (code, old)


# --- passphrase -------------------------------------------------------------------------------------------------------

FIRST, SECOND = "canoe lentil orbit velvet harbour", "staple of the stable"


@pytest.mark.slow
def test_a_passphrase_is_given_changed_and_taken_away(shell: Shell) -> None:
    shell = shell.having(DOCMIND_KEYS__SOURCE="auto")
    old = made(shell)
    first, second = shell.file("first", f"{FIRST}\n".encode()), shell.file("second", SECOND.encode())
    asked = shell.run("keys", "protect", "--new-passphrase-file", first, code=CancelledError.exit_code)
    assert asked.stderr.splitlines()[0] == "Strong: guessing it is out of reach."
    assert shell.run("list").stderr == NOTICE  # it opens as before

    given = shell.run("keys", "protect", "--new-passphrase-file", first, "--yes")
    assert "now opens with your passphrase" in given.stdout
    assert f"{shell.folder / 'docmind.key'} stays" in given.stdout
    assert "docmind keys rotate" in given.stdout
    code = given.stderr.split("recovery code: ")[1].split()[0]
    assert not opens(shell.folder, old)
    assert opens(shell.folder, code)
    assert "needs a passphrase" in sentence_of(shell.run("list", code=KeyUnavailableError.exit_code))
    said = sentence_of(shell.run("keys", "unprotect", "--yes", code=ConfigError.exit_code))
    assert "The passphrase of the library is missing." in said

    words = ["--passphrase-file", second, "--new-passphrase-file", second, "--yes"]
    assert "doesn't open" in sentence_of(shell.run("keys", "passphrase", *words, code=WrongKeyError.exit_code))
    words[1] = first
    changed = shell.json("keys", "passphrase", *words)
    assert changed["recovery_code"] not in (old, code)
    assert shell.run("keys", "unprotect", "--passphrase-file", first, "--yes", code=WrongKeyError.exit_code)
    taken = shell.json("keys", "unprotect", "--passphrase-file", second, "--yes")
    assert taken["source"] == "file"
    assert shell.run("list").stderr == NOTICE
    removed = shell.json("keys", "protect", "--new-passphrase-file", first, "--remove-key-file", "--yes")
    assert (removed["kept_file"], removed["is_former_left"]) == (None, False)
    assert not (shell.folder / "docmind.key").exists()


def test_a_passphrase_is_typed_twice_and_never_shown(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = shell.having(DOCMIND_KEYS__SOURCE="auto")
    made(shell)
    for module in ("context", "options"):
        monkeypatch.setattr(f"docmind.cli.{module}.is_asking", lambda: True)
    given = shell.run("keys", "protect", typed=f"{FIRST}\n{FIRST}\ny\n")
    assert FIRST not in given.output
    shell.run("keys", "passphrase", typed=f"{FIRST}\n{SECOND}\n{SECOND}\ny\n")  # the one of now is asked for once
    assert "without a passphrase" in shell.run("keys", "unprotect", typed=f"{SECOND}\ny\n").stdout


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"DOCMIND_KEYS__SOURCE": "file"}, "DOCMIND_KEYS__SOURCE=file"),
        ({"DOCMIND_KEYS__SOURCE": "auto", "DOCMIND_KEYS__PASSPHRASE": FIRST}, "DOCMIND_KEYS__PASSPHRASE"),
    ],
)
def test_a_variable_that_forbids_the_change_is_named(shell: Shell, variables: dict[str, str], named: str) -> None:
    made(shell.having(DOCMIND_KEYS__SOURCE="file"))
    said = shell.having(**variables).run("keys", "protect", "--yes", code=ConfigError.exit_code)
    assert sentence_of(said) == f"docmind: What opens the library is set by {named}."
    assert shell.run("list").stderr == NOTICE


def test_a_library_says_itself_what_opens_it(shell: Shell, caplog: pytest.LogCaptureFixture) -> None:
    """A variable that says otherwise is not used, and told."""
    words = ("keys", "protect", "--new-passphrase-file", shell.file("first", FIRST.encode()), "--yes")
    made(shell)
    shell.having(DOCMIND_KEYS__SOURCE="auto").run(*words)
    said = shell.run("list", code=KeyUnavailableError.exit_code)
    assert "needs a passphrase" in sentence_of(said)
    assert "DOCMIND_KEYS__SOURCE is file, but this library opens with a passphrase" in caplog.text
