"""Untrusted text made safe to show: sanitized, parsed, rendered as Markdown, highlighted on page images."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
