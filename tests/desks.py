"""Vaults for tests: small documents, and a count of all that a vault holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docmind.application import DocMind
from docmind.artifacts import Artifacts
from docmind.catalog import Catalog
from docmind.config import EmbeddingSettings, KeySettings, LLMSettings, ReadingSettings, Settings, StorageSettings
from docmind.database import Database
from docmind.index import open_index
from docmind.keys import open_keys
from docmind.models import OneModel
from docmind.schema import ArtifactRef, Upload
from papers import pdf


def settings_in(folder: Path, **changes: Any) -> Settings:
    """A vault in `folder`/data, its key beside it, the text model without weights, no OCR, no language model."""
    return Settings(
        data_dir=folder / "data",
        cache_dir=folder / "cache",
        keys=KeySettings(source="file", file=folder / "docmind.key"),
        embedding=EmbeddingSettings(model="fake"),
        llm=LLMSettings(provider="off"),
        reading=ReadingSettings(ocr="off", image_side_px=400, workers=1),
        storage=StorageSettings(min_free_mb=1),
    ).model_copy(update=changes)


def environment_of(folder: Path, **more: str) -> dict[str, str]:
    """The same settings as variables, for a process of its own."""
    return {
        "DOCMIND_DATA_DIR": str(folder / "data"),
        "DOCMIND_CACHE_DIR": str(folder / "cache"),
        "DOCMIND_KEYS__SOURCE": "file",
        "DOCMIND_KEYS__FILE": str(folder / "docmind.key"),
        "DOCMIND_EMBEDDING__MODEL": "fake",
        "DOCMIND_LLM__PROVIDER": "off",
        "DOCMIND_READING__OCR": "off",
        "DOCMIND_READING__IMAGE_SIDE_PX": "400",
        "DOCMIND_READING__WORKERS": "1",
        "DOCMIND_STORAGE__MIN_FREE_MB": "1",
        **more,
    }


def text_pdf(pages: Sequence[str], **changes: Any) -> bytes:
    """A PDF with a line of text on each page; an empty one is a blank page."""
    return pdf([f"BT /F1 14 Tf 72 700 Td ({text}) Tj ET" if text else "" for text in pages], **changes)


def report(name: str, pages: int) -> Upload:
    """A PDF whose pages each say something of their own."""
    return Upload(
        f"{name}.pdf", text_pdf([f"The {name} report, page {n}, counts {n * 37} herons" for n in range(pages)])
    )


@dataclass(frozen=True)
class Inventory:
    """All that a vault holds, counted where it lies."""

    documents: int
    ready: int
    pages: int
    nodes: int
    vectors: int
    files: int
    text_points: int
    page_points: int


NOTHING = Inventory(0, 0, 0, 0, 0, 0, 0, 0)


def inventory(settings: Settings) -> Inventory:
    """Open the parts of a closed vault and count; every artifact is opened, and named by a row."""
    keyset = open_keys(settings.data_dir, settings.keys).keyset
    database = Database(settings.data_dir / "vault.db", keyset.db_key)
    artifacts = Artifacts(settings.data_dir / "artifacts", keyset)
    names = {path.name for path in (settings.data_dir / "artifacts").iterdir()}
    assert {name[:64] for name in names} == Catalog(database).artifact_ids()
    for name in names:
        artifacts.verify(ArtifactRef(name[:64], name[64:]))
    rows = database.one(
        "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM documents WHERE status = 'ready'),"
        " (SELECT count(*) FROM pages), (SELECT count(*) FROM nodes), (SELECT count(*) FROM vectors)"
    )
    for table in ("vectors", "tokens"):
        loose = f"SELECT count(*) FROM {table} WHERE content_hash NOT IN (SELECT content_hash FROM nodes)"
        assert database.one(loose) == (0,)
    assert rows is not None
    index = open_index(settings, settings.data_dir / "index", 384)
    points = index.count("text"), index.count("pages")
    index.close()
    artifacts.close()
    database.close()
    documents, ready, pages, nodes, vectors = rows
    return Inventory(documents, ready, pages, nodes, vectors, len(names), *points)


def opened(folder: Path, **changes: Any) -> DocMind:
    return DocMind(settings_in(folder, **changes))


def talking(folder: Path, **changes: Any) -> DocMind:
    """A vault whose language model is the one a test puts into `models.model`; none at first."""
    return DocMind(settings_in(folder, **changes), models=OneModel())
