from .carrying import TABLES, CarriedDocument, adopt_document, carried_document, check_carried, doc_id_of, rows_of
from .catalog import Catalog, PageRecord, Version
from .chunk_store import NodeRecord, NodeStore, unpack_tokens
from .columns import (
    CHANGES,
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
from .corrections import Corrections, check_uncorrected, corrected, is_corrected
from .coverage import coverage_of, coverage_text, page_lines
from .edits import Edits
from .enclosed import DEEPEST, MOST_INSIDE, EnclosedFiles, adopt_enclosed, hand_over
from .erasures import LEAST_NAME, Erasure, ErasurePlan, Erasures, unreadable_erasures
from .figure_vectors import FigureVectors
from .figures import Figures, figure_quoted, figure_words, figures_told
from .language import language_of, likely_languages, majority, with_ordinals
from .line_edits import LineEdit, edited_corrections
from .page_images import IMAGE_SUFFIX, PageImageRef, PageList
from .page_vectors import PageVectors
from .passage_vectors import PassageRows, PassageVectors, digest_of, hash_of_text, unpack_passages
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
from .threads import is_answer, topic_of
from .titles import in_title_case, outline_of, sensible_title
from .uploads import QueuedFile, Uploads, need_room, refused
from .versions import (
    check_series,
    earlier_version,
    earlier_versions,
    join_series,
    say_no_version,
    say_versions,
    versions_in,
)
from .words import Words

__all__ = [
    "CHANGES",
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
    "Corrections",
    "Edits",
    "EnclosedFiles",
    "Erasure",
    "ErasurePlan",
    "Erasures",
    "FigureVectors",
    "Figures",
    "HeldDocument",
    "LineEdit",
    "NewSegment",
    "NodeRecord",
    "NodeStore",
    "PageImageRef",
    "PageList",
    "PageRecord",
    "PageVectors",
    "PassageRows",
    "PassageVectors",
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
    "check_series",
    "check_uncorrected",
    "compare_documents",
    "corrected",
    "coverage_of",
    "coverage_text",
    "digest_of",
    "doc_id_of",
    "earlier_version",
    "earlier_versions",
    "edited_corrections",
    "figure_quoted",
    "figure_words",
    "figures_told",
    "fitting_tags",
    "found_facts",
    "hand_over",
    "hash_of_text",
    "held_documents",
    "held_of",
    "in_title_case",
    "is_answer",
    "is_corrected",
    "is_readable",
    "join_series",
    "language_of",
    "likely_languages",
    "majority",
    "need_room",
    "new_key",
    "outline_of",
    "page_lines",
    "readable_artifacts",
    "readable_texts",
    "refused",
    "rows_in",
    "rows_of",
    "say_no_version",
    "say_versions",
    "segment_of",
    "sensible_title",
    "texts_of",
    "texts_to_find",
    "topic_of",
    "unpack_passages",
    "unpack_tokens",
    "unreadable_erasures",
    "versions_in",
    "with_ordinals",
]
