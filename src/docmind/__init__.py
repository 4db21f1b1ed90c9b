"""DocMind: private document search and question answering on one person's own machine."""

import lazy_loader

from docmind.runtime import quiet

__version__ = "0.1.0"

quiet.apply()  # before any library is imported: most of them read their variables once

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
