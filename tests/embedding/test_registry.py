"""Text models by name: what there is, what is missing, and which one a vault uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from desks import settings_in, text_pdf
from docmind.application import DocMind
from docmind.config import EmbeddingSettings, RetrieveSettings, Settings, VisualSettings
from docmind.embedding.registry import text_models
from docmind.errors import ConfigError, TextModelError
from docmind.records.documents import Upload
from tinymodels import tiny_siglip
from tinysentences import HIDDEN, tiny_cross_encoder, tiny_sentences


@pytest.mark.slow
def test_folders_are_described_without_loading_them(tmp_path: Path) -> None:
    tiny_sentences(tmp_path / "own", "cls")
    tiny_cross_encoder(tmp_path / "judge")
    (tmp_path / "siglip").mkdir()
    tiny_siglip(tmp_path / "siglip")
    tiny_siglip(tmp_path / "pictures")
    (tiny_sentences(tmp_path / "broken") / "model.safetensors").write_bytes(b"")
    settings = Settings(
        embedding=EmbeddingSettings(model="own"),
        retrieve=RetrieveSettings(cross_encoder="judge"),
        visual=VisualSettings(models_dir=tmp_path),
    )
    cards = {card.name: card for card in text_models(settings)}
    assert list(cards) == ["minilm", "multilingual-e5-small", "pair", "broken", "judge", "own"]
    assert [name for name, card in cards.items() if card.in_use] == ["judge", "own"]
    assert (cards["own"].state, cards["own"].dim, cards["own"].bytes > 0) == ("present", HIDDEN, True)
    assert "cls pooling" in cards["own"].about
    assert cards["judge"].kind == "rerank"
    assert (cards["broken"].state, cards["broken"].reason.startswith("model.safetensors is cut short")) == (
        "broken",
        True,
    )


@pytest.mark.slow
def test_a_choice_is_kept_by_name_and_used_at_the_next_opening(tmp_path: Path) -> None:
    tiny_sentences(tmp_path / "models" / "own")
    tiny_sentences(tmp_path / "models" / "broken").joinpath("config.json").unlink()
    visual = VisualSettings(models_dir=tmp_path / "models", image_model="off", late_model="off")
    fixed = settings_in(tmp_path, visual=visual)
    with DocMind(fixed) as desk:
        desk.add([Upload("herons.pdf", text_pdf(["Their eggs are pale blue"]))])
        with pytest.raises(ConfigError, match="set by DOCMIND_EMBEDDING__MODEL"):
            desk.text_models.choose("own")
    free = settings_in(tmp_path, visual=visual, embedding=EmbeddingSettings(device="cpu", threads=1))
    with DocMind(free) as desk:
        with pytest.raises(ConfigError, match=r"no text model '\.\./own'"):
            desk.text_models.choose("../own")
        with pytest.raises(TextModelError, match=r"config\.json is missing"):
            desk.text_models.choose("broken")
        desk.text_models.choose("own")
    with DocMind(free) as desk:
        assert [card.name for card in desk.text_models.all() if card.in_use] == ["own"]
        desk.reindex()
        assert desk.search("pale blue eggs").degraded == ()
