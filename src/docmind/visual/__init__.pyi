from . import similarity_map
from .cards import Benches
from .embed_pages import Embedding
from .open_models import Opened
from .served import ModelChoice, check_fits
from .service import Visual
from .vector_stores import LateStore

__all__ = [
    "Benches",
    "Embedding",
    "LateStore",
    "ModelChoice",
    "Opened",
    "Visual",
    "check_fits",
    "similarity_map",
]
