"""Processes and threads: child workers and their sandbox, deadlines, priorities, logging, optional extras."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
