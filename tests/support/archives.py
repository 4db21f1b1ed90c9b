"""Zip archives for tests."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

from docmind.records.documents import Upload


def packed(files: Mapping[str, bytes | str]) -> bytes:
    """Return an archive of these files by name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def archive(name: str, files: Mapping[str, bytes | str], **more: object) -> Upload:
    """Return an archive of these files as it is handed in."""
    return Upload(name, packed(files), **more)  # type: ignore[arg-type]
