"""Text models from a folder: small random checkpoints through the child process, compared with plain arithmetic."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from desks import settings_in, text_pdf
from docmind.application import DocMind
from docmind.config import EmbeddingSettings, Settings, VisualSettings
from docmind.embedding.base import TokenEmbedder, is_multilingual, token_embedder
from docmind.embedding.chunking import LABEL, WINDOW, label_of, nodes_of_page, sizes_of
from docmind.embedding.registry import open_text_model
from docmind.embedding.sentence import CrossEncoder, SentenceModel, open_cross_encoder, open_sentence_model
from docmind.errors import ConfigError, IndexMismatchError, TextModelError
from docmind.records.documents import DocumentInfo, Upload
from docmind_testkit import FakeEmbedder
from tinysentences import HIDDEN, tiny_cross_encoder, tiny_sentences

TEXTS = ["Herons nest in tall poplar trees", "pale blue eggs", "the court held that notice was required.", "a", ""]
HERONS = Upload("herons.pdf", text_pdf(["Herons nest in tall poplar trees", "Their eggs are pale blue"]))
BREAD = Upload("bread.txt", b"Bake the rye bread slowly for ninety minutes.\n" * 3)


def settings_for(models: Path, name: str = "tiny") -> Settings:
    return Settings(
        embedding=EmbeddingSettings(model=name, precision="float32", device="cpu", threads=1),
        visual=VisualSettings(models_dir=models),
    )


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., SentenceModel]]:
    """Make a model in the folder `tiny` and open it; it is closed at the end."""
    made: list[SentenceModel] = []

    def make(pooling: str = "mean", **how: object) -> SentenceModel:
        tiny_sentences(tmp_path / "models" / "tiny", pooling, **how)  # pyright: ignore[reportArgumentType]
        made.append(open_sentence_model(settings_for(tmp_path / "models"), "tiny"))
        return made[-1]

    yield make
    for model in made:
        model.close()


def reference(folder: Path, texts: list[str], pooling: str, skip: int = 0) -> np.ndarray:
    """Pool the states of each text by itself, without padding."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    rows = []
    for text in texts:
        with torch.no_grad():
            states = model(**tokenizer(text.lower(), return_tensors="pt")).last_hidden_state[0].numpy()
        row = {"mean": states[skip:].mean(axis=0), "cls": states[0], "lasttoken": states[-1]}[pooling]
        rows.append(row / np.linalg.norm(row))
    return np.stack(rows)


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["cls", "lasttoken"])
def test_each_pooling_is_that_of_a_plain_reference(
    opened: Callable[..., SentenceModel], tmp_path: Path, pooling: str
) -> None:
    assert_as_the_plain_reference(opened(pooling), tmp_path / "models" / "tiny", pooling)


def assert_as_the_plain_reference(model: SentenceModel, folder: Path, pooling: str) -> None:
    vectors = model.embed_documents(TEXTS * 9)  # more than one frame, and texts of several lengths in one run
    expected = reference(folder, TEXTS, pooling)
    assert (vectors.shape, vectors.dtype, model.dim) == ((45, HIDDEN), np.float32, HIDDEN)
    assert np.abs(vectors - np.tile(expected, (9, 1))).max() < 1e-5
    assert np.abs(model.embed_query(TEXTS[1]) - expected[1]).max() < 1e-5
    assert model.embed_documents([]).shape == (0, HIDDEN)
    assert (model.device, model.precision) == ("cpu", "float32")


@pytest.mark.slow
def test_a_process_pools_cuts_starts_again_and_refuses_changed_files(
    opened: Callable[..., SentenceModel], tmp_path: Path
) -> None:
    """One model goes through all of it: its process imports torch for seconds each time that it starts."""
    model, folder = opened("mean"), tmp_path / "models" / "tiny"
    assert_as_the_plain_reference(model, folder, "mean")

    text = "Herons, eggs: pale  blue"
    assert [text[start:end] for start, end in model.pieces(text)] == ["Herons", ",", "eggs", ":", "pale", "blue"]
    assert len(model.pieces("herons " * 500)) == 500
    assert model.pieces("").shape == (0, 2)

    before = model.embed_query("pale eggs")
    assert model.pid is not None
    os.kill(model.pid, signal.SIGKILL)
    with contextlib.suppress(TextModelError):  # the question that finds it dead
        model.embed_query("pale eggs")
    assert np.array_equal(before, model.embed_query("pale eggs"))

    tiny_sentences(folder, seed=8)
    with pytest.raises(TextModelError, match="not those that it was chosen with"):
        model.embed_query("pale eggs")


@pytest.mark.slow
def test_prompts_stand_before_questions_and_passages(opened: Callable[..., SentenceModel], tmp_path: Path) -> None:
    model = opened(prompts={"query": "query: ", "passage": "passage: "}, inside="0_Transformer")
    folder = tmp_path / "models" / "tiny" / "0_Transformer"
    asked = reference(folder, ["query: pale eggs"], "mean")[0]
    told = reference(folder, ["passage: pale eggs"], "mean")[0]
    assert np.abs(model.embed_query("pale eggs") - asked).max() < 1e-5
    assert np.abs(model.embed_documents(["pale eggs"])[0] - told).max() < 1e-5
    assert not np.allclose(asked, told)


@pytest.mark.slow
def test_a_prompt_that_is_not_pooled_is_left_out(opened: Callable[..., SentenceModel], tmp_path: Path) -> None:
    model = opened(prompts={"query": "question: ", "document": ""}, pools_prompt=False)
    expected = reference(tmp_path / "models" / "tiny", ["question: pale eggs"], "mean", skip=3)[0]  # [CLS] question :
    assert np.abs(model.embed_query("pale eggs") - expected).max() < 1e-5


@pytest.mark.slow
def test_a_long_text_is_embedded_in_parts(opened: Callable[..., SentenceModel], tmp_path: Path) -> None:
    model = opened(max_tokens=18)
    first, second = "herons nest in tall poplar trees " * 2 + "a a a a", "their eggs are pale blue"
    parts = reference(tmp_path / "models" / "tiny", [first, second], "mean")
    whole = parts[0] * 18 + parts[1] * 7  # each part with two special tokens
    assert np.abs(model.embed_documents([f"{first} {second}"])[0] - whole / np.linalg.norm(whole)).max() < 1e-5


@pytest.mark.slow
def test_windows_and_labels_keep_within_its_length(opened: Callable[..., SentenceModel]) -> None:
    model = opened(max_tokens=32)
    assert sizes_of(model) == (20, 8)
    assert sizes_of(FakeEmbedder()) == (WINDOW, LABEL)
    info = DocumentInfo("d" * 32, f"{' '.join(['eggs'] * 30)}.pdf", "", "pdf", "ready", 1, 1, 0, "en", 10, 0)
    label = label_of(info, model)
    assert label == " ".join(["eggs"] * 8)
    nodes = list(nodes_of_page(info, label, model, 1, "en", "pale blue eggs " * 40))
    assert len(nodes) == 6
    assert max(len(model.pieces(embedded)) for _, embedded in nodes) <= 30


@pytest.mark.slow
def test_facts_are_known_before_anything_starts(opened: Callable[..., SentenceModel]) -> None:
    model = opened("cls", max_tokens=48)
    assert (model.name, model.dim, model.max_tokens, model.pid) == ("tiny", HIDDEN, 48, None)
    assert model.fingerprint.startswith("bert:cls:48:")
    assert not isinstance(model, TokenEmbedder)
    assert token_embedder(model, "late") is None
    assert is_multilingual(model)


def test_other_files_have_another_fingerprint(tmp_path: Path) -> None:
    models = tmp_path / "models"
    for name, how in {"a": {}, "b": {}, "c": {"seed": 8}, "d": {"pooling": "cls"}}.items():
        tiny_sentences(models / name, **how)
    a, b, c, d = (open_sentence_model(settings_for(models), name).fingerprint for name in "abcd")
    assert a == b
    assert len({a, c, d}) == 3
    assert str(tmp_path) not in a


@pytest.mark.slow
def test_the_owner_never_imports_torch(tmp_path: Path) -> None:
    tiny_sentences(tmp_path / "tiny")
    code = (
        "import sys; from pathlib import Path; from docmind.config import *; "
        "from docmind.embedding import open_text_model; "
        f"visual = VisualSettings(models_dir=Path({str(tmp_path)!r})); "
        "model = open_text_model(Settings(embedding=EmbeddingSettings(model='tiny'), visual=visual)); "
        "model.embed_query('x'); model.close(); "
        "print([name for name in ('torch', 'transformers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


def damage(how: str, folder: Path) -> None:
    weights = folder / "model.safetensors"
    match how:
        case "cut short":
            weights.write_bytes(weights.read_bytes()[:-100])
        case "pickled":
            weights.rename(folder / "pytorch_model.bin")
        case "no tokenizer":
            (folder / "tokenizer.json").unlink()
        case "no config":
            (folder / "config.json").unlink()
        case "broken modules":
            (folder / "modules.json").write_text('[{"idx": 0')
        case "odd module":
            (folder / "modules.json").write_text(
                json.dumps([{"type": "x.Transformer", "path": ""}, {"type": "my.Own"}])
            )
        case "folder outside":
            (folder / "modules.json").write_text(json.dumps([{"type": "x.Transformer", "path": "../other"}]))
        case "max pooling":
            (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_max_tokens": True}))
        case "odd prompts":
            (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": 3}}))


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("cut short", "cut short"), ("pickled", "pickled"), ("no tokenizer", "has no tokenizer.json"),
        ("no config", "config.json is missing"), ("broken modules", "modules.json is broken"),
        ("odd module", "a module 'Own', which DocMind does not run"), ("folder outside", "not inside it"),
        ("max pooling", "pooling is max_tokens; those that can be run"), ("odd prompts", "prompts"),
    ],
)  # fmt: skip
def test_a_damaged_directory_gets_one_clear_sentence(tmp_path: Path, how: str, told: str) -> None:
    damage(how, tiny_sentences(tmp_path / "models" / "tiny"))
    with pytest.raises(TextModelError, match=told) as caught:
        open_text_model(settings_for(tmp_path / "models"))
    assert "The folder tiny of the models folder" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.slow
def test_code_beside_the_weights_is_never_run(opened: Callable[..., SentenceModel], tmp_path: Path) -> None:
    folder, proof = tmp_path / "models" / "tiny", tmp_path / "ran"
    opened().close()
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "unheard-of", "auto_map": dict.fromkeys(("AutoModel", "AutoConfig"), "own.Own")}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text(f"open({str(proof)!r}, 'w').close()")
    model = open_sentence_model(settings_for(tmp_path / "models"), "tiny")
    with pytest.raises(TextModelError, match="cannot be loaded"):
        model.embed_query("pale eggs")
    model.close()
    assert not proof.exists()


@pytest.mark.parametrize("name", ["../tiny", "/etc", "nonesuch", ".hidden", "a/b", "language"])
def test_a_name_is_a_folder_of_the_models_folder(tmp_path: Path, name: str) -> None:
    tiny_sentences(tmp_path / "tiny")
    tiny_sentences(tmp_path / "models" / "other")
    with pytest.raises(ConfigError, match=r"There is no text model .*Available: minilm, .*other\.$"):
        open_text_model(settings_for(tmp_path / "models", name))


# --- a vault ----------------------------------------------------------------------------------------------------------


def vault(tmp_path: Path, model: str) -> DocMind:
    chosen = EmbeddingSettings(model=model, precision="float32", device="cpu", threads=1)
    visual = VisualSettings(models_dir=tmp_path / "models", image_model="off", late_model="off")
    return DocMind(settings_in(tmp_path, embedding=chosen, visual=visual))


@pytest.mark.slow
def test_a_vault_switches_to_it_and_back_and_opens_without_it(tmp_path: Path) -> None:
    tiny_sentences(tmp_path / "models" / "tiny")
    with vault(tmp_path, "fake") as desk:
        assert [result.status for result in desk.add([HERONS, BREAD])] == ["added"] * 2
    with vault(tmp_path, "tiny") as desk:
        with pytest.raises(IndexMismatchError, match="was built by"):
            desk.search("pale blue eggs")
        desk.reindex()
        found = desk.search("pale blue eggs")
        assert found.hits[0].text == "Their eggs are pale blue"
        assert found.degraded == ()
        assert [rank.ranking for rank in found.hits[0].ranks] == ["dense", "sparse", "fused"]
    shutil.rmtree(tmp_path / "models" / "tiny")
    for name in ("tiny", "auto"):  # what the vault keeps is the name
        with vault(tmp_path, name) as desk:
            found = desk.search("pale blue eggs")
            assert found.hits[0].text == "Their eggs are pale blue"
            assert "There is no text model 'tiny'" in found.degraded[0].reason
    with vault(tmp_path, "fake") as desk:
        desk.reindex()
        assert desk.search("pale blue eggs").degraded == ()


# --- cross-encoders ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_cross_encoder_scores_pairs_as_the_plain_model_does(tmp_path: Path) -> None:
    import torch
    from transformers import AutoTokenizer, BertForSequenceClassification

    folder = tiny_cross_encoder(tmp_path / "models" / "judge")
    passages = [*TEXTS[:-1], "eggs " * 200] * 7  # more than one batch, and one that is too long
    judge = open_cross_encoder(settings_for(tmp_path / "models"), "judge")
    assert isinstance(judge, CrossEncoder)
    scores = judge.scores("pale eggs", passages)
    judge.close()
    model = BertForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        expected = [
            float(model(**tokenizer("pale eggs", text, truncation="longest_first", max_length=96,
                                    return_tensors="pt")).logits[0, 0])
            for text in passages
        ]  # fmt: skip
    assert scores.shape == (35,)
    assert np.abs(scores - np.array(expected)).max() < 1e-5
    assert np.ptp(scores) > 0.01


@pytest.mark.parametrize(("labels", "told"), [(3, "gives 3 numbers"), (0, "names no class")])
def test_what_is_no_cross_encoder_is_refused(tmp_path: Path, labels: int, told: str) -> None:
    place = tmp_path / "models" / "judge"
    _ = tiny_cross_encoder(place, labels=labels) if labels else tiny_sentences(place)
    with pytest.raises(TextModelError, match=told):
        open_cross_encoder(settings_for(tmp_path / "models"), "judge")
