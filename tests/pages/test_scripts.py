"""The scripts in `pages`: the app of a checkout runs them, and what they draw lies in the package."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from streamlit.testing.v1 import AppTest

from conftest import ROOT
from docmind.ui.app.app_state import app_state
from docmind.ui.page_scripts import start_script

SCRIPTS = sorted((ROOT / "pages").glob("*.py"))
_MOST_LINES = 12


@pytest.fixture(autouse=True)
def vault(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DOCMIND_EMBEDDING__MODEL", "fake")
    monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "off")
    app_state.clear()
    yield
    app_state.clear()


@pytest.mark.slow
def test_the_app_of_a_checkout_runs_every_script_of_pages() -> None:
    ran: set[str] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_name == "<module>":
            ran.add(frame.f_code.co_filename)

    threading.setprofile(note)  # Streamlit runs a page in a thread of its own
    try:
        test = AppTest.from_file(str(start_script()), default_timeout=60).run()
        for script in SCRIPTS:
            if script != start_script():
                assert not test.switch_page(script.name).run().exception
    finally:
        threading.setprofile(None)
    assert {str(script) for script in SCRIPTS} <= ran


def test_a_script_of_a_page_is_a_few_lines() -> None:
    assert {script.stem for script in SCRIPTS} >= {"start", "chat", "documents", "settings"}
    for script in SCRIPTS:
        assert len(script.read_text("utf-8").splitlines()) <= _MOST_LINES, script.name
