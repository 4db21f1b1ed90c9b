from .carrying import TABLES, CarriedDocument, adopt_document, carried_document, check_carried, doc_id_of, rows_of
from .catalog import Catalog, PageRecord
from .chunk_store import NodeRecord, NodeStore, unpack_tokens
from .edits import Edits
from .erasures import Erasure, ErasurePlan, Erasures
from .language import language_of, majority, with_ordinals
from .page_images import IMAGE_SUFFIX, PageList, Place
from .page_vectors import PageVectors
from .reader import LONGEST_SEARCH, Reader
from .titles import outline_of
from .uploads import HandedIn, Uploads, need_room, refused
from .words import Words

__all__ = [
    "IMAGE_SUFFIX",
    "LONGEST_SEARCH",
    "TABLES",
    "CarriedDocument",
    "Catalog",
    "Edits",
    "Erasure",
    "ErasurePlan",
    "Erasures",
    "HandedIn",
    "NodeRecord",
    "NodeStore",
    "PageList",
    "PageRecord",
    "PageVectors",
    "Place",
    "Reader",
    "Uploads",
    "Words",
    "adopt_document",
    "carried_document",
    "check_carried",
    "doc_id_of",
    "language_of",
    "majority",
    "need_room",
    "outline_of",
    "refused",
    "rows_of",
    "unpack_tokens",
    "with_ordinals",
]
