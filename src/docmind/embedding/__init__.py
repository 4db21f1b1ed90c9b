"""Text and image embedding models, chunking, and BM25 terms; nothing is loaded before it is used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
