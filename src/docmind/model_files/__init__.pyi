from .checkpoint import Fingerprints, UnusableError, combined, read_checkpoint, sha256_of
from .folder import Progress, Pulls, Weights, default_cache_dir, models_dir_of, pull_text_model
from .known import KINDS, KNOWN, KNOWN_TEXT, Declared, Known, KnownText, declared_model
from .sentence_files import Pooling, SentenceFiles, read_cross_encoder, read_sentence_files, text_folders

__all__ = [
    "KINDS",
    "KNOWN",
    "KNOWN_TEXT",
    "Declared",
    "Fingerprints",
    "Known",
    "KnownText",
    "Pooling",
    "Progress",
    "Pulls",
    "SentenceFiles",
    "UnusableError",
    "Weights",
    "combined",
    "declared_model",
    "default_cache_dir",
    "models_dir_of",
    "pull_text_model",
    "read_checkpoint",
    "read_cross_encoder",
    "read_sentence_files",
    "sha256_of",
    "text_folders",
]
