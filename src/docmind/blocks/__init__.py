"""Blocks: what a reader gives of a file, for every format, and where they stand on a page.

A reader yields `Block` and `Table` in reading order, and counts in `Losses` what it saw and did not read. Pages are
laid out from them. A `PageBlock` is a part of a page's text that came from a block; the list of them is stored packed.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
