"""The vault on disk: keys, sealed artifacts, the database, the owner lock, the high-water mark, the data folder."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
