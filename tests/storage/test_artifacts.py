"""Sealed files: the format to the byte, every way to spoil one, and what a kill or a full disk leaves behind.

Labels in sealed files: to the byte, padded, and enough to name a lost document.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import forked
from conftest import tiny_disk
from desks import opened, report
from docmind.errors import (
    DamagedError,
    DiskFullError,
    NotFoundError,
    TamperedError,
    VaultError,
    VaultFormatError,
    WrongKeyError,
)
from docmind.records.documents import ArtifactRef
from docmind.storage.artifacts import (
    ORIGINAL,
    Artifacts,
    Sealable,
    check,
    id_of,
    pack_label,
    padded_length,
    seal,
    unpack_label,
    unseal,
    unseal_labelled,
)
from docmind.storage.keys import Keyset
from each import each_of

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "dma1-labelled.json").read_text())


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_the_committed_vectors(vector: dict[str, str]) -> None:
    raw = {
        name: bytes.fromhex(vector[name])
        for name in ("id_key", "data_key", "key_id", "salt", "nonce", "payload", "plaintext", "file")
    }
    keys = Keyset(raw["id_key"], bytes(32), {raw["key_id"]: raw["data_key"]}, raw["key_id"])
    ref = ArtifactRef(vector["id"], vector["suffix"])
    label = json.loads(vector["label"])
    assert pack_label(label, raw["payload"]) == raw["plaintext"]
    assert seal(raw["payload"], keys, ref, salt=raw["salt"], nonce=raw["nonce"], label=label) == raw["file"]
    assert unseal_labelled(raw["file"], keys, ref) == (raw["payload"], label)
    assert unseal(raw["file"], keys, ref) == raw["payload"]


@pytest.mark.parametrize(("size", "padded"), [(0, 0), (1, 1), (8, 8), (9, 10), (100, 104), (1000, 1024), (4097, 4352)])
def test_padded_sizes_by_hand(size: int, padded: int) -> None:
    assert padded_length(size) == padded


def test_padding_costs_at_most_an_eighth_and_leaves_few_sizes() -> None:
    sizes = range(1000, 200_000, 7)
    assert all(size <= padded_length(size) <= size * 1.12 for size in sizes)
    assert len({padded_length(size) for size in sizes}) < 150


@pytest.mark.parametrize("data", [b"", bytes(11), b"\xff" * 40, pack_label({"kind": "page"}, b"x" * 40)[:40]])
def test_what_is_no_label_is_damage(data: bytes) -> None:
    with pytest.raises(DamagedError):
        unpack_label(data)


def test_a_label_changes_neither_the_id_nor_what_is_kept_once(tmp_path: Path) -> None:
    store = Artifacts(tmp_path / "artifacts", Keyset.generate())
    first = store.put(b"page", ".webp.enc", {"kind": "page", "doc_id": "one", "page_no": 1})
    assert store.put(b"page", ".webp.enc", {"kind": "page", "doc_id": "two", "page_no": 9}) == first
    assert store.label(first) == {"kind": "page", "doc_id": "one", "page_no": 1}  # the first stays
    plain = store.put(b"other", ".webp.enc")
    assert store.label(plain) is None
    assert (store.get(first), store.get(plain)) == (b"page", b"other")


@pytest.mark.slow
def test_every_file_of_a_document_names_it(tmp_path: Path) -> None:
    with opened(tmp_path) as docmind:
        upload = report("heron", 2)
        docmind.add([upload])
        (info,) = docmind.documents()
        artifacts = docmind._artifacts
        labels = [artifacts.label(ref) for ref in artifacts.unreferenced(set())]
        by_kind = sorted(str(label["kind"]) for label in labels if label)
        assert by_kind == ["original", "page", "page", "thumbnail", "thumbnail"]
        assert {label["doc_id"] for label in labels if label} == {info.doc_id}
        (original,) = [label for label in labels if label and label["kind"] == "original"]
        assert (original["name"], original["tags"]) == ("heron.pdf", [])
        (ref,) = [ref for ref in artifacts.unreferenced(set()) if ref.suffix == ORIGINAL]
        size = (tmp_path / "data" / "artifacts" / ref.file_name).stat().st_size - 52 - 16 - 32
        assert size == padded_length(size) > len(upload.data)


VECTORS_of_artifacts = json.loads((Path(__file__).parent.parent / "vectors" / "dma1.json").read_text())
SUFFIX = ".webp.enc"


@pytest.fixture
def keys() -> Keyset:
    return Keyset.generate()


@pytest.fixture
def store(tmp_path: Path, keys: Keyset) -> Iterator[Artifacts]:
    artifacts = Artifacts(tmp_path / "artifacts", keys)
    yield artifacts
    artifacts.close()


def file_of(tmp_path: Path, ref: ArtifactRef) -> Path:
    return tmp_path / "artifacts" / ref.file_name


def again_summed(data: bytes) -> bytes:
    """Return changed bytes with a valid checksum, as an attacker without the key can make them."""
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


# --- the format -------------------------------------------------------------------------------------------------------


def hkdf(key: bytes, salt: bytes, info: bytes) -> bytes:
    """RFC 5869 with SHA-256, one block of output."""
    return hmac.digest(hmac.digest(salt, key, "sha256"), info + b"\x01", "sha256")


def by_the_table(vector: dict[str, Any]) -> tuple[str, bytes]:
    """Id and file, from the table of the format alone: no code of docmind, and AES-GCM put together from its parts."""
    raw = {name: bytes.fromhex(vector[name]) for name in ("id_key", "data_key", "key_id", "salt", "nonce", "plaintext")}
    name = hmac.digest(raw["id_key"], b"DMA1" + raw["plaintext"], "sha256").hex()
    header = b"DMA1" + bytes([1, 1, 0, 0]) + raw["key_id"] + raw["salt"] + raw["nonce"]
    header += struct.pack(">Q", len(raw["plaintext"]))
    assert len(header) == 52
    suffix = vector["suffix"].encode()
    associated = header + bytes([64]) + name.encode() + bytes([len(suffix)]) + suffix
    cipher = Cipher(algorithms.AES256(hkdf(raw["data_key"], raw["salt"], b"DMA1 file")), modes.GCM(raw["nonce"]))
    sealing = cipher.encryptor()
    sealing.authenticate_additional_data(associated)
    sealed = header + sealing.update(raw["plaintext"]) + sealing.finalize() + sealing.tag
    return name, sealed + hashlib.sha256(sealed).digest()


def keyset_of(vector: dict[str, Any]) -> Keyset:
    key_id = bytes.fromhex(vector["key_id"])
    data_keys = {key_id: bytes.fromhex(vector["data_key"])}
    return Keyset(bytes.fromhex(vector["id_key"]), bytes(32), data_keys, key_id)


@pytest.mark.parametrize("vector", VECTORS_of_artifacts, ids=[vector["name"] for vector in VECTORS_of_artifacts])
def test_the_format_is_what_it_was(vector: dict[str, Any]) -> None:
    keys, plaintext = keyset_of(vector), bytes.fromhex(vector["plaintext"])
    ref = ArtifactRef(id_of(plaintext, keys), vector["suffix"])
    assert ref.sha256 == vector["id"]
    salt, nonce = bytes.fromhex(vector["salt"]), bytes.fromhex(vector["nonce"])
    sealed = seal(plaintext, keys, ref, salt=salt, nonce=nonce)
    assert sealed.hex() == vector["sealed"]
    assert unseal(bytes.fromhex(vector["sealed"]), keys, ref) == plaintext


@pytest.mark.parametrize("vector", VECTORS_of_artifacts, ids=[vector["name"] for vector in VECTORS_of_artifacts])
def test_the_table_of_the_format_is_true(vector: dict[str, Any]) -> None:
    assert by_the_table(vector) == (vector["id"], bytes.fromhex(vector["sealed"]))


# --- put, get, verify, delete -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 4096, 1_000_003])
def test_what_is_put_is_got(store: Artifacts, size: int) -> None:
    data = secrets.token_bytes(size)
    ref = store.put(data, SUFFIX)
    assert store.ref_of(data, SUFFIX) == ref
    assert store.exists(ref)
    assert store.get(ref) == data
    store.verify(ref)


def test_equal_bytes_are_kept_once_and_nothing_else_is(store: Artifacts, tmp_path: Path) -> None:
    refs = store.put_many(
        [Sealable(b"one", SUFFIX), Sealable(b"two", SUFFIX), Sealable(b"one", SUFFIX), Sealable(b"one", ".pdf.enc")]
    )
    assert refs[0] == refs[2]
    assert refs[0].sha256 == refs[3].sha256
    before = {path: path.read_bytes() for path in (tmp_path / "artifacts").iterdir()}
    assert sorted(path.name for path in before) == sorted({ref.file_name for ref in refs})
    assert store.put(b"one", SUFFIX) == refs[0]
    assert {path: path.read_bytes() for path in (tmp_path / "artifacts").iterdir()} == before
    assert sum(file.bytes for file in store.stored()) == sum(len(data) for data in before.values())


def test_a_file_says_nothing_of_what_it_holds(store: Artifacts, tmp_path: Path, keys: Keyset) -> None:
    data = b"a known document, word for word " * 20
    path = file_of(tmp_path, store.put(data, SUFFIX))
    assert b"known document" not in path.read_bytes()
    assert hashlib.sha256(data).hexdigest() not in path.name
    assert Artifacts(tmp_path / "other", Keyset.generate()).ref_of(data, SUFFIX).file_name != path.name
    if os.name == "posix":
        assert path.stat().st_mode & 0o077 == 0


def test_deleting_takes_files_away_and_counts_them(store: Artifacts) -> None:
    refs = store.put_many([Sealable(b"one", SUFFIX), Sealable(b"two", SUFFIX)])
    assert store.remove([*refs, refs[0]]) == 2
    assert not any(store.exists(ref) for ref in refs)
    for ask in (store.get, store.verify):
        with pytest.raises(NotFoundError):
            ask(refs[0])


def test_a_file_that_cannot_be_deleted_keeps_no_other(tmp_path: Path, store: Artifacts) -> None:
    held, other = store.put_many([Sealable(b"one", SUFFIX), Sealable(b"two", SUFFIX)])
    file_of(tmp_path, held).unlink()
    file_of(tmp_path, held).mkdir()  # no file can be unlinked there
    with pytest.raises(VaultError, match="can't be deleted"):
        store.remove([held, other])
    assert not store.exists(other)


def test_a_second_data_key_opens_old_and_new(tmp_path: Path, keys: Keyset) -> None:
    old = Artifacts(tmp_path / "artifacts", keys)
    first = old.put(b"first", SUFFIX)
    primary = secrets.token_bytes(8)
    rotated = Keyset(keys.id_key, keys.db_key, keys.data_keys | {primary: secrets.token_bytes(32)}, primary)
    new = Artifacts(tmp_path / "artifacts", rotated)
    second = new.put(b"second", SUFFIX)
    assert (new.get(first), new.get(second)) == (b"first", b"second")
    assert new.put(b"first", SUFFIX) == first
    with pytest.raises(WrongKeyError):
        old.get(second)


# --- the folder is a jail ---------------------------------------------------------------------------------------------


@each_of(
    "name, suffix",
    [
        ("../" + "0" * 61, SUFFIX),
        ("0" * 63 + "/", SUFFIX),
        ("0" * 64, "/../../x.enc"),
        ("0" * 64, ".enc/../x"),
        ("0" * 64, ""),
        ("0" * 64, ".e\x00c"),
        ("0" * 64, ".enc\n"),
        ("0" * 64, ".webp.enc.enc"),
        ("A" * 64, SUFFIX),
        ("0" * 65, SUFFIX),
        ("", SUFFIX),
        ("..", SUFFIX),
    ],
)
def test_a_name_that_leads_elsewhere_cannot_be_made(name: str, suffix: str) -> None:
    with pytest.raises(ValueError, match="64 hex digits"):
        ArtifactRef(name, suffix)


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_planted_link_is_not_followed(store: Artifacts, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"secret")
    ref = store.ref_of(b"data", SUFFIX)
    for target in (outside, file_of(tmp_path, ref)):  # elsewhere, and in a circle
        file_of(tmp_path, ref).symlink_to(target)
        for ask in (store.get, store.exists, lambda ref: store.remove([ref]), lambda _: store.put(b"data", SUFFIX)):
            with pytest.raises(NotFoundError):
                ask(ref)
        file_of(tmp_path, ref).unlink()
    assert outside.read_bytes() == b"secret"


# --- every way to spoil a file ----------------------------------------------------------------------------------------

REGIONS = {
    "magic": (0, 4),
    "version": (4, 5),
    "algorithm": (5, 6),
    "flags": (6, 7),
    "reserved": (7, 8),
    "key_id": (8, 16),
    "salt": (16, 32),
    "nonce": (32, 44),
    "length": (44, 52),
    "ciphertext": (52, 52 + 40),
    "tag": (52 + 40, 52 + 56),
}
TO_THE_KEYLESS: dict[str, type[Exception]] = {
    "magic": DamagedError,
    "length": DamagedError,
    "version": VaultFormatError,
    "algorithm": VaultFormatError,
    "reserved": VaultFormatError,
    "key_id": WrongKeyError,
}


@pytest.mark.parametrize("region", REGIONS)
def test_every_flipped_byte_is_found(keys: Keyset, region: str) -> None:
    """Rot is found without a key; where an attacker makes the checksum hold, the key finds the change."""
    data = b"forty bytes of a page, to be flipped...."
    ref = ArtifactRef(id_of(data, keys), SUFFIX)
    sealed = seal(data, keys, ref, salt=secrets.token_bytes(16), nonce=secrets.token_bytes(12))
    assert len(sealed) == 52 + 40 + 16 + 32
    for at in range(*REGIONS[region]):
        for bit in (0x01, 0x80):
            changed = bytearray(sealed)
            changed[at] ^= bit
            with pytest.raises(DamagedError):
                unseal(bytes(changed), keys, ref)
            with pytest.raises(DamagedError):
                check(bytes(changed), ref)
            expected = (
                VaultFormatError if region == "flags" and bit == 0x80 else TO_THE_KEYLESS.get(region, TamperedError)
            )
            with pytest.raises(expected):
                unseal(again_summed(bytes(changed)), keys, ref)


def test_every_cut_and_every_byte_more_is_found(keys: Keyset) -> None:
    data = b"a page"
    ref = ArtifactRef(id_of(data, keys), SUFFIX)
    sealed = seal(data, keys, ref, salt=secrets.token_bytes(16), nonce=secrets.token_bytes(12))
    for size in range(len(sealed)):
        with pytest.raises(DamagedError):
            unseal(sealed[:size], keys, ref)
    for more in (b"\0", b"x" * 32, sealed):
        with pytest.raises(DamagedError):
            unseal(sealed + more, keys, ref)
    # One who also writes a fitting length and checksum is found out by the key.
    for body in (sealed[52:-33], sealed[52:-32] + b"\0"):
        length = struct.pack(">Q", len(body) - 16)
        with pytest.raises(TamperedError):
            unseal(again_summed(sealed[:44] + length + body + bytes(32)), keys, ref)


def test_a_flipped_checksum_is_rot(keys: Keyset) -> None:
    ref = ArtifactRef(id_of(b"x", keys), SUFFIX)
    sealed = seal(b"x", keys, ref, salt=bytes(16), nonce=bytes(12))
    for at in range(len(sealed) - 32, len(sealed)):
        changed = bytearray(sealed)
        changed[at] ^= 1
        with pytest.raises(DamagedError):
            unseal(bytes(changed), keys, ref)


def test_two_files_cannot_change_places(store: Artifacts, tmp_path: Path) -> None:
    one, two = store.put_many([Sealable(b"page one", SUFFIX), Sealable(b"page two", SUFFIX)])
    (first, second) = file_of(tmp_path, one), file_of(tmp_path, two)
    data = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(data)
    for ref in (one, two):
        with pytest.raises(TamperedError):
            store.get(ref)


def test_a_suffix_cannot_be_changed(store: Artifacts, tmp_path: Path) -> None:
    ref = store.put(b"page", SUFFIX)
    other = ArtifactRef(ref.sha256, ".pdf.enc")
    file_of(tmp_path, ref).rename(file_of(tmp_path, other))
    with pytest.raises(TamperedError):
        store.get(other)


def test_another_vaults_file_is_the_wrong_key(store: Artifacts, tmp_path: Path) -> None:
    foreign = Artifacts(tmp_path / "foreign", Keyset.generate())
    theirs = foreign.put(b"page", SUFFIX)
    ours = store.put(b"page", SUFFIX)
    file_of(tmp_path, ours).write_bytes((tmp_path / "foreign" / theirs.file_name).read_bytes())
    with pytest.raises(WrongKeyError):
        store.get(ours)


def test_a_name_that_the_plaintext_does_not_have_is_found(keys: Keyset) -> None:
    """Sealed with the right key under a wrong name: only somebody with the key, or a mistake of ours, can do that."""
    ref = ArtifactRef("0" * 64, SUFFIX)
    with pytest.raises(TamperedError, match="what its name says"):
        unseal(seal(b"page", keys, ref, salt=bytes(16), nonce=bytes(12)), keys, ref)


@pytest.mark.parametrize("spoil", ["rot", "cut", "empty", "tampered", "foreign"])
def test_adding_the_same_bytes_once_more_heals(store: Artifacts, tmp_path: Path, spoil: str) -> None:
    ref = store.put(b"a page of some length", SUFFIX)
    path = file_of(tmp_path, ref)
    sealed = bytearray(path.read_bytes())
    sealed[60] ^= 1
    foreign = seal(b"a page of some length", Keyset.generate(), ref, salt=bytes(16), nonce=bytes(12))
    path.write_bytes(
        {
            "rot": bytes(sealed),
            "cut": bytes(sealed[:70]),
            "empty": b"",
            "tampered": again_summed(bytes(sealed)),
            "foreign": foreign,
        }[spoil]
    )
    with pytest.raises((DamagedError, TamperedError, WrongKeyError)):
        store.get(ref)
    assert store.put(b"a page of some length", SUFFIX) == ref
    assert store.get(ref) == b"a page of some length"


def test_a_file_that_is_a_folder_is_damage(store: Artifacts, tmp_path: Path) -> None:
    ref = store.ref_of(b"page", SUFFIX)
    file_of(tmp_path, ref).mkdir()
    with pytest.raises(DamagedError, match="can't be read"):
        store.get(ref)


# --- removing single files --------------------------------------------------------------------------------------------


def test_a_file_that_was_put_again_or_replaced_is_not_unlinked(store: Artifacts, tmp_path: Path) -> None:
    ref = store.put(b"page", SUFFIX)
    os.utime(file_of(tmp_path, ref), (1, 1))
    (before,) = store.stored()
    store.put(b"page", SUFFIX)
    assert not store.unlink(before)
    (after,) = store.stored()
    assert before.seen != after.seen
    elsewhere = tmp_path / "elsewhere"
    file_of(tmp_path, ref).rename(elsewhere)
    file_of(tmp_path, ref).symlink_to(elsewhere)
    assert not store.unlink(after)
    assert elsewhere.is_file()
    file_of(tmp_path, ref).unlink()
    elsewhere.rename(file_of(tmp_path, ref))
    assert store.unlink(after)
    assert not store.unlink(after)
    assert not store.exists(ref)


# --- many at once, a kill, a full disk --------------------------------------------------------------------------------


def test_many_threads_may_put_the_same_and_different_bytes(store: Artifacts, tmp_path: Path) -> None:
    items = [bytes([n]) * 1000 for n in range(12)]

    def work(_: int) -> list[bytes]:
        return [store.get(ref) for ref in store.put_many([Sealable(data, SUFFIX) for data in items])]

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, range(6))) == [items] * 6
    assert len(list((tmp_path / "artifacts").iterdir())) == 12


_PUT_FOR_EVER = """
import itertools, sys
from pathlib import Path
from docmind.storage.artifacts import Artifacts
from docmind.storage.keys import Keyset
raw = bytes.fromhex(sys.argv[2])
store = Artifacts(Path(sys.argv[1]), Keyset(raw[:32], raw[:32], {raw[32:40]: raw[:32]}, raw[32:40]))
for n in itertools.count():
    ref = store.put(n.to_bytes(4, "big") * 100_000, ".webp.enc")
    print(n, ref.sha256, flush=True)
"""


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.parametrize("after", [1, 2, 5])
def test_a_kill_in_the_middle_leaves_whole_files_only(tmp_path: Path, after: int) -> None:
    raw = secrets.token_bytes(40)
    keys = Keyset(raw[:32], raw[:32], {raw[32:40]: raw[:32]}, raw[32:40])
    with forked.popen(
        [sys.executable, "-c", _PUT_FOR_EVER, str(tmp_path / "artifacts"), raw.hex()], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        acknowledged = [process.stdout.readline().split() for _ in range(after)]
        time.sleep(secrets.randbelow(20) / 1000)
        process.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        acknowledged += [line.split() for line in process.stdout.read().splitlines(keepends=True) if line[-1] == "\n"]
    folder = tmp_path / "artifacts"
    for path in folder.glob(f"*{SUFFIX}"):
        unseal(path.read_bytes(), keys, ArtifactRef(path.name[:64], SUFFIX))
    store = Artifacts(folder, keys)
    assert not list(folder.glob(".new-*"))
    for number, name in acknowledged:
        assert store.get(ArtifactRef(name, SUFFIX)) == int(number).to_bytes(4, "big") * 100_000


def test_what_a_kill_left_half_written_is_swept(tmp_path: Path, keys: Keyset) -> None:
    folder = tmp_path / "artifacts"
    folder.mkdir()
    (folder / ".new-0123456789abcdef").write_bytes(b"half")
    Artifacts(folder, keys)
    assert list(folder.iterdir()) == []


def test_a_folder_that_has_gone_is_one_sentence(tmp_path: Path, keys: Keyset) -> None:
    store = Artifacts(tmp_path / "artifacts", keys)
    (tmp_path / "artifacts").rmdir()
    with pytest.raises(VaultError, match="could not be stored"):
        store.put(b"page", SUFFIX)
    store.close()


@pytest.mark.crash
def test_a_full_disk_is_told_and_leaves_nothing_half(tmp_path: Path, keys: Keyset) -> None:
    with tiny_disk(tmp_path, megabytes=2) as disk:
        store = Artifacts(disk / "artifacts", keys)
        kept = store.put(b"k" * 100_000, SUFFIX)
        with pytest.raises(DiskFullError):
            store.put_many([Sealable(bytes([n]) * 900_000, SUFFIX) for n in range(4)])
        assert not list((disk / "artifacts").glob(".new-*"))
        for path in (disk / "artifacts").iterdir():
            check(path.read_bytes(), ArtifactRef(path.name[:64], SUFFIX))
        assert store.get(kept) == b"k" * 100_000
        assert all(store.unlink(file) for file in store.stored() if file.name != kept.file_name)
        assert store.get(store.put(b"x" * 900_000, SUFFIX)) == b"x" * 900_000
        store.close()
