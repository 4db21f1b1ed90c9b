"""Rows of documents in `vault.db`: the catalogue, words, chunks, page images, page vectors, the upload queue."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
