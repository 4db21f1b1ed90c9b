"""What opens a library is changed: from a key file or the keyring to a passphrase, and back; killed at every step."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest
from pydantic import SecretStr

import forked
from cheaper import CHEAP_PASSPHRASES
from docmind.config import KeySettings
from docmind.errors import ConfigError, KeyUnavailableError, TamperedError, VaultFormatError, WrongKeyError
from docmind.storage.keys import (
    OpenedKeys,
    default_key_folder,
    key_file,
    open_keys,
    protect,
    remove_former_key,
    unprotect,
)
from docmind.storage.passphrases import strength_of
from keyrings import Memory, Refusing
from sampled import tenth_of

FIRST, SECOND = "correct horse battery", "staple of the stable"
AUTO = KeySettings()


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def memory() -> Iterator[Memory]:
    before, memory = keyring.get_keyring(), Memory()
    keyring.set_keyring(memory)
    yield memory
    keyring.set_keyring(before)


def protected(data: Path, settings: KeySettings, keys: OpenedKeys, *, keeps_file: bool = False) -> OpenedKeys:
    keys = protect(data, keys, FIRST, keeps_file=keeps_file)
    remove_former_key(data, settings, keys)
    return keys


def opened(data: Path, passphrase: str | None = None, settings: KeySettings = AUTO) -> OpenedKeys:
    return open_keys(data, settings, None if passphrase is None else lambda: passphrase)


def test_a_passphrase_takes_the_place_of_a_key_file(data: Path) -> None:
    by_file = KeySettings(source="file")
    made = open_keys(data, by_file)
    code, file = made.recovery.code() or "", key_file(data, made.vault_id, by_file)
    root, before = file.read_bytes(), (data / "vault.json").read_bytes()
    keys = protected(data, AUTO, made)
    assert (keys.source, keys.keyset, keys.recovery.former) == ("passphrase", made.keyset, None)
    assert not file.exists()
    assert list(default_key_folder().iterdir()) == []
    assert opened(data, FIRST).keyset == made.keyset
    with pytest.raises(WrongKeyError):
        opened(data, SECOND)
    with pytest.raises(KeyUnavailableError, match="needs a passphrase"):
        opened(data)
    with pytest.raises(WrongKeyError):  # the code of before is of no use either
        opened(data, FIRST, KeySettings(source="passphrase", recovery_code=SecretStr(code)))
    file.write_bytes(root)
    file.chmod(0o600)
    raw = json.loads((data / "vault.json").read_text())
    assert "former" not in raw
    (data / "vault.json").write_text(
        json.dumps({name: raw[name] for name in raw if name != "argon2id"} | {"source": "file"})
    )
    with pytest.raises(WrongKeyError):  # the old key opens nothing of the library as it is now
        opened(data)
    (data / "vault.json").write_bytes(before)  # a backup of both is as it was: docs/security.md says so
    assert opened(data).keyset == made.keyset


def test_a_key_takes_the_place_of_the_passphrase(data: Path, memory: Memory) -> None:
    made = open_keys(data, KeySettings(source="passphrase"), lambda: FIRST)
    with pytest.raises(WrongKeyError):
        unprotect(data, AUTO, made, SECOND)
    assert not memory.held
    keys = unprotect(data, AUTO, made, FIRST)
    assert (keys.source, keys.keyset) == ("keyring", made.keyset)
    assert opened(data).keyset == made.keyset
    again = protected(data, AUTO, keys)
    assert not memory.held
    there = unprotect(data, KeySettings(source="file"), again, FIRST)
    assert (there.source, opened(data).keyset) == ("file", made.keyset)


def test_a_named_key_file_stays_where_other_libraries_may_need_it(data: Path, tmp_path: Path) -> None:
    named = KeySettings(file=tmp_path / "shared.key")
    made = open_keys(data, named)
    root = (tmp_path / "shared.key").read_bytes()
    keys = protected(data, named, made, keeps_file=True)
    assert (tmp_path / "shared.key").read_bytes() == root
    assert keys.recovery.former is None
    back = unprotect(data, named, keys, FIRST)
    assert (tmp_path / "shared.key").read_bytes() == root
    protected(data, named, back)
    assert not (tmp_path / "shared.key").exists()


def test_a_key_file_of_another_library_is_never_removed(data: Path, tmp_path: Path) -> None:
    """The settings name another file by the time that the key before is removed."""
    keys = protect(data, open_keys(data, KeySettings(source="file")), FIRST, keeps_file=False)
    other = KeySettings(file=tmp_path / "other.key")
    (tmp_path / "other").mkdir()
    open_keys(tmp_path / "other", other)
    remove_former_key(data, other, keys)
    assert (tmp_path / "other.key").exists()


def test_a_keyring_that_does_not_answer_is_asked_again(data: Path, memory: Memory) -> None:
    keys = protect(data, open_keys(data, KeySettings(source="keyring")), FIRST, keeps_file=False)
    keyring.set_keyring(Refusing())
    with pytest.raises(KeyUnavailableError):
        remove_former_key(data, AUTO, keys)
    keys.recovery.confirm(keys.recovery.code() or "")  # the code is not known any more when the key goes
    keyring.set_keyring(memory)
    again = opened(data, FIRST)
    assert again.recovery.former is not None
    assert memory.held
    remove_former_key(data, AUTO, again)
    assert not memory.held
    assert opened(data, FIRST).recovery.former is None


def test_the_field_of_the_former_key_cannot_be_taken_away(data: Path) -> None:
    protect(data, open_keys(data, KeySettings(source="file")), FIRST, keeps_file=False)
    raw = json.loads((data / "vault.json").read_text())
    (data / "vault.json").write_text(json.dumps({name: raw[name] for name in raw if name != "former"}))
    with pytest.raises((WrongKeyError, TamperedError)):
        opened(data, FIRST)


@pytest.mark.skipif(os.name != "posix", reason="files have modes on POSIX systems only")
def test_a_key_file_that_cannot_be_read_now_is_not_forgotten(data: Path) -> None:
    by_file = KeySettings(source="file")
    made = open_keys(data, by_file)
    file = key_file(data, made.vault_id, by_file)
    keys = protect(data, made, FIRST, keeps_file=False)
    file.chmod(0o644)
    with pytest.raises(KeyUnavailableError):
        remove_former_key(data, AUTO, keys)
    file.chmod(0o600)
    again = opened(data, FIRST)
    assert again.recovery.former is not None
    remove_former_key(data, AUTO, again)
    assert not file.exists()


@pytest.mark.parametrize("name", [5, "é" * 32, ""])
def test_a_name_of_the_former_key_that_is_none_is_one_sentence(data: Path, name: object) -> None:
    made = open_keys(data, KeySettings(source="file"))
    code = SecretStr(made.recovery.code() or "")
    path = data / "vault.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "former": {"source": "file", "name": name}}))
    with pytest.raises(VaultFormatError):
        open_keys(data, KeySettings(source="file", recovery_code=code))


def test_what_cannot_be_changed_is_one_sentence(data: Path) -> None:
    made = open_keys(data, KeySettings(source="file"))
    with pytest.raises(ConfigError, match="at least 8"):
        protect(data, made, "short", keeps_file=False)
    with pytest.raises(ConfigError, match="not with a passphrase"):
        unprotect(data, AUTO, made, FIRST)
    keys = protected(data, AUTO, made)
    with pytest.raises(ConfigError, match="already"):
        protect(data, keys, SECOND, keeps_file=False)


@pytest.mark.parametrize(
    ("passphrase", "told"),
    [
        ("heron", "short"), ("heronheron", "weak"), ("12345678", "weak"), ("password1", "weak"), ("qwertyuiop", "weak"),
        ("Benfica1904", "weak"), ("aaaaaaaaaaaaaaaaaaaaaa", "weak"), ("correct horse battery staple", "fair"),
        ("correcthorsebatterystaple", "fair"), ("canoe lentil orbit velvet harbour", "strong"),
        ("x8K!q2m_Pz9L.wR", "strong"),
    ],
)  # fmt: skip
def test_strength_is_told_in_a_word(passphrase: str, told: str) -> None:
    assert strength_of(passphrase) == told


# --- killed -----------------------------------------------------------------------------------------------------------

_KILLED = """
import json, os, signal, sys
from pathlib import Path
import keyring, keyring.backend
from docmind.config import KeySettings
from docmind.storage import keys

class OnDisk(keyring.backend.KeyringBackend):
    priority = 5
    def _held(self):
        return json.loads(ring.read_text()) if ring.exists() else {}
    def get_password(self, service, username):
        return self._held().get(username)
    def set_password(self, service, username, password):
        ring.write_text(json.dumps(self._held() | {username: password}))
    def delete_password(self, service, username):
        held = self._held()
        del held[username]
        ring.write_text(json.dumps(held))

steps = 0
def counted(call):
    def step(*words, **named):
        global steps
        steps += 1
        if steps == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*words, **named)
    return step

data, ring, way, source, at = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:5], int(sys.argv[5])
keyring.set_keyring(OnDisk())
keys._ARGON2.update(json.loads(sys.argv[6]))
ask = lambda: "correct horse battery"
settings = KeySettings(source=source)
if way == "open":
    opened = keys.open_keys(data, settings, ask)
else:
    opened = keys.open_keys(data, KeySettings(), ask)
if way != "open" or at:
    for module, name in ((os, "replace"), (os, "link"), (os, "unlink"), (os, "fsync"), (os, "write")):
        setattr(module, name, counted(getattr(module, name)))
    OnDisk.set_password, OnDisk.delete_password = counted(OnDisk.set_password), counted(OnDisk.delete_password)
if way == "protect":
    opened = keys.protect(data, opened, ask(), keeps_file=False)
elif way == "unprotect":
    opened = keys.unprotect(data, settings, opened, ask())
keys.remove_former_key(data, settings, opened)
told = {"source": opened.source, "keys": opened.keyset.pack().hex(), "id": opened.vault_id, "steps": steps}
print(json.dumps(told))
"""


def run(data: Path, ring: Path, way: str, source: str, at: int = 0) -> dict[str, Any] | None:
    """Open, protect or unprotect in a process of its own, killed at a step; return what it opened, or None.

    Steps are counted from 1; a step beyond the last one kills nothing.
    """
    words = [sys.executable, "-c", _KILLED, str(data), str(ring), way, source, str(at), json.dumps(CHEAP_PASSPHRASES)]
    with forked.popen(
        words, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        told, complaint = process.communicate(timeout=60)
    if process.returncode == -signal.SIGKILL:
        return None
    assert process.returncode == 0, complaint
    return json.loads(told)


BEYOND = 10**6  # more steps than any change takes: nothing is killed


def changed(folder: Path, way: str, source: str, at: int) -> tuple[str, int]:
    """Change a new library, killed at a step; return how it opens then, and the steps of a change in one piece."""
    data, ring = folder / "data", folder / "ring"
    data.mkdir(parents=True)
    made = run(data, ring, "open", source if way == "protect" else "passphrase")
    assert made is not None
    done = run(data, ring, way, source, at)
    assert (done is not None) == (at == BEYOND)
    now = run(data, ring, "open", "auto")
    assert now is not None
    assert now["keys"] == made["keys"]
    if now["source"] == "passphrase":
        if way == "protect":
            key = default_key_folder() / f"{now['id']}.key"
            assert not key.exists()
            assert not any(key.parent.glob(f".{key.name}*"))
            assert now["id"] not in (json.loads(ring.read_text()) if ring.exists() else {})
        assert "former" not in json.loads((data / "vault.json").read_text())
    return now["source"], done["steps"] if done else 0


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
@pytest.mark.parametrize("source", ["file", "keyring"])
@pytest.mark.parametrize("way", ["protect", "unprotect"])
def test_a_kill_at_any_step_leaves_the_old_way_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, source: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    new, steps = changed(tmp_path / "whole", way, source, BEYOND)
    assert steps >= 5
    killed = {changed(tmp_path / str(at), way, source, at)[0] for at in (1, *tenth_of(range(2, steps + 1)))}
    assert new == ("passphrase" if way == "protect" else source)
    assert killed | {new} == {source, "passphrase"}
