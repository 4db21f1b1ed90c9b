"""A language model fetched from a hub of this machine and removed again, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import require
from docmind.model_files import KNOWN_FILES
from hub_server import HubServer, serving
from served import App, Server, tab, take_both
from smollm import LLAMA, gguf

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

KNOWN = KNOWN_FILES["qwen2.5-1.5b"].source
DATA = gguf(LLAMA, padding=4_000_000)


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with serving({KNOWN.repository: {KNOWN.file: DATA}}, delay_s=0.3) as hub:
        yield hub


@pytest.fixture
def server(browser: Any, tmp_path: Path, hub: HubServer) -> Iterator[Server]:
    import importlib.util

    require(importlib.util.find_spec("xllamacpp") is not None, "no xllamacpp (pip install xllamacpp)")
    server = App(
        tmp_path,
        DOCMIND_LLM__PROVIDER="inside",
        DOCMIND_VISUAL__MODELS_DIR=str(tmp_path / "models"),
        DOCMIND_VISUAL__HUB_URL=hub.url,
    )
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def test_fetched_after_consent_stopped_resumed_and_removed(
    browser: Any, server: Server, hub: HubServer, tmp_path: Path
) -> None:
    place = tmp_path / "models" / "language" / f"{KNOWN.name}.gguf"
    with tab(browser, server) as one:
        one.open("Settings")
        card = one.page.locator(".st-key-file-qwen2-5-1-5b")
        card.get_by_text("licence Apache-2.0").wait_for()
        take_both(one, "language-files")
        card.get_by_role("button", name="Fetch").click()
        dialog = one.page.get_by_role("dialog")
        dialog.get_by_text("DocMind will connect to").wait_for()
        assert not hub.received, "nothing is asked before consent"
        take_both(one, "language-file-consent")
        dialog.get_by_role("button", name="Fetch").click()
        card.get_by_role("button", name="Stop").click()
        card.get_by_text("The download was stopped").wait_for()
        assert not place.exists()
        hub.delay_s = 0.02
        card.get_by_role("button", name="Resume").click()
        dialog.get_by_role("button", name="Fetch").click()
        one.page.get_by_text("Inside DocMind · on this computer").wait_for()
        card.wait_for(state="detached")
        assert place.read_bytes() == DATA

        one.page.get_by_role("button", name="Remove").click()
        dialog.get_by_text("is deleted from the models folder").wait_for()
        take_both(one, "language-file-removal")
        dialog.get_by_role("button", name="Remove").click()
        one.page.get_by_text("No language model was found").wait_for()
        assert not place.exists()
        one.page.set_viewport_size({"width": 390, "height": 800})
        one.page.goto(f"{one.url}/settings")
        card.wait_for()
        one.idle()
        take_both(one, "language-files-phone")
