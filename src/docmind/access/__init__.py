"""Access to the running app: one-time tickets, the session cookie, and the file that `docmind open` reads."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
