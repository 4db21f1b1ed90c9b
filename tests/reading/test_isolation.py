"""What `docmind status`, `docmind doctor` and Settings say of what holds reading processes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conftest import require
from docmind.application import DocMind
from docmind.capabilities import of
from docmind.config import Settings
from docmind.reading import isolation_capability
from docmind.records.documents import Capability
from docmind.runtime import Way, isolation, landlock
from each import each_of


def test_status_and_doctor_say_what_holds(docmind: DocMind, data_dir: Path) -> None:
    told = isolation_capability()
    assert told in of(Settings.load(), "file")
    assert told in docmind.doctor.examine().readers


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds native code")
def test_here_all_of_it_holds() -> None:
    require(len(isolation()) == 3 and landlock.version() >= 2, "this system lacks one of the three mechanisms")
    assert isolation_capability() == Capability(
        "isolation of readers",
        "present",
        "no network: an empty network namespace, a filter of system calls; "
        f"no file is changed: Landlock {landlock.version()}, a filter of system calls; "
        f"no other file is read: Landlock {landlock.version()}",
    )


FOLDERS = "Chromium may change files outside of its folder"
NO_LANDLOCK = f"native code may read your files; {FOLDERS}"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds native code")
@each_of(
    "held, version, told",
    [
        (("landlock", "filter"), 1, FOLDERS),
        (("namespace", "filter"), 0, f"no file is changed: a filter of system calls; {NO_LANDLOCK}"),
        (("namespace", "landlock"), 7, "native code may change mode, owner and times of files"),
        (("landlock",), 7, "native code may use the network; native code may change mode"),
        (("namespace",), 0, f"namespace; native code may change files; {NO_LANDLOCK}"),
        ((), 0, "calls of Python are refused, those of native code are not"),
    ],
)
def test_what_does_not_hold_is_said(
    monkeypatch: pytest.MonkeyPatch, held: tuple[Way, ...], version: int, told: str
) -> None:
    monkeypatch.setattr("docmind.reading.isolation.isolation", lambda: held)
    monkeypatch.setattr("docmind.runtime.landlock.version", lambda: version)
    found = isolation_capability()
    assert found.state == "missing"
    assert told in found.detail
    assert ("seccomp" if "filter" not in held else "Landlock") in found.hint
