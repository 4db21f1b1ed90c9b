"""Network access: the egress rule and its connections, the guard of native code, and web search."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
