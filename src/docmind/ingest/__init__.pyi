from .jobs import IngestQueue, Progress
from .llama_nodes import WindowParser
from .pipeline import Ingest

__all__ = [
    "Ingest",
    "IngestQueue",
    "Progress",
    "WindowParser",
]
