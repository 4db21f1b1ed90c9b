"""The facade of a DocMind that runs in another process, over its REST interface."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
