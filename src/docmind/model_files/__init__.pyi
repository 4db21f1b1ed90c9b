from .checkpoint import UnusableError, combined, read_checkpoint, sha256_of
from .folder import Progress, Pulls, Weights, default_cache_dir, models_dir_of
from .known import KINDS, KNOWN, Declared, Known, declared_model

__all__ = [
    "KINDS",
    "KNOWN",
    "Declared",
    "Known",
    "Progress",
    "Pulls",
    "UnusableError",
    "Weights",
    "combined",
    "declared_model",
    "default_cache_dir",
    "models_dir_of",
    "read_checkpoint",
    "sha256_of",
]
