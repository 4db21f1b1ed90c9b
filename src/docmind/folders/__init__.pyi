from .folders import Folders

__all__ = ["Folders"]
