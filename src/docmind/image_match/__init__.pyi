from .matcher import ImageMatcher

__all__ = [
    "ImageMatcher",
]
