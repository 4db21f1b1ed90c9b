"""The words of the interface in the user's language and those of answers in the question's, from gettext catalogues."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
