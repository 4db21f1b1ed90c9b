from .checkpoint import UnusableError, combined, read_checkpoint, sha256_of
from .folder import LanguageFiles, Progress, Pulls, Weights, default_cache_dir, models_dir_of
from .known import (
    KINDS,
    KNOWN,
    KNOWN_FILES,
    Declared,
    FileSource,
    Known,
    KnownFile,
    declared_model,
    file_source,
)

__all__ = [
    "KINDS",
    "KNOWN",
    "KNOWN_FILES",
    "Declared",
    "FileSource",
    "Known",
    "KnownFile",
    "LanguageFiles",
    "Progress",
    "Pulls",
    "UnusableError",
    "Weights",
    "combined",
    "declared_model",
    "default_cache_dir",
    "file_source",
    "models_dir_of",
    "read_checkpoint",
    "sha256_of",
]
