from .bundle import Bundles, verify_bundle
from .closed import examine_closed
from .doctor import LEVELS, Doctor
from .evaluation import Evaluation
from .garbage import GarbageCollection
from .keys import Keys
from .kinds import KINDS, Kind
from .purge import STEPS, Purge, told
from .receipt import Signer
from .reindexing import Reindexing
from .repair import Repairs
from .rollback import roll_back
from .rotation import Rotation
from .searching import Searching, searching
from .snapshots import NOW, Snapshots
from .text_models import TextModels, opened_text_model
from .tidy import tidy

__all__ = [
    "KINDS",
    "LEVELS",
    "NOW",
    "STEPS",
    "Bundles",
    "Doctor",
    "Evaluation",
    "GarbageCollection",
    "Keys",
    "Kind",
    "Purge",
    "Reindexing",
    "Repairs",
    "Rotation",
    "Searching",
    "Signer",
    "Snapshots",
    "TextModels",
    "examine_closed",
    "opened_text_model",
    "roll_back",
    "searching",
    "tidy",
    "told",
    "verify_bundle",
]
