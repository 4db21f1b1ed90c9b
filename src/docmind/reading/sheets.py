"""The form of a page that is stored as a sheet, from which it is drawn, in place of a picture.

Only what tells the two apart is here, for the owner, which draws nothing: sheets are made and drawn by
`docmind.reading.formats.typeset` in child processes.
"""

from __future__ import annotations

SHEET = b"DMSH\x01"
"""The first bytes of a sheet, with the version of its form:

SHEET, then as zlib the JSON of `{width, height, tall, lines: [[face, x, y, text], ...]}`; `width` and `height` are
those of the picture in pixels, `tall` is the height of the layout (of a whole sheet where it is absent), `x` and `y`
are those of a line in the layout. A sheet with figures has `pictures: [[x, y, width, height, digest], ...]` too: places
in the layout, and the digest (`docmind.reading.figures.digest_of`) of the picture that belongs there.
"""


def is_sheet(data: bytes) -> bool:
    """Return whether these are the bytes of a sheet, not of a picture."""
    return data.startswith(SHEET)
