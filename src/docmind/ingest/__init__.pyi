from .folders import Folders
from .given import Given, Named, bounded, named_files, read_named, size_of_named
from .jobs import IngestQueue, Progress
from .library import Library, one_named
from .llama_nodes import WindowParser
from .pipeline import Ingest
from .replacing import Replacements
from .tree import Tree, TreeFile, WithheldError
from .web_pages import WebPages
from .withheld import own_places

__all__ = [
    "Folders",
    "Given",
    "Ingest",
    "IngestQueue",
    "Library",
    "Named",
    "Progress",
    "Replacements",
    "Tree",
    "TreeFile",
    "WebPages",
    "WindowParser",
    "WithheldError",
    "bounded",
    "named_files",
    "one_named",
    "own_places",
    "read_named",
    "size_of_named",
]
