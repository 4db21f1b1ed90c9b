from .bundle import Bundles, verify_bundle
from .closed import examine_closed, has_library
from .doctor import LEVELS, Doctor
from .kinds import KINDS, Kind
from .purge import STEPS, Conversing, Purge, told
from .receipt import Signer
from .repair import Repairs

__all__ = [
    "KINDS",
    "LEVELS",
    "STEPS",
    "Bundles",
    "Conversing",
    "Doctor",
    "Kind",
    "Purge",
    "Repairs",
    "Signer",
    "examine_closed",
    "has_library",
    "told",
    "verify_bundle",
]
