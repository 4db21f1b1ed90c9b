from .purge import STEPS, Conversing, Purge, told
from .receipt import Signer

__all__ = [
    "STEPS",
    "Conversing",
    "Purge",
    "Signer",
    "told",
]
