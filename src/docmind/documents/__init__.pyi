from .carrying import TABLES, CarriedDocument, adopt_document, carried_document, check_carried, doc_id_of, rows_of
from .catalog import Catalog, PageRecord
from .chunk_store import NodeRecord, NodeStore
from .edits import Edits
from .erasures import LEAST_NAME, Erasure, ErasurePlan, Erasures
from .language import language_of, majority, with_ordinals
from .page_images import IMAGE_SUFFIX, PageList, Place
from .page_vectors import PageVectors
from .reader import LONGEST_SEARCH, Reader
from .segments import (
    HeldDocument,
    NewSegment,
    Segment,
    Segments,
    carried_in,
    held_documents,
    held_of,
    new_key,
    rows_in,
    segment_of,
)
from .titles import outline_of
from .uploads import HandedIn, Uploads, need_room, refused
from .words import Words

__all__ = [
    "IMAGE_SUFFIX",
    "LEAST_NAME",
    "LONGEST_SEARCH",
    "TABLES",
    "CarriedDocument",
    "Catalog",
    "Edits",
    "Erasure",
    "ErasurePlan",
    "Erasures",
    "HandedIn",
    "HeldDocument",
    "NewSegment",
    "NodeRecord",
    "NodeStore",
    "PageList",
    "PageRecord",
    "PageVectors",
    "Place",
    "Reader",
    "Segment",
    "Segments",
    "Uploads",
    "Words",
    "adopt_document",
    "carried_document",
    "carried_in",
    "check_carried",
    "doc_id_of",
    "held_documents",
    "held_of",
    "language_of",
    "majority",
    "need_room",
    "new_key",
    "outline_of",
    "refused",
    "rows_in",
    "rows_of",
    "segment_of",
    "with_ordinals",
]
