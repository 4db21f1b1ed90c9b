"""Image matching without a model: the page that a picture shows, and the place on it.

    picture --marks--> 64-bit codes, each at a place --votes--> pages where they agree on one place --verify--> score

`marks` are computed from the pixels alone: from runs of words (separated, never read), from spots such as corners in a
figure, and from the sheet as a whole. Everything that decodes or draws a picture runs in a child process: `process`,
with its `client`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
