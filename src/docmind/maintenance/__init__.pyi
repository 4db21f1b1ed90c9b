from .bundle import Bundles, verify_bundle
from .purge import STEPS, Conversing, Purge, told
from .receipt import Signer
from .rotation import Rotation

__all__ = [
    "STEPS",
    "Bundles",
    "Conversing",
    "Purge",
    "Rotation",
    "Signer",
    "told",
    "verify_bundle",
]
