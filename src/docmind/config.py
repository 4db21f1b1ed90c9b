"""Settings as values: built once at an entry point, passed in, never global.

Every setting is an environment variable: prefix `DOCMIND_`, groups joined by `__`
(`DOCMIND_READING__WORKERS=1`). docs/settings.md lists them all.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from docmind.errors import ConfigError

Home = Annotated[Path, AfterValidator(Path.expanduser)]
"""A path in which a leading `~` is the user's folder, also where no shell has read it."""


class _Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class KeySettings(_Group):
    """Where the root key comes from."""

    source: Literal["auto", "keyring", "passphrase", "file"] = "auto"
    file: Home | None = None
    passphrase: SecretStr | None = None
    recovery_code: SecretStr | None = None


class DatabaseSettings(_Group):
    """Names of the two collections in the index."""

    qdrant_text_collection: str = "text"
    qdrant_image_collection: str = "pages"


class QdrantSettings(_Group):
    """A Qdrant server or cluster in place of the embedded engine."""

    url: str | None = None
    api_key: SecretStr | None = None
    timeout_s: float = Field(default=10.0, gt=0)
    multivectors: bool = Field(default=False, description="late interaction on the server above 20,000 pages")


class ReadingSettings(_Group):
    """Limits and sizes of the reading processes."""

    workers: int = Field(default=2, ge=1, le=64)
    max_file_mb: int = Field(default=512, ge=1)
    max_pages: int = Field(default=5_000, ge=1)
    max_page_megapixels: float = Field(default=100.0, gt=0)
    max_unpacked_mb: int = Field(default=200, ge=1)
    max_text_mb: int = Field(default=50, ge=1)
    memory_mb: int = Field(default=2_048, ge=256)
    timeout_s: float = Field(default=120.0, gt=0, description="longest silence of a reading process, per page")
    image_side_px: int = Field(default=1_600, ge=400, le=6_000)
    image_quality: int = Field(default=80, ge=1, le=100)
    thumbnail_side_px: int = Field(default=320, ge=64, le=1_024)
    ocr: Literal["auto", "rapidocr", "tesseract", "off"] = "auto"
    ocr_languages: str = "eng+por+spa"
    browser: str = Field(default="auto", description="draws EPUB pages: auto, off, or a Chromium by path or name")


class EmbeddingSettings(_Group):
    """The text model and how it runs."""

    model: str = "minilm"
    precision: Literal["auto", "int8", "float32"] = "auto"
    threads: int = Field(default=0, ge=0, le=64, description="0: one per core")


class RetrieveSettings(_Group):
    """How ranked lists become hits."""

    k: int = Field(default=8, ge=1, le=1_000)
    candidates: int = Field(default=300, ge=3, le=10_000)
    fusion: Literal["sum", "rrf", "dense", "sparse"] = "sum"
    rrf_k: int = Field(default=60, ge=1)
    rerank: Literal["late", "off"] = Field(default="late", description="late interaction over the first pages")
    timeout_s: float = Field(default=10.0, gt=0)


class AnswerSettings(_Group):
    """The extractive answerer."""

    quotes: int = Field(default=4, ge=1, le=12)
    threshold: float = Field(
        default=0.35, ge=0.0, le=1.0, description="calibrated probability below which nothing is found"
    )


class LLMSettings(_Group):
    """The language model that writes answers, where there is one."""

    provider: Literal["auto", "off", "ollama", "openai"] = "auto"
    url: str | None = None
    model: str | None = None
    api_key: SecretStr | None = None
    allowed_hosts: str = Field(default="", description="hosts beside loopback, `name` or `name:port`, by commas")
    context_tokens: int = Field(default=8_192, ge=1_024, le=1_000_000)
    max_tokens: int = Field(default=1_024, ge=16, le=32_768, description="of one answer")
    temperature: float = Field(default=0.1, ge=0.0, le=2.0)
    first_token_s: float = Field(default=120.0, gt=0, description="longest wait for the first token")
    stall_s: float = Field(default=30.0, gt=0, description="longest silence after it")


class AgentSettings(_Group):
    """How a question is worked on: once through, or with a tool-calling model in a bounded loop."""

    mode: Literal["standard", "agent"] = "standard"
    max_steps: int = Field(default=6, ge=1, le=50)
    max_seconds: float = Field(default=180.0, gt=0)
    max_tokens: int = Field(default=16_384, ge=256, description="that the model may write in one loop")


class WebSettings(_Group):
    """Web search for agent mode: off unless set, and asked about with each question."""

    provider: Literal["off", "searxng", "brave"] = "off"
    url: str | None = None
    api_key: SecretStr | None = None
    timeout_s: float = Field(default=10.0, gt=0)


class MemorySettings(_Group):
    """Remembered facts."""

    vectors: Literal["auto", "off"] = Field(default="auto", description="off: compare by brute force")


class VisualSettings(_Group):
    """Models that look at page images, where there are any."""

    image_model: str = Field(default="auto", description="auto, off, a name of `docmind models list`, or a directory")
    late_model: str = Field(default="auto", description="auto, off, a name of `docmind models list`, or a directory")
    models_dir: Home | None = Field(default=None, description="where models lie; `models` in the cache folder if unset")
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    threads: int = Field(default=0, ge=0, le=64, description="0: one per core")
    late_on_ingest: bool = Field(default=False, description="embed new pages for late interaction by itself")
    budget_s: float = Field(default=0.0, ge=0, description="longest run of one embedding job; 0: no limit")
    list_timeout_s: float = Field(default=8.0, gt=0, description="longest wait for one list of a search")
    rerank: Literal["off", "image", "late"] = Field(default="off", description="a second look at the first pages")
    rerank_budget_s: float = Field(default=0.0, ge=0, description="for pages late interaction has not seen; 0: none")
    hub_url: str = "https://huggingface.co"


class StorageSettings(_Group):
    """Room that must stay free."""

    min_free_mb: int = Field(default=200, ge=0)


class Settings(BaseSettings):
    """All settings of one DocMind."""

    model_config = SettingsConfigDict(
        env_prefix="DOCMIND_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        validate_default=True,
    )

    data_dir: Home = Path("data")
    cache_dir: Home | None = Field(default=None, description="converted models; the user's cache folder where unset")
    keys: KeySettings = KeySettings()
    database: DatabaseSettings = DatabaseSettings()
    qdrant: QdrantSettings = QdrantSettings()
    reading: ReadingSettings = ReadingSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    retrieve: RetrieveSettings = RetrieveSettings()
    answer: AnswerSettings = AnswerSettings()
    llm: LLMSettings = LLMSettings()
    agent: AgentSettings = AgentSettings()
    web: WebSettings = WebSettings()
    memory: MemorySettings = MemorySettings()
    visual: VisualSettings = VisualSettings()
    storage: StorageSettings = StorageSettings()
    log_level: Literal["debug", "info", "warning", "error"] = "warning"

    @classmethod
    def load(cls) -> Settings:
        """Read the environment; refuse unknown names and impossible values with one sentence (`ConfigError`).

        A variable that is empty counts as unset.
        """
        known = set(_variables(cls, "DOCMIND_"))
        for variable in os.environ:
            name = variable.upper()
            if name.startswith("DOCMIND_") and name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"Is {near[0]} meant? " if near else ""
                raise ConfigError(f"There is no setting {variable}.", hint=hint + ConfigError.hint)
        try:
            return cls()
        except ValidationError as error:
            first = error.errors()[0]
            name = "DOCMIND_" + "__".join(str(part).upper() for part in first["loc"])
            raise ConfigError(f"{name} cannot be used: {first['msg']}.") from error


def _variables(model: type[BaseModel], prefix: str) -> Iterator[str]:
    """The environment variables of a model: `DOCMIND_GROUP__NAME`."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _variables(kind, f"{prefix}{name.upper()}__")
        else:
            yield prefix + name.upper()
