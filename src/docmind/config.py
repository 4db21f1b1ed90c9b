"""Settings as immutable values, built once at an entry point and passed as arguments, never global.

Every setting is an environment variable: prefix `DOCMIND_`, groups joined by `__`
(`DOCMIND_READING__WORKERS=1`). docs/settings.md lists them all, and `docmind settings --example` prints what is here.

The module is long because each setting stands in it once, with its default, its limits and a line of description.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from docmind.errors import ConfigError
from docmind.records.documents import OcrMode
from docmind.records.search import LISTS_OF_QUESTIONS, ListName
from docmind.wording import _

_PREFIX = "DOCMIND_"

Home = Annotated[Path, AfterValidator(Path.expanduser)]
"""A path in which a leading `~` is expanded to the user's folder, also where no shell has done it."""


def checkout() -> Path | None:
    """Return the folder of the checkout that DocMind runs from; None where it was installed as a wheel."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "app.py").is_file() and (root / "pyproject.toml").is_file() else None


def default_data_dir() -> Path:
    """Return the folder of the library: `data` in a checkout, beside `app.py`; elsewhere one in the user's data folder.

    It depends on where DocMind is installed, never on the folder in which a command is called. It has a name of its own
    there, because on macOS and Windows key files and models lie in that folder too.
    """
    root = checkout()
    if root is not None:
        return root / "data"
    from platformdirs import user_data_path

    return user_data_path("docmind", appauthor=False) / "library"


class _Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class KeySettings(_Group):
    """Source of the root key."""

    source: Literal["auto", "keyring", "passphrase", "file"] = Field(
        default="auto",
        description="where a new library's root key lies; auto: a passphrase or file that is set, else the keyring",
    )
    file: Home | None = Field(
        default=None, description="the key file, outside the data folder; the user's configuration folder where unset"
    )
    passphrase: SecretStr | None = Field(
        default=None, description="the passphrase, for machines where nobody can be asked"
    )
    recovery_code: SecretStr | None = Field(
        default=None, description="opens a library whose key is lost, and gives it a new key and a new code"
    )
    lock_after_min: int = Field(
        default=0, ge=0, le=1_440, description="minutes without use after which the app locks; 0: never"
    )


class DatabaseSettings(_Group):
    """The names of the two collections in the index."""

    qdrant_text_collection: str = Field(default="text", description="collection of nodes")
    qdrant_image_collection: str = Field(default="pages", description="collection of page images")


class QdrantSettings(_Group):
    """A Qdrant server or cluster in place of the embedded engine."""

    url: str | None = Field(
        default=None, description="address of a Qdrant server or cluster; unset: the embedded engine"
    )
    api_key: SecretStr | None = Field(default=None, description="its key; refused over plain http to another machine")
    timeout_s: float = Field(default=10.0, gt=0, description="longest wait for the server")
    multivectors: bool = Field(default=False, description="late interaction on the server above 20,000 pages")


class IndexSettings(_Group):
    """Form of the embedded index on the disk while the vault is closed."""

    at_rest: Literal["auto", "ephemeral", "blinded"] = Field(
        default="auto", description="auto: what is chosen in Settings; ephemeral at first"
    )


def _kinds(value: str) -> str:
    """Check kinds of files, separated by commas. Raises `ValueError`."""
    kinds = [kind.strip() for kind in value.split(",") if kind.strip()]
    if any(not (kind.isascii() and kind.isalpha() and kind.islower() and len(kind) <= 8) for kind in kinds):
        raise ValueError("it names kinds of files by commas, each of one to eight small letters: jwpub")
    return ",".join(dict.fromkeys(kinds))


class ReadingSettings(_Group):
    """Limits and sizes of the reading processes."""

    workers: int = Field(
        default=2, ge=1, le=64, description="files read at the same time, and processes that read text from pictures"
    )
    max_file_mb: int = Field(default=512, ge=1, description="larger files are refused")
    max_pages: int = Field(default=5_000, ge=1, description="longer documents are refused")
    max_page_megapixels: float = Field(
        default=100.0, gt=0, description="larger pictures are refused; PDF pages are rendered smaller instead"
    )
    max_unpacked_mb: int = Field(default=200, ge=1, description="how much a packed file may unpack to")
    max_text_mb: int = Field(default=50, ge=1, description="larger text files are refused")
    memory_mb: int = Field(default=2_048, ge=256, description="memory of one reading process")
    timeout_s: float = Field(default=120.0, gt=0, description="longest silence of a reading process, per page")
    image_side_px: int = Field(default=1_600, ge=400, le=6_000, description="longest side of a page image")
    image_quality: int = Field(
        default=70, ge=1, le=100, description="WebP quality of thumbnails and of pages with photographs"
    )
    thumbnail_side_px: int = Field(default=320, ge=64, le=1_024, description="longest side of a thumbnail")
    ocr: Literal["auto", "rapidocr", "tesseract", "off"] = Field(
        default="auto", description="engine that reads text from pictures"
    )
    ocr_mode: OcrMode = Field(
        default="auto", description="auto: pages without a good text layer; always: every page with a picture; never"
    )
    ocr_languages: str = Field(
        default="eng+por+spa", pattern=r"[a-zA-Z_]{2,20}(\+[a-zA-Z_]{2,20}){0,19}", description="of Tesseract"
    )
    ocr_doubt: float = Field(
        default=0.1, ge=0.0, le=1.0, description="share of unsure text from which OCR reads a page a second time"
    )
    ocr_tries: int = Field(default=1, ge=0, le=1, description="further readings of such a page, 0 or 1")
    ocr_min_confidence: float = Field(
        default=0.5, ge=0.0, le=1.0, description="lines that OCR is less sure of are searched, and not quoted"
    )
    browser: str = Field(default="auto", description="draws EPUB pages: auto, off, or a Chromium by path or name")
    pandoc: str = Field(
        default="auto", description="reads LaTeX, Org and reStructuredText: auto, off, or pandoc by path or name"
    )
    readers: Annotated[str, AfterValidator(_kinds)] = Field(
        default="", description="kinds of files that readers of other packages may read, by commas"
    )

    def chosen_readers(self) -> tuple[str, ...]:
        """Return the kinds whose readers, of other packages, are on."""
        return tuple(filter(None, self.readers.split(",")))


class EmbeddingSettings(_Group):
    """The text embedding model and how it runs."""

    model: str = Field(default="auto", description="auto: both models where their weights are installed, else MiniLM")
    precision: Literal["auto", "int8", "float32"] = Field(
        default="auto", description="numbers that the text model computes with; auto: int8 for DocMind's own models"
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = Field(
        default="auto", description="of a model in a folder of its own; DocMind's own models run on the processor"
    )
    threads: int = Field(default=0, ge=0, le=64, description="0: one per core")
    url: str | None = Field(default=None, description="where a model named ollama/... or openai/... answers")
    api_key: SecretStr | None = Field(
        default=None, description="key for the server at that address, if it asks for one"
    )
    dim: int | None = Field(default=None, ge=8, le=16_384, description="length of its vectors, where it is not known")


class RetrieveSettings(_Group):
    """Retrieval: sizes, fusion and reranking of the ranked lists."""

    k: int = Field(default=8, ge=1, le=1_000, description="hits of a search, and pages an answer looks at")
    candidates: int = Field(
        default=300,
        ge=3,
        le=10_000,
        description="windows asked of the dense list; a third as many pages of the BM25 list",
    )
    fusion: Literal["sum", "rrf", "dense", "sparse"] = Field(
        default="sum", description="sum of standardised scores, reciprocal ranks, or one list alone"
    )
    rrf_k: int = Field(default=60, ge=1, description="the constant of reciprocal rank fusion")
    rerank: Literal["late", "off"] = Field(default="late", description="late interaction over the first pages")
    cross_encoder: str = Field(default="", description="folder of the models folder with a cross-encoder; empty: none")
    cross_encoder_pages: int = Field(default=25, ge=2, le=200, description="of the ranking that it reads")
    cross_encoder_budget_s: float = Field(default=2.0, gt=0, description="longest wait for it in one search")
    start_timeout_s: float = Field(
        default=8.0, gt=0, description="longest wait of a search for a model to start; commands wait up to 120 s"
    )
    dedup_key: Literal["page_id", "node_id", "doc_id"] = Field(
        default="page_id", description="the unit of which there is at most one hit"
    )
    expand: Literal["measures", "off"] = Field(
        default="measures", description="search the lines of statements that a measure in the question is made of"
    )
    similarity_cutoff: float | None = Field(
        default=None,
        ge=-1.0,
        le=1.0,
        description="least cosine between a question and a page's nearest window; unset: none",
    )
    timeout_s: float = Field(
        default=10.0,
        gt=0,
        description="longest silence of the embedded index before its process is restarted; at least 30",
    )


def _lists(value: str) -> str:
    """Check names of lists, separated by commas. Raises `ValueError`."""
    names = [name.strip() for name in value.split(",") if name.strip()]
    if not names or any(name not in LISTS_OF_QUESTIONS for name in names):
        raise ValueError(f"it names lists by commas; there are {', '.join(LISTS_OF_QUESTIONS)}")
    return ",".join(names)


class SearchSettings(_Group):
    """The lists that a question is looked up in, and how they are merged."""

    lists: Annotated[str, AfterValidator(_lists)] = Field(
        default=",".join(LISTS_OF_QUESTIONS), description="text, code, image, visual, by commas"
    )
    merge: Literal["rrf", "score", "interleaved", "grouped"] = Field(
        default="rrf", description="how several lists become one"
    )
    text_limit: int | None = Field(
        default=None,
        ge=1,
        le=1_000,
        description="how many hits of the list of words are merged; unset: 20, or as many as are asked for",
    )
    code_limit: int | None = Field(default=None, ge=1, le=1_000, description="the same for source code")
    image_limit: int | None = Field(default=None, ge=1, le=1_000, description="the same for page images")
    visual_limit: int | None = Field(
        default=None, ge=1, le=1_000, description="the same for late interaction on page images"
    )
    looks: int = Field(default=3, ge=0, le=20, description="pages found by their look, at most, beside an answer")

    def asked(self) -> tuple[ListName, ...] | None:
        """Return the lists to ask; None for all of them."""
        names = self.lists.split(",")
        asked: tuple[ListName, ...] = tuple(name for name in LISTS_OF_QUESTIONS if name in names)
        return asked if len(asked) < len(LISTS_OF_QUESTIONS) else None

    def limits(self) -> dict[ListName, int]:
        """Return the depth of each list that has a limit."""
        limits: dict[ListName, int | None] = {
            "text": self.text_limit, "code": self.code_limit, "image": self.image_limit, "visual": self.visual_limit,
        }  # fmt: skip
        return {name: limit for name, limit in limits.items() if limit is not None}


class AnswerSettings(_Group):
    """The extractive answerer."""

    quotes: int = Field(default=5, ge=1, le=12, description="most quotes in an answer")
    threshold: float = Field(
        default=0.65, ge=0.0, le=1.0, description="calibrated probability below which nothing is found"
    )
    sure: float = Field(
        default=0.85, ge=0.0, le=1.0, description="calibrated probability from which the first quote is the answer"
    )
    passages_mb: int = Field(
        default=1_000, ge=0, description="most space for the vectors of all passages of pages; 0: none are made"
    )
    passage_reader: bool = Field(
        default=True,
        description="small models read the best passages together with the question",
    )


class LLMSettings(_Group):
    """The language model that writes answers, if there is one."""

    provider: Literal["auto", "off", "ollama", "openai", "inside"] = Field(
        default="auto",
        description="kind of server; off: answers are quotes; inside: GGUF files that DocMind runs itself",
    )
    url: str | None = Field(default=None, description="the server's address, such as http://127.0.0.1:8080/v1")
    model: str | None = Field(default=None, description="the model's name as its server lists it; unset: the first")
    api_key: SecretStr | None = Field(default=None, description="sent to the server at that address alone")
    allowed_hosts: str = Field(default="", description="hosts beside loopback, `name` or `name:port`, by commas")
    context_tokens: int = Field(
        default=8_192,
        ge=1_024,
        le=1_000_000,
        description="how much of question, passages and conversation the model is given",
    )
    max_tokens: int = Field(default=1_024, ge=16, le=32_768, description="of one answer")
    temperature: float = Field(default=0.1, ge=0.0, le=2.0, description="how freely the model chooses its words")
    first_token_s: float = Field(default=120.0, gt=0, description="longest wait for the first token")
    stall_s: float = Field(default=30.0, gt=0, description="longest silence after it")
    images: int = Field(default=2, ge=0, le=8, description="pages whose image goes with a question; 0: none")
    image_side_px: int = Field(default=1_024, ge=256, le=4_096, description="longer side of such an image")
    takes_images: Literal["auto", "on", "off"] = Field(default="auto", description="auto: as the server tells")
    gguf: Home | None = Field(default=None, description="a GGUF file that DocMind runs by itself")
    memory_mb: int = Field(default=0, ge=0, description="most memory of such a model; 0: what its file needs")
    threads: int = Field(default=0, ge=0, le=256, description="of such a model; 0: one per core")
    idle_s: float = Field(default=600.0, gt=0, description="such a model is ended after so long without a question")


class AgentSettings(_Group):
    """How a question is answered: in one pass, or by a tool-calling model in a bounded loop."""

    mode: Literal["standard", "agent"] = Field(
        default="standard", description="agent: a tool-calling model may search again before it answers"
    )
    max_steps: int = Field(default=6, ge=1, le=50, description="most turns between model and tools for one question")
    max_seconds: float = Field(default=180.0, gt=0, description="most time for one question")
    max_tokens: int = Field(default=16_384, ge=256, description="that the model may write in one loop")


class SummarySettings(_Group):
    """Summaries by a language model: of parts of the documents, then of these."""

    max_calls: int = Field(default=32, ge=1, le=1_000, description="of the model for one summary")
    max_seconds: float = Field(default=600.0, gt=0, description="most time for one summary")


class WebSettings(_Group):
    """Web search for agent mode, off unless set and confirmed with each question; and web pages added by address."""

    provider: Literal["off", "searxng", "brave"] = Field(
        default="off", description="which search provider agent mode may ask"
    )
    url: str | None = Field(default=None, description="address of the SearXNG server")
    api_key: SecretStr | None = Field(default=None, description="key for Brave's search interface")
    timeout_s: float = Field(default=10.0, gt=0, description="longest wait for results")
    pages: Literal["auto", "on", "off"] = Field(
        default="auto", description="whether pages may be fetched; auto: where a search provider is set"
    )
    max_page_mb: int = Field(default=50, ge=1, le=2_000, description="largest page or PDF that is taken")
    page_timeout_s: float = Field(default=30.0, gt=0, description="longest time for one page, redirects included")

    @property
    def may_fetch_pages(self) -> bool:
        """Whether the user allows web pages to be fetched by their address."""
        return self.pages == "on" or (self.pages == "auto" and self.provider != "off")


class MemorySettings(_Group):
    """Remembered facts."""

    vectors: Literal["auto", "off"] = Field(default="auto", description="off: compare by brute force")


class VisualSettings(_Group):
    """Models that embed page images, if there are any."""

    image_model: str = Field(default="auto", description="auto, off, a name of `docmind models list`, or a directory")
    late_model: str = Field(default="auto", description="auto, off, a name of `docmind models list`, or a directory")
    models_dir: Home | None = Field(default=None, description="where models lie; `models` in the cache folder if unset")
    device: Literal["auto", "cpu", "cuda", "mps"] = Field(default="auto", description="auto: the fastest that is here")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        default="auto", description="auto: bfloat16 where this machine gains from it"
    )
    threads: int = Field(default=0, ge=0, le=64, description="0: one per core")
    late_on_ingest: bool = Field(default=False, description="embed new pages for late interaction by itself")
    budget_s: float = Field(default=0.0, ge=0, description="longest run of one embedding job; 0: no limit")
    list_timeout_s: float = Field(default=8.0, gt=0, description="longest wait for one list of page images")
    rerank: Literal["off", "image", "late"] = Field(default="off", description="a second look at the first pages")
    rerank_budget_s: float = Field(default=0.0, ge=0, description="for pages late interaction has not seen; 0: none")
    hub_url: str = Field(default="https://huggingface.co", description="where models are fetched from")


class NetworkSettings(_Group):
    """The guard that isolates native code from the network."""

    strict: Literal["auto", "on", "off"] = Field(default="auto", description="on: refuse to start without the guard")


_HOST_LABEL = r"[a-z0-9](?:-*+[a-z0-9])*+"
_ORIGIN = re.compile(rf"https://{_HOST_LABEL}(?:\.{_HOST_LABEL})*+(?::[1-9]\d{{0,4}})?")


def _origin(value: str) -> str:
    """Normalize an origin as browsers write it: lower case, no slash at its end, no default port.

    Raises `ValueError`.
    """
    origin = value.lower().removesuffix("/").removesuffix(":443")
    if not _ORIGIN.fullmatch(origin):
        raise ValueError("it must be https://, a host name and, if need be, a port, such as https://desk.example")
    return origin


def _code(value: str) -> str:
    """Check an ISO 639-1 code. Raises `ValueError`."""
    if not re.fullmatch("[a-z]{2}", value):
        raise ValueError("it must be a code of two letters, such as en")
    return value


class AppSettings(_Group):
    """Access to the running app, and how it looks."""

    origin: Annotated[str, AfterValidator(_origin)] | None = Field(
        default=None, description="where a reverse proxy serves the app, beside loopback"
    )
    token: bool = Field(default=True, description="off: the proxy decides who may use the app")
    theme: Literal["system", "light", "dark"] = Field(
        default="system", description="light or dark; system: as the browser asks"
    )
    language: Annotated[str, AfterValidator(_code)] = Field(default="en", description="of the interface: en, pt, …")


def _folders(value: str) -> str:
    """Check whole paths of folders, separated as in PATH. Raises `ValueError`."""
    for name in filter(None, value.split(os.pathsep)):
        if not Path(name).expanduser().is_absolute():
            raise ValueError(f"it names folders by their whole paths, separated by {os.pathsep}")
    return value


class McpSettings(_Group):
    """What assistants may do over MCP."""

    folders: Annotated[str, AfterValidator(_folders)] = Field(
        default="", description="folders whose files may be added, separated as in PATH; empty: none"
    )

    def allowed(self) -> tuple[Path, ...]:
        """Return the folders whose files may be added."""
        return tuple(Path(name).expanduser() for name in self.folders.split(os.pathsep) if name)


class TraceSettings(_Group):
    """Traces of what DocMind does, for OpenTelemetry."""

    url: str | None = Field(
        default=None, description="where they are sent, such as http://127.0.0.1:4318/v1/traces; unset: there are none"
    )


class ProcessSettings(_Group):
    """How child processes are started."""

    start: Literal["auto", "spawn"] = Field(
        default="auto", description="spawn: each in a fresh interpreter, also where it could be forked (Linux)"
    )


class StorageSettings(_Group):
    """Free disk space to keep, how a vault is opened, and how long files that were set aside are kept."""

    min_free_mb: int = Field(
        default=200, ge=0, description="room that must stay free on the disk; below it nothing is written"
    )
    read_only: bool = Field(default=False, description="open the vault for reading only; nothing in it is changed")
    keep_aside_days: float = Field(
        default=7.0, ge=1.0, description="files that vault.db does not name are kept so long"
    )
    bin_days: float = Field(
        default=30.0, ge=0.0, description="documents stay in the bin so long; 0 deletes them at once, for good"
    )


class SnapshotSettings(_Group):
    """Which snapshots `docmind snapshot prune` keeps, and what is kept before the schema of the database changes."""

    keep: int = Field(default=10, ge=0, description="the newest ones, whatever their age")
    keep_days: float = Field(default=30.0, ge=0.0, description="those that are younger")
    automatic: int = Field(default=5, ge=1, description="most of those that DocMind takes by itself")
    before_migration: Literal["on", "off"] = Field(
        default="on", description="keep a copy of vault.db, encrypted as it is, before its schema changes"
    )
    migration_days: float = Field(default=30.0, ge=1.0, description="such a copy is kept so long")


@dataclass(frozen=True)
class Variable:
    """The environment variable of one setting, `DOCMIND_GROUP__NAME`, and what the setting says of itself.

    `group` is the sentence about its group, `choices` the values there are where they are words of a list.
    """

    name: str
    group: str
    description: str
    choices: tuple[str, ...]
    default: Any


class Settings(BaseSettings):
    """All settings of one DocMind instance."""

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX,
        env_nested_delimiter="__",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        validate_default=True,
    )

    data_dir: Home = Field(
        default_factory=default_data_dir, description="`data` in a checkout; elsewhere the user's folder for data"
    )
    cache_dir: Home | None = Field(default=None, description="converted models; the user's cache folder where unset")
    keys: KeySettings = KeySettings()
    database: DatabaseSettings = DatabaseSettings()
    qdrant: QdrantSettings = QdrantSettings()
    index: IndexSettings = IndexSettings()
    reading: ReadingSettings = ReadingSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    retrieve: RetrieveSettings = RetrieveSettings()
    search: SearchSettings = SearchSettings()
    answer: AnswerSettings = AnswerSettings()
    llm: LLMSettings = LLMSettings()
    agent: AgentSettings = AgentSettings()
    summary: SummarySettings = SummarySettings()
    web: WebSettings = WebSettings()
    memory: MemorySettings = MemorySettings()
    visual: VisualSettings = VisualSettings()
    network: NetworkSettings = NetworkSettings()
    processes: ProcessSettings = ProcessSettings()
    storage: StorageSettings = StorageSettings()
    snapshots: SnapshotSettings = SnapshotSettings()
    mcp: McpSettings = McpSettings()
    app: AppSettings = AppSettings()
    traces: TraceSettings = TraceSettings()
    log_format: Literal["text", "json"] = Field(
        default="text",
        description="json: an object a line, with events, and without text of documents, names and paths",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="warning", description="least level of what is logged"
    )

    @classmethod
    def variables(cls) -> tuple[Variable, ...]:
        """Return the environment variables of all settings, those of one group after another."""
        return tuple(sorted(_variables(cls, _PREFIX), key=lambda one: "__" in one.name))

    @classmethod
    def load(cls) -> Settings:
        """Read the settings from the environment; an empty variable counts as unset.

        Raises `ConfigError`, in one sentence, for unknown names and impossible values.
        """
        known = {variable.name for variable in cls.variables()}
        for variable in os.environ:
            name = variable.upper()
            if name.startswith(_PREFIX) and name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"Is {near[0]} meant? " if near else ""
                raise ConfigError(
                    _("There is no setting {variable}.").format(variable=variable), hint=hint + ConfigError.hint
                )
        try:
            return cls()
        except ValidationError as error:
            first = error.errors()[0]
            name = _PREFIX + "__".join(str(part).upper() for part in first["loc"])
            raise ConfigError(_("{name} cannot be used: {msg}.").format(name=name, msg=first["msg"])) from error


def _variables(model: type[BaseModel], prefix: str) -> Iterator[Variable]:
    about = " ".join((model.__doc__ or "").split())
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _variables(kind, f"{prefix}{name.upper()}__")
        else:
            choices = get_args(kind) if get_origin(kind) is Literal else ()
            default = field.get_default(call_default_factory=True, validated_data={})
            yield Variable(prefix + name.upper(), about, field.description or "", choices, default)
