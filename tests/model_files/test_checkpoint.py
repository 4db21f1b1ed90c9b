"""A directory is looked at, and what is wrong with it is said in one sentence before anything maps its weights.

Sums of files are kept beside them, made again when a file was touched, and never relied on when they are odd.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

from docmind.model_files.checkpoint import Fingerprints, UnusableError, is_wanted, read_checkpoint, sha256_of
from docmind.model_files.known import ENGINE, KINDS, KNOWN
from tinymodels import tiny_siglip
from tinyweights import sharded, tiny_files, written

FILES = ("a.json", "b.safetensors")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "private place"
    folder.mkdir()
    for name in FILES:
        (folder / name).write_text(name)
    return folder


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "models" / "fingerprints.json"


def test_it_is_made_of_names_and_contents(folder: Path, notes: Path) -> None:
    first = Fingerprints(notes).of(folder, FILES)
    assert Fingerprints(notes).of(folder, reversed(FILES)) == first
    assert Fingerprints(notes).of(folder, FILES[:1]) != first
    (folder / "a.json").rename(folder / "c.json")
    assert Fingerprints(notes).of(folder, ("c.json", FILES[1])) != first


def test_a_file_is_read_once_until_it_is_touched(folder: Path, notes: Path) -> None:
    first = Fingerprints(notes).of(folder, FILES)
    stat = (folder / "a.json").stat()
    (folder / "a.json").write_text("A.json")  # equal size
    os.utime(folder / "a.json", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert Fingerprints(notes).of(folder, FILES) == first  # so it was not read
    os.utime(folder / "a.json", ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert Fingerprints(notes).of(folder, FILES) != first


def test_the_notes_name_no_path(folder: Path, notes: Path) -> None:
    Fingerprints(notes).of(folder, FILES)
    text = notes.read_text("utf-8")
    assert "private" not in text
    assert sha256_of(folder / "a.json") in text
    Fingerprints(notes).drop(folder)
    assert json.loads(notes.read_text("utf-8")) == {}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"x": 1}', "[" * 50_000, '{"KEY": {"a.json": [1, 2]}}', "\ud800"])
def test_odd_notes_cost_only_time(folder: Path, notes: Path, text: str) -> None:
    first = Fingerprints(notes).of(folder, FILES)
    key = next(iter(json.loads(notes.read_text("utf-8"))))
    notes.write_text(text.replace("KEY", key), "utf-8", errors="surrogatepass")
    assert Fingerprints(notes).of(folder, FILES) == first


def test_a_place_that_cannot_be_written_to_costs_only_time(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert len(Fingerprints(tmp_path / "file" / "notes.json").of(folder, FILES)) == 16


def test_what_differs_from_what_was_told(folder: Path, notes: Path) -> None:
    sums = {name: sha256_of(folder / name) for name in FILES}
    fingerprints = Fingerprints(notes)
    assert fingerprints.differing(folder, sums) == ""
    assert fingerprints.differing(folder, {**sums, "b.safetensors": "0" * 64}) == "b.safetensors"
    assert fingerprints.differing(folder, {"gone.json": "0" * 64}) == ""
    for odd in (None, [], "text", {1: 2}, {"../a": None}):
        assert fingerprints.differing(folder, odd) == ""


@pytest.mark.parametrize(
    ("architecture", "config", "kind", "dim"),
    [
        ("siglip", {}, "image", 24),
        ("siglip", {"vision_config": {}}, "image", 768),
        ("siglip2", {}, "image", 24),
        ("colpali", {}, "late", 48),
        ("colqwen2", {}, "late", 48),
        ("colmodernvbert", {}, "late", 48),
        ("qwen2_vl", {"architectures": ["ColQwen2"]}, "late", 48),
    ],
)
def test_kind_and_dimension_come_from_the_config(
    tmp_path: Path, architecture: str, config: dict[str, Any], kind: str, dim: int
) -> None:
    read = read_checkpoint(written(tmp_path, tiny_files(architecture, **config)))
    assert (read.kind, read.architecture, read.dim) == (kind, architecture, dim)
    assert read.bytes == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_what_transformers_saves_is_whole(tmp_path: Path) -> None:
    read = read_checkpoint(tiny_siglip(tmp_path))
    assert (read.kind, read.architecture, read.dim) == ("image", "siglip", 32)
    assert {"config.json", "model.safetensors"} < set(read.files)


def test_every_architecture_that_is_accepted_has_a_class() -> None:
    from docmind.embedding import colpali, colpali_engine, siglip

    assert set(KINDS) == set(siglip.CLASSES) | set(colpali.CLASSES)
    assert {name for name, kind in KINDS.items() if kind == "image"} == set(siglip.CLASSES)
    assert set(ENGINE) == set(colpali_engine.CLASSES)
    assert {known.architecture for known in KNOWN.values()} <= {*KINDS, *ENGINE.values()}


def test_weights_in_several_files(tmp_path: Path) -> None:
    written(tmp_path, sharded(tiny_files("colpali")))
    assert len([name for name in read_checkpoint(tmp_path).files if name.endswith(".safetensors")]) == 2
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(UnusableError, match=r"00002\.safetensors is missing"):
        read_checkpoint(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../../secret.safetensors"}}')
    with pytest.raises(UnusableError, match="names no files that could be"):
        read_checkpoint(tmp_path)


def header(length: int, text: bytes) -> bytes:
    return length.to_bytes(8, "little") + text


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"config.json": None}, r"config\.json is missing"),
        ({"config.json": b"{"}, r"config\.json is broken"),
        ({"config.json": b"[1]"}, r"config\.json is broken"),
        ({"config.json": b"[" * 100_000}, r"config\.json is broken"),
        (
            {"config.json": b'{"model_type": "bert"}'},
            "architecture is 'bert'; those that can be run are siglip, siglip2",
        ),
        ({"config.json": b'{"model_type": ["siglip"]}'}, "architecture is none"),
        ({"config.json": b'{"model_type": "qwen2_vl", "architectures": ["Qwen2VL"]}'}, "architecture is 'qwen2_vl'"),
        ({"config.json": b'{"model_type": "siglip", "vision_config": {"hidden_size": "9"}}'}, "no possible dimension"),
        ({"config.json": b'{"model_type": "siglip", "vision_config": [1]}'}, "no possible dimension"),
        ({"config.json": b'{"model_type": "colpali", "embedding_dim": true}'}, "no possible dimension"),
        ({"model.safetensors": None}, r"It has no model\.safetensors"),
        ({"model.safetensors": None, "pytorch_model.bin": b"x"}, "pickled"),
        ({"model.safetensors": None, "adapter_config.json": b"{}"}, "an adapter, not a whole model"),
        ({"model.safetensors": b""}, "cut short"),
        ({"model.safetensors": b"x" * 9}, "cut short"),
        ({"model.safetensors": header(2**62, b"{}")}, "cut short"),
        ({"model.safetensors": header(4, b"nope")}, "no safetensors file"),
        ({"model.safetensors": header(4, b"[[]]")}, "no safetensors file"),
        ({"model.safetensors": header(14, b'{"a":{"b":[]}}')}, "no safetensors file"),
        ({"model.safetensors": header(11, b'{"a":["b"]}')}, "no safetensors file"),
        ({"tokenizer.json": None}, r"It has no tokenizer\.json"),
        ({"tokenizer_config.json": None}, r"It has no tokenizer_config\.json"),
        ({"preprocessor_config.json": None}, r"no preprocessor_config\.json"),
    ],
)
def test_what_is_no_model_is_one_sentence(tmp_path: Path, change: dict[str, bytes | None], sentence: str) -> None:
    files = {name: data for name, data in {**tiny_files(), **change}.items() if data is not None}
    with pytest.raises(UnusableError, match=sentence) as raised:
        read_checkpoint(written(tmp_path, files))
    assert len(str(raised.value)) < 300
    assert str(raised.value).endswith(".")


def test_a_file_cut_short_anywhere_is_found_before_it_is_mapped(tmp_path: Path) -> None:
    written(tmp_path, tiny_files(numbers=1_000))
    path = tmp_path / "model.safetensors"
    data = path.read_bytes()
    for length in (1, 7, 8, 9, 40, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(UnusableError):
            read_checkpoint(tmp_path)
    path.write_bytes(data)
    read_checkpoint(tmp_path)
    with safe_open(path, "numpy") as opened:
        assert opened.get_tensor("weight").shape == (1_000,)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    written(tmp_path, tiny_files())
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).unlink()
        os.mkfifo(tmp_path / name)
        with pytest.raises(UnusableError, match=name):
            read_checkpoint(tmp_path)
        (tmp_path / name).unlink()
        (tmp_path / name).write_bytes(tiny_files()[name])


def test_only_these_files_belong_to_a_model() -> None:
    wanted = ("config.json", "model.safetensors", "model-00001-of-00003.safetensors", "spiece.model", "merges.txt")
    assert all(map(is_wanted, wanted))
    never = (
        *("pytorch_model.bin", "modeling.py", "tf_model.h5", "model.pkl", "training_args.bin", "README.md"),
        *("../config.json", "onnx/config.json", "adapter_model.safetensors", "model-1-of-3.safetensors", "CONFIG.JSON"),
        *("chat_template.jinja", "optimizer.pt", "config.json\n", json.dumps("config.json")),
    )
    assert not any(map(is_wanted, never))
