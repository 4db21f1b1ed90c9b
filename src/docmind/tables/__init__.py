"""Questions over the tables of documents, answered by queries: typed columns, the query of a question, its answer."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
