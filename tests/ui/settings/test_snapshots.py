"""Snapshots in Settings: over a real vault, without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from docmind.records.documents import Upload
from docmind.ui.app.app_state import app_state

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def vault(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "off")
    monkeypatch.setenv("DOCMIND_EMBEDDING__MODEL", "fake")
    app_state.clear()
    yield
    app_state.clear()


def page() -> None:
    from docmind.ui.app.app_state import app_state
    from docmind.ui.settings import snapshots

    snapshots.section(app_state().open())


def settled(test: AppTest) -> AppTest:
    """Wait for the work that a button started, and draw the page again."""
    going = app_state().work("snapshot")
    assert going is not None
    assert going.ends.wait(60)
    return test.run()


def words_of(test: AppTest) -> str:
    drawn = (*test.markdown, *test.caption, *test.success, *test.error)
    return "\n".join(one.value for one in drawn).replace("\\", "")  # escaped dots


def test_a_snapshot_is_taken_compared_gone_back_to_and_deleted() -> None:
    docmind = app_state().open()
    docmind.add([Upload("herons.txt", b"Herons nest in tall trees.")])
    test = AppTest.from_function(page, default_timeout=60).run()
    assert "There are no snapshots yet." in words_of(test)
    test.text_input("snapshot-title").input("Before the otters")
    settled(next(button for button in test.button if button.label == "Take a snapshot").click().run())
    test.run()
    assert "Before the otters" in words_of(test)
    (info,) = docmind.snapshots.list()
    docmind.add([Upload("otters.txt", b"Otters sleep under the bridge.")])
    test.button(f"compare-{info.snapshot_id}").click().run()
    assert "otters.txt" in words_of(test)
    test.button("snapshot-close").click().run()
    test.button(f"activate-{info.snapshot_id}").click().run()
    assert "so you can undo this" in words_of(test)
    settled(test.button("snapshot-yes").click().run())
    assert "The library is as it was: " in words_of(test)
    assert "1 document moved to the bin" in words_of(test)
    assert "automatic" in words_of(test)
    assert [one.document for one in docmind.documents.all()] == ["herons.txt"]
    test.button(f"pin-{info.snapshot_id}").click().run()
    assert docmind.snapshots.find("Before the otters").is_pinned
    test.button(f"delete-{info.snapshot_id}").click().run()
    test.button("snapshot-delete").click().run()
    assert [one.reason for one in docmind.snapshots.list()] == ["activating"]
    assert not test.exception


def test_an_error_is_said_and_nothing_is_changed() -> None:
    docmind = app_state().open()
    docmind.add([Upload("herons.txt", b"Herons nest in tall trees.")])
    info = docmind.snapshots.create("damaged")
    folder = docmind.settings.now.data_dir / "snapshots" / info.snapshot_id
    (folder / "manifest.jsonl").write_bytes(b"")
    test = AppTest.from_function(page, default_timeout=60).run()
    test.button(f"activate-{info.snapshot_id}").click().run()
    assert any("manifest" in one.value for one in test.error)
    assert not [button for button in test.button if button.key == "snapshot-yes"]
