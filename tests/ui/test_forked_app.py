"""The app that browser tests fork: each start is a process of its own, with nothing of the one before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conftest import require
from docmind.access import find_running, is_alive
from forked import can_fork
from served import App

pytestmark = [pytest.mark.slow]


def test_each_start_has_its_own_process_secrets_and_variables(tmp_path: Path) -> None:
    require(can_fork(), "only Linux can fork the app safely")
    folders = [tmp_path / "first", tmp_path / "second"]
    apps = []
    for folder, token in zip(folders, ("on", "off"), strict=True):
        folder.mkdir()
        apps.append(App(folder, DOCMIND_EMBEDDING__MODEL="fake", DOCMIND_APP__TOKEN=token))
        apps[-1].start()  # the first goes on
    try:
        assert apps[0].url != apps[1].url, "the port of an app that runs is not taken"
        first, second = (find_running(folder / "data") for folder in folders)
        assert first is not None
        assert second is not None
        assert len({first.secret, second.secret}) == 2
        assert len({first.pid, second.pid, os.getpid()}) == 3
        assert (first.is_token_required, second.is_token_required) == (True, False)
        assert all(is_alive(app) for app in (first, second))
        apps[0].kill()
        assert not is_alive(first)
        assert is_alive(second)
        apps[0].start()  # over the lock of the one that was killed
        again = find_running(folders[0] / "data")
        assert again is not None
        assert again.secret != first.secret
    finally:
        for app in apps:
            app.stop()
    assert not (folders[1] / "data" / "app.json").exists(), "it ends as the command does"
    for app in apps:
        assert "Traceback" not in app.log()
        assert "MemoryCacheStorageManager" not in app.log(), "a page was imported before the server ran"
