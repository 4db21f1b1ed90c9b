"""Checking the library in Settings: over a real vault, without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from docmind.records.documents import Upload
from docmind.ui.app.app_state import app_state


@pytest.fixture(autouse=True)
def vault(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DOCMIND_EMBEDDING__MODEL", "fake")
    monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "off")
    app_state.clear()
    yield
    app_state.clear()


def page() -> None:
    from docmind.ui.app.app_state import app_state
    from docmind.ui.settings import check

    check.section(app_state().open())


def pressed(test: AppTest, key: str) -> AppTest:
    """Press a button, and wait until the work that it starts is over."""
    test.button(key).click().run()
    work = app_state().work("check-library")
    assert work is not None
    assert work.ends.wait(60)
    test.run()
    assert not test.exception
    return test


@pytest.mark.slow
def test_what_is_found_is_told_and_repaired(data_dir: Path) -> None:
    docmind = app_state().open()
    docmind.add([Upload("owls.txt", b"Owls hunt at night.")])
    test = pressed(AppTest.from_function(page, default_timeout=60).run(), "check-now")
    assert [one.value for one in test.success] == ["All is well."]
    for image in (data_dir / "artifacts").glob("*.webp.enc"):
        image.unlink()
    (data_dir / "notes.txt").write_text("not DocMind's")
    test = pressed(test, "check-now")
    assert [one.value for one in test.warning] == ["Something is not as it should be."]
    assert [one.label for one in test.expander] == [
        "The picture of a page is missing. (1)",
        "The data folder holds a file that isn't DocMind's. (1)",
    ]
    test = pressed(test, "check-repair")
    assert [one.value for one in test.success] == ["1 finding was mended."]
    assert len(test.expander) == 1
    assert docmind.documents.page_image(docmind.documents.all()[0].doc_id, 1)


@pytest.mark.slow
def test_a_check_that_is_stopped_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    app_state().open()
    test = AppTest.from_function(page, default_timeout=60).run()
    begun = app_state().start(
        "check-library", lambda docmind, report: docmind.doctor.examine("deep", _stopping(report))
    )
    assert begun.ends.wait(60)
    test.run()
    assert not test.exception
    assert "Stopped" in test.error[0].value


def _stopping(report):  # type: ignore[no-untyped-def]
    def told(done: int, total: int) -> None:
        work = app_state().work("check-library")
        if work is not None:
            work.stop()
        report(done, total)

    return told
