"""What holds the processes that read documents on this computer, and what does not, in words."""

from __future__ import annotations

import sys

from docmind.errors import WorkerFailedError
from docmind.records.documents import Capability
from docmind.runtime import Way, isolation, landlock
from docmind.wording import N_, _

_NAME = "isolation of readers"
_FOLDERS_SINCE = 2  # the version of Landlock that lets Chromium have a folder
_WAYS: dict[Way, str] = {
    "namespace": N_("an empty network namespace"),
    "landlock": "Landlock {version}",
    "filter": N_("a filter of system calls"),
}


def isolation_capability() -> Capability:
    """Report what holds native code, seen in a child process that is started for this."""
    try:
        held = isolation()
    except WorkerFailedError as error:
        return Capability(_NAME, "missing", _("no child process can be started: {error}").format(error=error))
    version = landlock.version() if "landlock" in held else 0
    said, missing = _told(held, version)
    if not missing:
        return Capability(_NAME, "present", "; ".join(said))
    return Capability(_NAME, "missing", "; ".join([*said, *missing]), _hint(held))


def _told(held: tuple[Way, ...], version: int) -> tuple[list[str], list[str]]:
    """Return a sentence for each promise that is kept, and for each that is not."""

    def names(*ways: Way) -> str:
        return ", ".join(_(_WAYS[way]).format(version=version) for way in ways if way in held)

    said: list[str] = []
    missing: list[str] = []
    if not held:
        return said, [_("calls of Python are refused, those of native code are not")]
    if network := names("namespace", "filter"):
        said.append(_("no network: {names}").format(names=network))
    else:
        missing.append(_("native code may use the network"))
    if "filter" in held:
        said.append(_("no file is changed: {names}").format(names=names("landlock", "filter")))
    elif version:
        missing.append(_("native code may change mode, owner and times of files"))
    else:
        missing.append(_("native code may change files"))
    if version:
        said.append(_("no other file is read: {names}").format(names=names("landlock")))
    else:
        missing.append(_("native code may read your files"))
    if version < _FOLDERS_SINCE:
        missing.append(_("Chromium may change files outside of its folder"))
    return said, missing


def _hint(held: tuple[Way, ...]) -> str:
    if sys.platform != "linux":
        return _("Only Linux can hold the native code of a process that reads documents.")
    if "filter" not in held:
        return _("Let this user make network namespaces, or this process install seccomp filters.")
    return _("Linux 5.19 or newer with Landlock turned on (kernel parameter lsm) holds them to their files.")
