from .folders import Folders
from .scan import files_below

__all__ = ["Folders", "files_below"]
