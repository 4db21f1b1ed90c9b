"""The vector index: Qdrant Edge in a child process, or a Qdrant server; blinding; sync with the vault."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
