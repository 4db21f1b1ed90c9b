from .bundle import SUFFIX, Bundles

__all__ = [
    "SUFFIX",
    "Bundles",
]
