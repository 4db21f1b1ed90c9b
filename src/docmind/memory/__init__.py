"""Remembered facts in `vault.db`: the service, a LangGraph store, its vector table, and proposals."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
