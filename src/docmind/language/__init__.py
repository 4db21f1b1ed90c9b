"""What is known of words in the languages of questions: their letters without accents and case, and their forms."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
