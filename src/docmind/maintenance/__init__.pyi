from .bundle import Bundles, verify_bundle
from .garbage import GarbageCollection
from .purge import STEPS, Conversing, Purge, told
from .receipt import Signer

__all__ = [
    "STEPS",
    "Bundles",
    "Conversing",
    "GarbageCollection",
    "Purge",
    "Signer",
    "told",
    "verify_bundle",
]
