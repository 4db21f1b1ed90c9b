from .folders import Folders
from .withheld import own_places
from .tree import Tree, TreeFile, WithheldError

__all__ = ["Folders", "Tree", "TreeFile", "WithheldError", "own_places"]
