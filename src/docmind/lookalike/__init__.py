"""Pages found by what they look like: a picture finds its page and the place on it, without any model.

    picture --marks--> 64-bit codes, each at a place --votes--> pages where they agree on one place --verify--> score

`marks` are made of the pixels alone: of runs of words (told apart, never read), of spots such as corners in a figure,
and of the sheet as a whole. Everything that decodes or draws a picture runs in a process of its own (`sight`, `serve`).
"""
