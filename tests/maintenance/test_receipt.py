"""Receipts of erasures: signed with a key of the vault, without the document's name and text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from desks import text_pdf
from docmind.application import DocMind
from docmind.cli import main
from docmind.errors import TamperedError, VaultFormatError, WrongKeyError
from docmind.maintenance import Signer
from docmind.records.documents import ErasureReceipt, Upload
from libraries import Library

NAME, SECRET = "Xerobiscuitine.pdf", "The Quokkazephyrine engine needs oil twice a year."
RECEIPT = ErasureReceipt(
    vault_id="0123456789abcdef", doc_id="ab" * 16, begun_at_ms=1, erased_at_ms=2, conversations=True, memories=False,
    erased=(("pages", 3),), found=(("rows", 0),), files=4, bytes=5, sequences=6, document=NAME,
)  # fmt: skip


@pytest.fixture(scope="module")
def library() -> Library:
    return Library("a secret", [Upload(NAME, text_pdf([SECRET]))])


def test_a_receipt_is_verified_and_has_no_name() -> None:
    signer = Signer(b"k" * 32, "0123456789abcdef")
    text = signer.signed(RECEIPT)
    assert NAME not in text
    back = signer.verify(text.encode())
    assert back.is_finished
    assert back.is_clean
    assert (back.pages, back.found, back.document) == (3, (("rows", 0),), "")
    assert signer.signed(back) == text


def test_every_changed_field_is_noticed() -> None:
    signer = Signer(b"k" * 32, "0123456789abcdef")
    plain = json.loads(signer.signed(RECEIPT))
    tried = 0
    for name, value in plain.items():
        if name in ("format", "vault_id"):
            continue
        for other in ({"rows": 1}, 7, "x", None, not value):
            if other != value or type(other) is not type(value):
                tried += 1
                with pytest.raises(TamperedError):
                    signer.verify(json.dumps({**plain, name: other}).encode())
    assert tried >= 50
    with pytest.raises(TamperedError):
        signer.verify(json.dumps({**plain, "note": "more"}).encode())


def test_a_receipt_of_another_library_is_refused() -> None:
    text = Signer(b"k" * 32, "0123456789abcdef").signed(RECEIPT).encode()
    with pytest.raises(WrongKeyError):
        Signer(b"k" * 32, "fedcba9876543210").verify(text)
    with pytest.raises(TamperedError):  # the same id, another key
        Signer(b"l" * 32, "0123456789abcdef").verify(text)


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[1]", b"\xff\xfe", b"null", b'{"format": 1}', b"[" * 60_000, b"[" * 70_000, b"9" * 9_000]
)
def test_what_is_no_receipt_is_refused(data: bytes) -> None:
    with pytest.raises(VaultFormatError):
        Signer(b"k" * 32, "0123456789abcdef").verify(data)


@pytest.mark.slow
def test_the_library_keeps_its_receipts(docmind: DocMind) -> None:
    (info,) = docmind.documents.all()
    (receipt,) = docmind.erasures.erase([info.doc_id])
    assert receipt.document == NAME
    (kept,) = docmind.erasures.receipts()
    assert docmind.erasures.text_of(kept) == docmind.erasures.text_of(receipt)
    assert kept.document == ""
    row = docmind.vault.database.one("SELECT plan, traces FROM erasures")
    assert row == ("{}", b"")


@pytest.mark.slow
def test_the_commands_erase_save_and_verify(data_dir: Path, tmp_path: Path) -> None:
    file, saved = tmp_path / "note.txt", tmp_path / "receipt.json"
    file.write_text(f"{SECRET}\n" * 20)

    def run(*args: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, args)
        return result.exit_code, result.stdout or result.stderr

    assert run("add", str(file))[0] == 0
    code, said = run("purge", "note.txt", "--yes")
    assert code == 2
    assert "--now" in said
    code, said = run("purge", "note.txt", "--now", "--yes", "--receipt", str(saved))
    assert code == 0, said
    assert "no trace is left" in said
    code, said = run("receipt", "verify", str(saved))
    assert code == 0, said
    assert "genuine" in said
    code, said = run("receipt", "list", "--json")
    (listed,) = json.loads(said)["receipts"]
    assert listed["is_clean"]
    again = tmp_path / "again.json"
    assert run("receipt", "save", listed["doc_id"][:8], "-o", str(again))[0] == 0
    assert again.read_text() == saved.read_text()
    saved.write_text(saved.read_text().replace('"pages": 1', '"pages": 2'))
    code, said = run("receipt", "verify", str(saved))
    assert code == TamperedError.exit_code
    assert "was changed" in said
    assert run("receipt", "verify", str(tmp_path / "none.json"))[0] == 4
    assert run("receipt", "save", "abcdef12", "-o", str(tmp_path / "x.json"))[0] == 4
    assert str(data_dir)
