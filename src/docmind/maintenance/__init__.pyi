from .bundle import SUFFIX, Bundles, verify_bundle
from .purge import STEPS, Conversing, Purge, told
from .receipt import Signer

__all__ = [
    "STEPS",
    "SUFFIX",
    "Bundles",
    "Conversing",
    "Purge",
    "Signer",
    "told",
    "verify_bundle",
]
