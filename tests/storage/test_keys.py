"""Keys: every way in, and that nothing else is one."""

from __future__ import annotations

import json
import os
import secrets
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest
from pydantic import SecretStr

from docmind.config import KeySettings
from docmind.errors import (
    ConfigError,
    DocMindError,
    KeyUnavailableError,
    VaultError,
    VaultFormatError,
    WrongKeyError,
)
from docmind.storage.keys import OpenedKeys, change_passphrase, open_keys
from keyrings import Memory, Refusing

posix = pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")


@pytest.fixture
def memory_keyring() -> Iterator[Memory]:
    before, memory = keyring.get_keyring(), Memory()
    keyring.set_keyring(memory)
    yield memory
    keyring.set_keyring(before)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def by_file(tmp_path: Path) -> KeySettings:
    return KeySettings(source="file", file=tmp_path / "docmind.key")


def by_passphrase(text: str) -> KeySettings:
    return KeySettings(source="passphrase", passphrase=SecretStr(text))


def with_code(settings: KeySettings, code: str | None) -> KeySettings:
    assert code is not None
    return settings.model_copy(update={"recovery_code": SecretStr(code)})


def description(data: Path) -> dict[str, Any]:
    return json.loads((data / "vault.json").read_text())


def same(one: OpenedKeys, other: OpenedKeys) -> bool:
    return (one.vault_id, one.keyset) == (other.vault_id, other.keyset)


# --- a key file -------------------------------------------------------------------------------------------------------


def test_a_key_file_opens_the_vault_it_was_made_for(data: Path, by_file: KeySettings) -> None:
    made = open_keys(data, by_file)
    assert made.source == "file"
    assert made.recovery.code()
    opened = open_keys(data, by_file)
    assert same(made, opened)
    assert opened.recovery.code() == made.recovery.code()  # kept until it is confirmed
    assert len({opened.keyset.id_key, opened.keyset.db_key, *opened.keyset.data_keys.values()}) == 3


@posix
def test_key_file_and_description_are_for_the_owner_alone(data: Path, by_file: KeySettings) -> None:
    open_keys(data, by_file)
    assert by_file.file is not None
    for path in (by_file.file, data / "vault.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(path.name for path in data.iterdir()) == ["vault.json"]
    assert [path.name for path in by_file.file.parent.iterdir() if path.is_file()] == ["docmind.key"]


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o622])
def test_a_key_file_others_can_reach_is_refused(data: Path, by_file: KeySettings, mode: int) -> None:
    open_keys(data, by_file)
    assert by_file.file is not None
    by_file.file.chmod(mode)
    with pytest.raises(KeyUnavailableError) as caught:
        open_keys(data, by_file)
    assert "chmod 600" in caught.value.hint


@pytest.mark.parametrize("place", ["docmind.key", "deep/er/docmind.key", "../data/docmind.key"])
def test_a_key_file_inside_the_data_directory_is_refused(data: Path, place: str) -> None:
    with pytest.raises(ConfigError, match="inside the data folder"):
        open_keys(data, KeySettings(source="file", file=data / place))
    assert list(data.iterdir()) == []


@posix
def test_a_link_cannot_put_the_key_file_into_the_data_folder(data: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").symlink_to(data)
    with pytest.raises(ConfigError, match="inside the data folder"):
        open_keys(data, KeySettings(source="file", file=tmp_path / "elsewhere" / "docmind.key"))


def test_a_missing_key_file_is_said_and_not_made_again(data: Path, by_file: KeySettings) -> None:
    open_keys(data, by_file)
    assert by_file.file is not None
    by_file.file.unlink()
    before = (data / "vault.json").read_bytes()
    with pytest.raises(KeyUnavailableError, match="is missing"):
        open_keys(data, by_file)
    assert not by_file.file.exists()
    assert (data / "vault.json").read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"\n", b"zz" * 32, b"ab" * 31, b"ab" * 33, b"\xff\xfe\x00"])
def test_a_file_that_is_no_key_is_refused(data: Path, by_file: KeySettings, content: bytes) -> None:
    open_keys(data, by_file)
    assert by_file.file is not None
    by_file.file.write_bytes(content)
    with pytest.raises(WrongKeyError):
        open_keys(data, by_file)


def test_another_key_is_refused(data: Path, by_file: KeySettings) -> None:
    open_keys(data, by_file)
    assert by_file.file is not None
    by_file.file.write_text(secrets.token_hex(32))
    with pytest.raises(WrongKeyError):
        open_keys(data, by_file)


def test_a_key_file_that_is_a_folder_is_one_sentence(data: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir(mode=0o700)
    with pytest.raises(KeyUnavailableError, match="cannot be read"):
        open_keys(data, KeySettings(source="file", file=tmp_path / "folder"))


@pytest.mark.slow
def test_one_key_file_serves_two_vaults_with_different_keys(data: Path, tmp_path: Path, by_file: KeySettings) -> None:
    (tmp_path / "second").mkdir()
    one, two = open_keys(data, by_file), open_keys(tmp_path / "second", by_file)
    assert one.keyset != two.keyset
    assert same(one, open_keys(data, by_file))
    (tmp_path / "second" / "vault.json").replace(data / "vault.json")
    assert same(two, open_keys(data, by_file))


def test_what_a_killed_process_left_beside_the_key_file_is_removed(data: Path, by_file: KeySettings) -> None:
    assert by_file.file is not None
    unfinished = [by_file.file.with_name(f".{by_file.file.name}.{name}.new") for name in ("0123abcd", "beefbeef")]
    others = [by_file.file.with_name(name) for name in (".other.key.0123abcd.new", f".{by_file.file.name}.mine.new")]
    for path in (*unfinished, *others):
        path.write_text("ab" * 16)
    made = open_keys(data, by_file)
    assert not any(path.exists() for path in unfinished)
    assert all(path.exists() for path in others)
    assert same(made, open_keys(data, by_file))


def test_without_a_keyring_the_key_file_is_in_the_config_folder(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CONFIG_HOME", "APPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    made = open_keys(data, KeySettings())
    assert made.source == "file"
    (found,) = (tmp_path / "home").rglob("*.key")
    assert found.name == f"{made.vault_id}.key"
    assert same(made, open_keys(data, KeySettings()))


# --- a passphrase -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_passphrase_opens_and_another_does_not(data: Path) -> None:
    made = open_keys(data, by_passphrase("correct horse"))
    assert made.source == "passphrase"
    assert same(made, open_keys(data, KeySettings(), lambda: "correct horse"))
    for wrong in ("correct horse ", "Correct horse", "x"):
        with pytest.raises(WrongKeyError):
            open_keys(data, KeySettings(), lambda wrong=wrong: wrong)


@pytest.mark.slow
@pytest.mark.usefixtures("dear_passphrases")
def test_the_cost_of_a_passphrase_is_that_of_the_rfc(data: Path) -> None:
    open_keys(data, by_passphrase("x y z"))
    cost = description(data)["argon2id"]
    assert {name: cost[name] for name in ("iterations", "lanes", "memory_kib")} == {
        "iterations": 3,
        "lanes": 4,
        "memory_kib": 65_536,
    }
    assert len(cost["salt"]) == 32


def test_two_ways_to_type_one_letter_are_one_passphrase(data: Path) -> None:
    made = open_keys(data, by_passphrase(unicodedata.normalize("NFC", "São João")))
    assert same(made, open_keys(data, by_passphrase(unicodedata.normalize("NFD", "São João"))))


def test_no_passphrase_or_an_empty_one_is_one_sentence(data: Path) -> None:
    with pytest.raises(KeyUnavailableError, match="needs a passphrase"):
        open_keys(data, KeySettings(source="passphrase"))
    with pytest.raises(KeyUnavailableError, match="empty"):
        open_keys(data, KeySettings(source="passphrase"), lambda: "")
    assert list(data.iterdir()) == []


# --- the keyring ------------------------------------------------------------------------------------------------------


def test_a_keyring_that_answers_is_taken_by_itself(data: Path, memory_keyring: Memory) -> None:
    made = open_keys(data, KeySettings())
    assert made.source == "keyring"
    assert list(memory_keyring.held) == [("docmind", made.vault_id)]  # the probe is gone
    assert same(made, open_keys(data, KeySettings()))


@pytest.mark.parametrize("held", [None, "", "nonsense", "ab" * 31])
def test_a_keyring_without_the_key_is_one_sentence(data: Path, memory_keyring: Memory, held: str | None) -> None:
    made = open_keys(data, KeySettings(source="keyring"))
    del memory_keyring.held["docmind", made.vault_id]
    if held is not None:
        memory_keyring.held["docmind", made.vault_id] = held
    with pytest.raises(KeyUnavailableError if held is None else WrongKeyError):
        open_keys(data, KeySettings())


def test_a_keyring_that_refuses_is_one_sentence(data: Path, memory_keyring: Memory) -> None:
    open_keys(data, KeySettings(source="keyring"))
    keyring.set_keyring(Refusing())
    with pytest.raises(KeyUnavailableError, match="didn't answer"):
        open_keys(data, KeySettings())


def test_a_keyring_that_refuses_a_new_key_leaves_no_vault(data: Path, memory_keyring: Memory) -> None:
    keyring.set_keyring(Refusing())
    with pytest.raises(KeyUnavailableError):
        open_keys(data, KeySettings(source="keyring"))
    assert list(data.iterdir()) == []


def test_a_keyring_that_keeps_nothing_leaves_no_vault(data: Path) -> None:
    """The stand-in of headless machines takes every key and forgets it: a vault sealed with it would be lost."""
    with pytest.raises(KeyUnavailableError, match="no keyring that can keep"):
        open_keys(data, KeySettings(source="keyring"))
    assert list(data.iterdir()) == []


# --- the recovery code ------------------------------------------------------------------------------------------------


def test_the_recovery_code_opens_gives_a_new_key_and_a_new_code(data: Path, by_file: KeySettings) -> None:
    made = open_keys(data, by_file)
    assert by_file.file is not None
    lost = by_file.file.read_bytes()
    by_file.file.unlink()
    recovered = open_keys(data, with_code(by_file, made.recovery.code()))
    assert same(made, recovered)
    assert recovered.recovery.code() not in (None, made.recovery.code())
    assert by_file.file.read_bytes() != lost
    assert same(made, open_keys(data, by_file))
    with pytest.raises(WrongKeyError) as caught:
        open_keys(data, with_code(by_file, made.recovery.code()))
    assert "opens once" in caught.value.hint
    assert same(made, open_keys(data, with_code(by_file, recovered.recovery.code())))
    by_file.file.write_bytes(lost)
    with pytest.raises(WrongKeyError):
        open_keys(data, by_file)


def test_the_recovery_code_may_be_typed_as_people_type(data: Path, by_file: KeySettings) -> None:
    code = open_keys(data, by_file).recovery.code()
    assert code is not None
    typed = code.lower().replace("-", " ").replace("0", "o").replace("1", "l")
    assert open_keys(data, with_code(by_file, typed)).recovery.code()


def test_the_recovery_code_leads_from_a_passphrase_to_a_key_file(data: Path, by_file: KeySettings) -> None:
    made = open_keys(data, by_passphrase("forgotten"))
    recovered = open_keys(data, with_code(by_file, made.recovery.code()))
    assert recovered.source == "file"
    assert "argon2id" not in description(data)
    assert same(made, open_keys(data, by_file))


def test_a_wrong_code_changes_nothing(data: Path, by_file: KeySettings) -> None:
    made = open_keys(data, by_file)
    before = (data / "vault.json").read_bytes()
    for code in ("AAAAA-AAAAA-AAAAA-AAAAA-AAAAA-AAAAA", "", "é"):
        with pytest.raises(WrongKeyError):
            open_keys(data, with_code(by_file, code))
    assert (data / "vault.json").read_bytes() == before
    assert same(made, open_keys(data, by_file))


def test_a_code_where_no_vault_is_makes_none(data: Path, by_file: KeySettings) -> None:
    with pytest.raises(KeyUnavailableError, match="has no library"):
        open_keys(data, with_code(by_file, "AAAAA"))
    assert list(data.iterdir()) == []


# --- vault.json, changed, lost, of another version --------------------------------------------------------------------


def changes(raw: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each field changed in each way that still is JSON, removed, and one that was never there."""
    for name, value in raw.items():
        others: list[Any] = [None, "", 7, [], {}]
        if isinstance(value, str):
            flipped = ("0" if value[-1] != "0" else "1") if value[-1] in "0123456789abcdef" else "x"
            others += [value[:-1] + flipped, value[:-2], value + "00", value.upper() + " "]
        if isinstance(value, int):
            others += [value + 1, 0, -1, str(value), True, float(value)]
        if isinstance(value, dict):
            others += [inner for _, inner in changes(value)]
        for other in others:
            if other != value or type(other) is not type(value):
                yield f"{name}={other!r:.40}", raw | {name: other}
        yield f"no {name}", {key: kept for key, kept in raw.items() if key != name}
    yield "one more", raw | {"note": "hello"}
    if "source" in raw:
        for source in ("file", "keyring", "passphrase"):
            if source != raw["source"]:
                yield f"source={source}", raw | {"source": source}


@pytest.mark.parametrize("source", ["file", "passphrase"])
def test_every_changed_field_of_the_description_is_refused(
    data: Path, by_file: KeySettings, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "docmind.storage.keys._ARGON2", {"iterations": 1, "lanes": 1, "memory_kib": 8_192}
    )  # seconds otherwise
    settings = by_file if source == "file" else by_passphrase("x y z").model_copy(update={"file": by_file.file})
    made = open_keys(data, settings)
    raw = description(data)
    accepted = []
    for name, changed in changes(raw):
        (data / "vault.json").write_text(json.dumps(changed))
        try:
            open_keys(data, settings)
        except DocMindError:
            continue
        accepted.append(name)
    assert accepted == []
    (data / "vault.json").write_text(json.dumps(dict(reversed(raw.items()))))  # the order says nothing
    assert same(made, open_keys(data, settings))


@pytest.mark.parametrize("name", ["format", "vault_id", "source", "recovery"])
def test_a_changed_field_is_refused_to_the_recovery_code_too(data: Path, by_file: KeySettings, name: str) -> None:
    made = open_keys(data, by_file)
    raw = description(data)
    for label, changed in changes(raw):
        if not label.startswith(name):
            continue
        (data / "vault.json").write_text(json.dumps(changed))
        with pytest.raises(DocMindError):
            open_keys(data, with_code(by_file, made.recovery.code()))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"7", b'"text"', b"\xff\xfe", b"[" * 100_000])
def test_a_description_that_is_none_is_refused_and_kept(data: Path, by_file: KeySettings, content: bytes) -> None:
    (data / "vault.json").write_bytes(content)
    with pytest.raises(VaultFormatError):
        open_keys(data, by_file)
    assert (data / "vault.json").read_bytes() == content


def test_a_description_that_cannot_be_read_is_one_sentence(data: Path, by_file: KeySettings) -> None:
    (data / "vault.json").mkdir()
    with pytest.raises(VaultError, match="cannot be read"):
        open_keys(data, by_file)


def test_an_unknown_format_names_both(data: Path, by_file: KeySettings) -> None:
    open_keys(data, by_file)
    (data / "vault.json").write_text(json.dumps(description(data) | {"format": 2}))
    with pytest.raises(VaultFormatError, match=r"format 2.*format 1"):
        open_keys(data, by_file)


@pytest.mark.parametrize("left", ["vault.db", "artifacts/00.webp.enc"])
def test_a_lost_description_is_refused_without_overwriting(data: Path, by_file: KeySettings, left: str) -> None:
    open_keys(data, by_file)
    assert by_file.file is not None
    key = by_file.file.read_bytes()
    (data / "vault.json").unlink()
    (data / left).parent.mkdir(exist_ok=True)
    (data / left).write_bytes(b"sealed")
    with pytest.raises(KeyUnavailableError, match=r"vault\.json is missing"):
        open_keys(data, by_file)
    assert not (data / "vault.json").exists()
    assert (data / left).read_bytes() == b"sealed"
    assert by_file.file.read_bytes() == key


def test_nothing_secret_is_in_clear_in_the_description(data: Path, by_file: KeySettings) -> None:
    made = open_keys(data, by_file)
    assert by_file.file is not None
    shown_code = made.recovery.code()
    assert shown_code is not None
    written = (data / "vault.json").read_bytes().lower()
    keys = [made.keyset.id_key, made.keyset.db_key, made.keyset.primary, *made.keyset.data_keys.values()]
    keys.append(bytes.fromhex(by_file.file.read_text()))
    for key in keys:
        assert key not in written
        assert key.hex().encode() not in written
    for code in (shown_code, shown_code.replace("-", "")):
        assert code.lower().encode() not in written
    for shown in (repr(made), repr(made.keyset), repr(made.recovery)):
        assert shown_code not in shown
        assert all(repr(key) not in shown and key.hex() not in shown for key in keys)


def test_a_passphrase_is_not_in_clear_in_the_description(data: Path) -> None:
    open_keys(data, by_passphrase("correct horse battery"))
    assert b"horse" not in (data / "vault.json").read_bytes()


# --- the unconfirmed code ---------------------------------------------------------------------------------------------


def test_confirming_changes_nothing_but_the_unconfirmed_part(data: Path, by_file: KeySettings) -> None:
    made = open_keys(data, by_file)
    code, before = made.recovery.code(), description(data)
    assert code is not None
    made.recovery.confirm(code.lower().replace("-", " "))
    after = description(data)
    assert set(before) - set(after) == {"unconfirmed"}
    assert after["recovery"] == before["recovery"]
    reopened = open_keys(data, by_file)
    assert same(made, reopened)
    assert reopened.recovery.code() is None
    assert same(made, open_keys(data, with_code(by_file, code)))


def test_no_part_can_be_taken_from_another_time(data: Path, by_file: KeySettings) -> None:
    """Neither an old code that is put back, nor a confirmation that is undone, passes the key."""
    made = open_keys(data, by_file)
    first = description(data)
    made.recovery.renew()
    second = description(data)
    made.recovery.confirm(made.recovery.code() or "")
    third = description(data)
    for mixed in (
        second | {"unconfirmed": first["unconfirmed"]},
        second | {"recovery": first["recovery"]},
        second | {"recovery": first["recovery"], "unconfirmed": first["unconfirmed"]},
        third | {"unconfirmed": second["unconfirmed"]},
        {name: value for name, value in second.items() if name != "unconfirmed"},
    ):
        (data / "vault.json").write_text(json.dumps(mixed))
        with pytest.raises(WrongKeyError):
            open_keys(data, by_file)
    (data / "vault.json").write_text(json.dumps(third))
    assert open_keys(data, by_file).recovery.code() is None


def test_a_code_that_cannot_be_written_leaves_the_old_one(data: Path, by_file: KeySettings) -> None:
    made = open_keys(data, by_file)
    code = made.recovery.code()
    before = (data / "vault.json").read_bytes()
    (data / "vault.json").unlink()
    (data / "vault.json").mkdir()
    for change in (made.recovery.renew, lambda: made.recovery.confirm(code or "")):
        with pytest.raises(VaultError, match="cannot be written"):
            change()
        assert made.recovery.code() == code
    (data / "vault.json").rmdir()
    (data / "vault.json").write_bytes(before)
    assert sorted(path.name for path in data.iterdir()) == ["vault.json"]
    assert same(made, open_keys(data, with_code(by_file, code)))


def test_a_passphrase_is_exchanged_and_the_recovery_code_with_it(tmp_path: Path) -> None:
    settings = KeySettings(source="passphrase")
    first = open_keys(tmp_path, settings, lambda: "four words are enough")
    code = first.recovery.code()
    with pytest.raises(WrongKeyError):
        change_passphrase(tmp_path, first, "not this one", "five words are better still")
    with pytest.raises(ConfigError, match="at least 8"):
        change_passphrase(tmp_path, first, "four words are enough", "short")
    changed = change_passphrase(tmp_path, first, "four words are enough", "five words are better still")
    assert changed.keyset == first.keyset
    assert changed.recovery.code() not in (None, code)
    with pytest.raises(WrongKeyError):
        open_keys(tmp_path, settings, lambda: "four words are enough")
    assert open_keys(tmp_path, settings, lambda: "five words are better still").keyset == first.keyset


def test_only_a_vault_with_a_passphrase_has_one_to_change(tmp_path: Path) -> None:
    opened = open_keys(tmp_path / "data", KeySettings(source="file", file=tmp_path / "key"))
    with pytest.raises(ConfigError, match="key file"):
        change_passphrase(tmp_path / "data", opened, "a", "long enough")
