"""Folders of the user's disk whose files are documents: what is in them, and what of it the library has."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
