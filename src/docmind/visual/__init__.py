"""Models that look at pages: which are in use, what they made of the pages, and searching it.

Nothing heavy is imported before a model is used: a vault without one pays nothing.
"""
