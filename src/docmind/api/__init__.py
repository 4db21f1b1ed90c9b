"""Interfaces for other programs, on the facade: LlamaIndex."""
