"""Late interaction: int8 multivectors of pages in files beside the vault, and MaxSim over them and over text."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
