"""What an operator can see of DocMind at work: events, and the logs, metrics and traces made of them.

Never text of documents, questions, names or paths.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
