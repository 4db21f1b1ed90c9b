from .artifacts import ORIGINAL, Artifacts, Label, Sealable, unseal_labelled
from .bundle_file import DATABASE, KEYSET, MANIFEST, BundleReader, BundleWriter, Report
from .data_folder import LATE, STAGED, check_folder, own_files, remove_strays
from .database import Connection, Database, Row, check_whole, dbapi2, key_that_opens, schema_of
from .files import (
    OPENING,
    Reserve,
    check_room,
    disk_error,
    free_bytes,
    is_disk_full,
    is_folder,
    is_regular,
    keep_private,
    open_own,
    read_own,
    reading,
    replacing,
    write_private,
)
from .keys import SHORTEST_PASSPHRASE, AskPassphrase, Keyset, OpenedKeys, change_passphrase, derive, open_keys
from .lock import OwnerLock, hold
from .mark import Mark
from .migrations import MIGRATIONS
from .preferences import Preferences
from .user_settings import SETTABLE, UserSettings
from .wish_list import can_wish, wish, wishes

__all__ = [
    "DATABASE",
    "KEYSET",
    "LATE",
    "MANIFEST",
    "MIGRATIONS",
    "OPENING",
    "ORIGINAL",
    "SETTABLE",
    "SHORTEST_PASSPHRASE",
    "STAGED",
    "Artifacts",
    "AskPassphrase",
    "BundleReader",
    "BundleWriter",
    "Connection",
    "Database",
    "Keyset",
    "Label",
    "Mark",
    "OpenedKeys",
    "OwnerLock",
    "Preferences",
    "Report",
    "Reserve",
    "Row",
    "Sealable",
    "UserSettings",
    "can_wish",
    "change_passphrase",
    "check_folder",
    "check_room",
    "check_whole",
    "dbapi2",
    "derive",
    "disk_error",
    "free_bytes",
    "hold",
    "is_disk_full",
    "is_folder",
    "is_regular",
    "keep_private",
    "key_that_opens",
    "open_keys",
    "open_own",
    "own_files",
    "read_own",
    "reading",
    "remove_strays",
    "replacing",
    "schema_of",
    "unseal_labelled",
    "wish",
    "wishes",
    "write_private",
]
