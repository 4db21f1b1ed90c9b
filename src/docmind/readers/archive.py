"""Zip archives from strangers: what is inside is weighed before anything is unpacked."""

from __future__ import annotations

import io
import zipfile

from docmind.errors import CorruptFileError, TooLargeError
from docmind.readers import Rules
from docmind.schema import Upload

_MB = 1024 * 1024
_RATIO, _FROM = 300, 20 * _MB  # text in office files shrinks to a tenth or a fiftieth, never to a three-hundredth


def open_archive(upload: Upload, rules: Rules) -> zipfile.ZipFile:
    """The archive, once its declared sizes are found harmless.

    A member that unpacks to more than it declares fails its checksum in `zipfile`. Raises `TooLargeError` or
    `CorruptFileError`.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(upload.data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise CorruptFileError(f"{upload.name} is broken or was cut off.") from error
    members = archive.infolist()
    unpacked = sum(member.file_size for member in members)
    swollen = any(m.file_size > _FROM and m.file_size > _RATIO * max(1, m.compress_size) for m in members)
    if unpacked > rules.max_unpacked_mb * _MB or swollen:
        raise TooLargeError(
            f"{upload.name} unpacks to {unpacked / _MB:,.0f} MB, more than can be sound.",
            hint="Leave it out if you do not know its sender; else raise DOCMIND_READING__MAX_UNPACKED_MB.",
        )
    if any(member.flag_bits & 1 for member in members):
        raise CorruptFileError(f"{upload.name} holds parts that are locked.")
    return archive
