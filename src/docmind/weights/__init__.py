"""Weights of models that look at pages: which are known, which are here, and fetching one when the user says so.

Nothing here loads a model. Only `docmind.weights.pull` opens a connection.
"""

from docmind.weights.description import Description
from docmind.weights.known import KNOWN, Known
from docmind.weights.store import Weights, default_cache_dir, models_dir_of

__all__ = ["KNOWN", "Description", "Known", "Weights", "default_cache_dir", "models_dir_of"]
