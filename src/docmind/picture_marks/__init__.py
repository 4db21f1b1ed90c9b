"""The marks of a picture, from its pixels alone: codes with places, by which a page is found again.

They are made where the pixels are: of a page while it is read, and of a picture that is searched for.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
