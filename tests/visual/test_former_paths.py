"""Paths of model folders: none comes into a vault, and those of earlier versions leave it."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from docmind.application import DocMind
from docmind.model_files import Weights
from docmind.storage import Database, Preferences
from docmind.visual.former_paths import name_former_paths
from looking import album, looking
from tinymodels import tiny_colmodernvbert, tiny_siglip

KEY = bytes(range(32))
AUTO = {"image_model": "auto", "late_model": "auto", "device": "cpu", "precision": "float32"}
_PAGE, _RESERVED = 4_096, 80


def clear(path: Path, key: bytes) -> Iterator[bytes]:
    """Decrypt every page of a vault's database and of its log, those that no row uses too."""

    def opened(page: bytes) -> bytes:
        tail = page[-_RESERVED:]
        turned = Cipher(algorithms.AES256(key), modes.CBC(tail[:16])).decryptor()
        return turned.update(page[:-_RESERVED]) + turned.finalize()

    data = path.read_bytes()
    yield opened(data[16:_PAGE])
    for at in range(_PAGE, len(data), _PAGE):
        yield opened(data[at : at + _PAGE])
    log = path.with_name(f"{path.name}-wal")
    frames = log.read_bytes()[32:] if log.exists() else b""
    for at in range(0, len(frames), 24 + _PAGE):
        number = struct.unpack(">I", frames[at : at + 4])[0]
        page = frames[at + 24 : at + 24 + _PAGE]
        yield opened(page[16:] if number == 1 else page)


def told(desk: DocMind) -> str:
    """Return every value of every table as text."""
    tables = [name for (name,) in desk.vault.database.all("SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert {"preferences", "embedding_jobs"} <= set(tables)
    return "\n".join(repr(row) for name in tables for row in desk.vault.database.all(f'SELECT * FROM "{name}"'))


def test_the_pages_of_a_vault_can_be_read_by_this_test(tmp_path: Path) -> None:
    database = Database(tmp_path / "vault.db", KEY)
    Preferences(database).put("a.b", "a canary in the log")
    assert any(b"a canary in the log" in page for page in clear(tmp_path / "vault.db", KEY))
    database.close()
    assert any(b"a canary in the log" in page for page in clear(tmp_path / "vault.db", KEY))


@pytest.mark.parametrize(
    "path", ["/data/models/my siglip", "C:\\Models\\Zoé\\my siglip", "\\\\server\\share\\my siglip"]
)
def test_a_path_of_an_earlier_version_leaves_every_page(tmp_path: Path, path: str) -> None:
    database = Database(tmp_path / "vault.db", KEY)
    preferences = Preferences(database)
    served = {"fingerprint": "siglip:1", "name": path, "before": "", "before_name": "siglip2", "epoch": 3}
    preferences.put("visual.image", path)
    preferences.put("visual.late", "off")
    preferences.put("visual.served.image", served)
    preferences.put("visual.benches", {"siglip:1": {"name": path, "device": "cpu"}, "siglip:2": {"name": "siglip2"}})
    with database.transaction() as db:
        for job, model in (("a", path), ("b", "siglip2")):
            db.execute(
                "INSERT INTO embedding_jobs (job_id, model, doc_ids, state, force, started_at_ms, message)"
                " VALUES (?, ?, '[]', 'failed', 0, 1, ?)",
                (job, model, f"{model} cannot be used: It has no model.safetensors."),
            )
    weights = Weights(tmp_path / "models")
    assert name_former_paths(database, preferences, weights) == 1
    name = preferences.get("visual.image")
    assert name == "my-siglip"
    assert preferences.get("visual.late") == "off"
    assert preferences.get("visual.served.image") == {**served, "name": name}
    assert [bench["name"] for bench in preferences.get("visual.benches").values()] == [name, "siglip2"]
    assert database.all("SELECT model, message FROM embedding_jobs ORDER BY job_id") == [
        (model, f"{model} cannot be used: It has no model.safetensors.") for model in (name, "siglip2")
    ]
    if Path(path).is_absolute():
        assert Weights(tmp_path / "models").own.directory(name) == Path(path)
    assert name_former_paths(database, preferences, weights) == 0
    database.close()
    written = json.dumps(path)[1:-1].encode()
    for page in clear(tmp_path / "vault.db", KEY):
        assert path.encode() not in page
        assert written not in page
        assert b"my siglip" not in page


def test_a_damaged_choice_is_left_to_its_reader(tmp_path: Path) -> None:
    database = Database(tmp_path / "vault.db", KEY)
    with database.transaction() as db:
        db.execute("INSERT INTO preferences VALUES ('visual.image', '{')")
        db.execute("INSERT INTO preferences VALUES ('visual.benches', '[3]')")
    assert name_former_paths(database, Preferences(database), Weights(tmp_path / "models")) == 0
    database.close()


@pytest.mark.slow
def test_models_of_ones_own_are_in_the_vault_by_name_only(tmp_path: Path) -> None:
    folders = [tiny_siglip(tmp_path / "mine" / "my siglip"), tiny_colmodernvbert(tmp_path / "mine" / "my late")]
    with looking(tmp_path, **AUTO) as desk:
        desk.add([album("warm", "red", "brown")])
        for folder in folders:
            name = desk.visual.enable(str(folder)).name
            assert desk.visual.embed(str(folder)).pages_added == 2
            desk.visual.bench(str(folder))
            desk.visual.embedding(desk.visual.submit_embedding(str(folder)))
            (folder / "model.safetensors").unlink()  # what is said of it is kept with the answer
            thread = desk.conversations.create().thread_id
            desk.conversations.ask("Which page is red?", thread_id=thread)
            assert not re.search(r"(?<![\w.:/])(?:/[\w .-]+){2,}|file://|\\\\\\\\\w|[A-Z]:\\\\", told(desk))
            assert str(tmp_path) not in told(desk)
            assert name in told(desk)
        assert desk.vault.database.one("SELECT count(*) > 0 FROM checkpoints") == (1,)


@pytest.mark.slow
def test_a_vault_of_an_earlier_version_keeps_its_model(tmp_path: Path) -> None:
    folder = tiny_siglip(tmp_path / "mine" / "my siglip")
    with looking(tmp_path, **AUTO) as desk:
        desk.add([album("warm", "red", "brown")])
        name = desk.visual.enable(str(folder)).name
        desk.visual.embed(name)
        with desk.vault.database.transaction() as db:
            db.execute("UPDATE preferences SET value = replace(value, ?, ?)", (name, str(folder)))
            assert str(folder) in told(desk)
    (tmp_path / "models" / "own" / f"{name}.path").unlink()
    with looking(tmp_path, **AUTO) as desk:
        assert str(folder) not in told(desk)
        (card,) = [card for card in desk.visual.models() if card.in_use]
        assert (card.name, card.state, card.pages, card.pages_total) == (name, "present", 2, 2)
        assert desk.page_search.search_images("red").hits
    with looking(tmp_path, **AUTO) as desk:
        assert [card.name for card in desk.visual.models() if card.in_use] == [name]
