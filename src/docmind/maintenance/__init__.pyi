from .bundle import Bundles, verify_bundle
from .closed import examine_closed
from .doctor import LEVELS, Doctor
from .garbage import GarbageCollection
from .kinds import KINDS, Kind
from .purge import STEPS, Conversing, Purge, told
from .receipt import Signer
from .repair import Repairs
from .rollback import roll_back
from .rotation import Rotation
from .snapshots import NOW, Snapshots

__all__ = [
    "KINDS",
    "LEVELS",
    "NOW",
    "STEPS",
    "Bundles",
    "Conversing",
    "Doctor",
    "GarbageCollection",
    "Kind",
    "Purge",
    "Repairs",
    "Rotation",
    "Signer",
    "Snapshots",
    "examine_closed",
    "roll_back",
    "told",
    "verify_bundle",
]
