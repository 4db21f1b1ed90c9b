from .folders import Folders
from .tree import Tree, TreeFile, WithheldError
from .withheld import own_places

__all__ = ["Folders", "Tree", "TreeFile", "WithheldError", "own_places"]
