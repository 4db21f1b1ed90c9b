"""Files of visual models: the known models, their folder, their checks, and the download.

Nothing here loads a model. Only `docmind.model_files.download` opens a connection.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
