from .jobs import IngestQueue, Progress
from .library import Library, one_named
from .llama_nodes import WindowParser
from .pipeline import Ingest

__all__ = [
    "Ingest",
    "IngestQueue",
    "Library",
    "Progress",
    "WindowParser",
    "one_named",
]
