"""DocMind's own places on the disk, which are no documents: key files, and folders of configuration, cache and data.

A place is known by its device and number, so that no link, second name or mounted twin of it is taken for another one.
The data folder of another library is known by what it holds (`docmind.ingest.tree`), a key file anywhere by its
contents (`docmind.storage.is_key_file`).
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from docmind.config import Settings
from docmind.model_files import default_cache_dir, models_dir_of
from docmind.storage import default_key_folder

Identity = tuple[int, int]
"""Device and number of a file or folder."""


def identity_of(told: os.stat_result) -> Identity:
    """Return the identity of what was told of a file or folder."""
    return told.st_dev, told.st_ino


def own_places(settings: Settings) -> frozenset[Identity]:
    """Return the identities of what is there now of this library's places, and of those that libraries share."""
    places: list[Path | None] = [
        settings.data_dir,
        settings.keys.file,
        default_key_folder(),
        settings.cache_dir,
        default_cache_dir(),
        models_dir_of(settings),
    ]
    found = set[Identity]()
    for place in filter(None, places):
        with suppress(OSError):  # not there
            found.add(identity_of(os.stat(place.expanduser())))
    return frozenset(found)
