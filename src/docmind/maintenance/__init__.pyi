from .bundle import Bundles, verify_bundle
from .garbage import GarbageCollection
from .purge import STEPS, Conversing, Purge, told
from .receipt import Signer
from .rollback import roll_back
from .rotation import Rotation
from .snapshots import NOW, Snapshots

__all__ = [
    "NOW",
    "STEPS",
    "Bundles",
    "Conversing",
    "GarbageCollection",
    "Purge",
    "Rotation",
    "Signer",
    "Snapshots",
    "roll_back",
    "told",
    "verify_bundle",
]
