from .extractive import NOT_FOUND, Extract, Extractive
from .looks import with_looks
from .verify import Passage, Verified, Verifier, quoted

__all__ = [
    "NOT_FOUND",
    "Extract",
    "Extractive",
    "Passage",
    "Verified",
    "Verifier",
    "quoted",
    "with_looks",
]
