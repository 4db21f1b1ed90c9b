"""Visual models: which are in use, embedding pages in the background, their vectors, similarity maps.

Heavy packages are imported when a model is used: a vault without one has no cost.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
