from .extractive import NOT_FOUND, Extract, Extractive
from .looks import with_looks
from .passages import nearest_heading
from .verify import Passage, Verified, Verifier, quoted

__all__ = [
    "NOT_FOUND",
    "Extract",
    "Extractive",
    "Passage",
    "Verified",
    "Verifier",
    "nearest_heading",
    "quoted",
    "with_looks",
]
