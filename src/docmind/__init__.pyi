from .application import DocMind
from .config import Settings
from .errors import DocMindError
from .records.answers import Answer, Sentence, Source
from .records.conversations import Mode, Thread, ThreadView, Turn
from .records.documents import AddResult, DocumentInfo, PageView, Status, Upload
from .records.search import Filters, Hit, MultimodalHit, MultimodalResult, PageHit, PageHits, SearchResult

__version__: str

__all__ = [
    "AddResult", "Answer", "DocMind", "DocMindError", "DocumentInfo", "Filters", "Hit", "Mode", "MultimodalHit",
    "MultimodalResult", "PageHit", "PageHits", "PageView", "SearchResult", "Sentence", "Settings", "Source", "Status",
    "Thread", "ThreadView", "Turn", "Upload",
]  # fmt: skip
