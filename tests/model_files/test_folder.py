"""Models are described by their files: what is here, what is missing, what is broken, and what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import docmind
from docmind.config import Settings, VisualSettings
from docmind.errors import ConfigError
from docmind.model_files import KNOWN, Weights, default_cache_dir, models_dir_of
from tinyweights import tiny_files, written


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    return Weights(tmp_path / "models")


def test_nothing_is_here_at_first(weights: Weights) -> None:
    described = weights.all()
    assert [one.name for one in described] == list(KNOWN)
    for one in described:
        assert (one.state, one.directory, one.fingerprint) == ("missing", None, "")
        assert one.hint == f"Run: docmind models pull {one.name}"
        assert one.dim > 0
        assert one.licence
    assert not weights.models_dir.exists()


def test_a_model_in_its_place_is_present(weights: Weights) -> None:
    written(weights.models_dir / "siglip", tiny_files())
    one = weights.describe("siglip")
    assert (one.state, one.kind, one.dim, one.repository) == ("present", "image", 24, KNOWN["siglip"].repository)
    name, _, digits = one.fingerprint.partition(":")
    assert name == "siglip"
    assert len(digits) == 16
    int(digits, 16)
    assert (one.reason, one.hint) == ("", "")
    assert Weights(weights.models_dir).describe("siglip") == one


def test_what_is_wrong_with_it_is_said_with_the_way_out(weights: Weights) -> None:
    place = written(weights.models_dir / "siglip", tiny_files())
    data = (place / "model.safetensors").read_bytes()
    (place / "model.safetensors").write_bytes(data[:-4])
    cut = weights.describe("siglip")
    assert (cut.state, cut.fingerprint) == ("broken", "")
    assert "model.safetensors is cut short" in cut.reason
    assert cut.hint == "Run: docmind models pull siglip"
    written(place, tiny_files("colpali"))
    assert "another model" in weights.describe("siglip").reason
    (place / "config.json").unlink()
    assert "config.json is missing" in weights.describe("siglip").reason


def test_the_fingerprint_is_that_of_the_files(weights: Weights, tmp_path: Path) -> None:
    place = written(weights.models_dir / "siglip", tiny_files())
    first = weights.describe("siglip").fingerprint
    (place / "README.md").write_text("no part of it")
    assert weights.describe("siglip").fingerprint == first
    data = bytearray((place / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (place / "model.safetensors").write_bytes(data)
    os.utime(place / "model.safetensors", ns=(1, 1))
    second = weights.describe("siglip").fingerprint
    assert second != first
    (place / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    assert weights.describe("siglip").fingerprint not in (first, second)


def test_a_directory_of_the_users_own(weights: Weights, tmp_path: Path) -> None:
    here = written(tmp_path / "my model é", tiny_files("colqwen2"))
    one = weights.describe(str(here))
    assert (one.state, one.kind, one.dim, one.directory) == ("present", "late", 48, here)
    assert weights.describe(one.name) == one
    moved = here.rename(tmp_path / "elsewhere")
    assert weights.describe(str(moved)).fingerprint == one.fingerprint
    assert str(tmp_path) not in one.fingerprint
    (moved / "model.safetensors").unlink()
    gone = weights.describe(str(moved))
    assert (gone.state, gone.kind) == ("broken", "late")
    assert "no model.safetensors" in gone.reason


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({}, "config.json is missing"),
        ({**tiny_files("bert")}, "those that can be run are siglip, siglip2, colpali, colqwen2, colmodernvbert"),
        ({"adapter_config.json": b"{}", "adapter_model.safetensors": b""}, "This is an adapter"),
        ({"config.json": tiny_files()["config.json"], "pytorch_model.bin": b"x"}, "only safetensors are read"),
    ],
)
def test_a_directory_that_is_refused(weights: Weights, tmp_path: Path, files: dict[str, bytes], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as raised:
        weights.describe(str(written(tmp_path / "other", files)))
    assert raised.value.hint


@pytest.mark.parametrize(
    "name", ["", "nothing", "siglip/../..//x", "evil\x1b[2J", "~nobody/here", "a" * 5_000, "nul\0", "\ud800"]
)
def test_a_name_that_is_none_lists_those_there_are(weights: Weights, name: str) -> None:
    with pytest.raises(ConfigError) as raised:
        weights.describe(name)
    assert "siglip" in raised.value.hint
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 400


def test_declared_models_have_names_and_are_never_listed(weights: Weights) -> None:
    image, late = weights.describe("fake-image"), weights.describe("fake-late")
    assert (image.kind, late.kind) == ("image", "late")
    assert (image.architecture, late.architecture) == ("fake-image", "fake-late")
    assert (image.dim, image.fingerprint, late.dim, late.fingerprint) == (64, "fake-image:64", 128, "fake-late:128")
    assert {image.state, late.state} == {"present"}
    assert not {"fake-image", "fake-late"} & {one.name for one in weights.all()}


@pytest.mark.slow
def test_a_name_chooses_among_declared_models_and_names_no_code(weights: Weights, tmp_path: Path) -> None:
    for name in ("docmind_testkit:FAKE_IMAGE", "docmind_testkit", "fake"):
        with pytest.raises(ConfigError, match="no such folder"):
            weights.describe(name)
    code = (
        "from pathlib import Path; from docmind.model_files import Weights; "
        f"Weights(Path({str(tmp_path)!r})).describe('fake-image')"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(docmind.__file__).parents[1])}
    without = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert "There is no model" in without.stderr


def test_where_models_lie(tmp_path: Path) -> None:
    assert models_dir_of(Settings(visual=VisualSettings(models_dir=tmp_path))) == tmp_path
    assert models_dir_of(Settings(cache_dir=tmp_path)) == tmp_path / "models"
    assert models_dir_of(Settings()) == default_cache_dir() / "models"


@pytest.mark.slow
def test_describing_loads_no_model(tmp_path: Path) -> None:
    written(tmp_path / "siglip", tiny_files())
    code = (
        "import sys; from pathlib import Path; from docmind.model_files import Weights;"
        "assert Weights(Path(sys.argv[1])).describe('siglip').state == 'present';"
        "print(sorted({'torch', 'transformers', 'safetensors', 'httpx', 'numpy'} & set(sys.modules)))"
    )
    told = subprocess.check_output([sys.executable, "-c", code, str(tmp_path)], text=True)
    assert told.strip() == "[]"


def test_links_into_a_cache_are_followed_and_may_lead_nowhere(weights: Weights, tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("links need rights there")
    blobs, snapshot = written(tmp_path / "blobs", tiny_files()), tmp_path / "snapshot"
    snapshot.mkdir()
    for path in blobs.iterdir():
        (snapshot / path.name).symlink_to(path)
    assert weights.describe(str(snapshot)).state == "present"
    (blobs / "model.safetensors").unlink()
    assert weights.describe(str(snapshot)).state == "broken"


def test_describing_again_is_quick_enough_for_every_search(weights: Weights, monkeypatch: pytest.MonkeyPatch) -> None:
    written(weights.models_dir / "siglip", tiny_files())
    first = weights.describe("siglip")

    def never(_directory: Path) -> None:
        pytest.fail("Its files were read again.")

    with monkeypatch.context() as patched:
        patched.setattr("docmind.model_files.folder.read_checkpoint", never)
        assert weights.describe("siglip") == first
    (weights.models_dir / "siglip" / "model.safetensors").unlink()
    assert weights.describe("siglip").state == "broken"
