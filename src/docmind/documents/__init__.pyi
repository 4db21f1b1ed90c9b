from .carrying import TABLES, CarriedDocument, adopt_document, carried_document, check_carried, doc_id_of, rows_of
from .catalog import Catalog, PageRecord, Version
from .chunk_store import NodeRecord, NodeStore, unpack_tokens
from .columns import (
    CHANGES,
    COLUMNS,
    DECODED,
    DRAWN,
    EDITED,
    FACTS,
    FIELDS,
    MENUS,
    NAMES,
    Column,
    found_facts,
    is_readable,
    texts_to_find,
)
from .comparing import compare_documents
from .edits import Edits
from .enclosed import DEEPEST, MOST_INSIDE, EnclosedFiles, adopt_enclosed, hand_over
from .erasures import LEAST_NAME, Erasure, ErasurePlan, Erasures, unreadable_erasures
from .figures import Figures, figure_quoted, figure_words, figures_told
from .language import language_of, majority, with_ordinals
from .page_images import IMAGE_SUFFIX, PageImageRef, PageList
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
from .stored import artifact_of, readable_artifacts, readable_texts, texts_of
from .tags import fitting_tags
from .titles import outline_of
from .uploads import QueuedFile, Uploads, need_room, refused
from .versions import earlier_version, earlier_versions, join_series
from .words import Words

__all__ = [
    "CHANGES",
    "COLUMNS",
    "DECODED",
    "DEEPEST",
    "DRAWN",
    "EDITED",
    "FACTS",
    "FIELDS",
    "IMAGE_SUFFIX",
    "LEAST_NAME",
    "LONGEST_SEARCH",
    "MENUS",
    "MOST_INSIDE",
    "NAMES",
    "TABLES",
    "CarriedDocument",
    "Catalog",
    "Column",
    "Edits",
    "EnclosedFiles",
    "Erasure",
    "ErasurePlan",
    "Erasures",
    "Figures",
    "HeldDocument",
    "NewSegment",
    "NodeRecord",
    "NodeStore",
    "PageImageRef",
    "PageList",
    "PageRecord",
    "PageVectors",
    "QueuedFile",
    "Reader",
    "Segment",
    "Segments",
    "Uploads",
    "Version",
    "Words",
    "adopt_document",
    "adopt_enclosed",
    "artifact_of",
    "carried_document",
    "carried_in",
    "check_carried",
    "compare_documents",
    "doc_id_of",
    "earlier_version",
    "earlier_versions",
    "figure_quoted",
    "figure_words",
    "figures_told",
    "fitting_tags",
    "found_facts",
    "hand_over",
    "held_documents",
    "held_of",
    "is_readable",
    "join_series",
    "language_of",
    "majority",
    "need_room",
    "new_key",
    "outline_of",
    "readable_artifacts",
    "readable_texts",
    "refused",
    "rows_in",
    "rows_of",
    "segment_of",
    "texts_of",
    "texts_to_find",
    "unpack_tokens",
    "unreadable_erasures",
    "with_ordinals",
]
