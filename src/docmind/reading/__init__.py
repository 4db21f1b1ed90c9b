"""Reading: files to pages by file type, format, OCR and Chromium, in separate processes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
