from .bundle import Bundles, verify_bundle
from .purge import STEPS, Conversing, Purge, told
from .receipt import Signer

__all__ = [
    "STEPS",
    "Bundles",
    "Conversing",
    "Purge",
    "Signer",
    "told",
    "verify_bundle",
]
