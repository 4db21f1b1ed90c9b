"""DocMind: a private document desk on one person's own machine."""

__version__ = "0.1.0"
