from .folders import Folders
from .given import Given, Named, bounded, named_files, read_named, size_of_named
from .tree import Tree, TreeFile, WithheldError
from .withheld import own_places

__all__ = [
    "Folders",
    "Given",
    "Named",
    "Tree",
    "TreeFile",
    "WithheldError",
    "bounded",
    "named_files",
    "own_places",
    "read_named",
    "size_of_named",
]
