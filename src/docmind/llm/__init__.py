"""Language models: served by other programs, here or on an allowed host, or run inside DocMind from a GGUF file."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
