"""Kinds of questions, extractive answers, and the verifier that ties each sentence of an answer to a span of a page."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
