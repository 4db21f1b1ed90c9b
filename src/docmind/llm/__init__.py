"""Language models that other programs serve, on this machine or on a host that the user has allowed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
