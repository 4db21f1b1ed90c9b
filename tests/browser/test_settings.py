"""Settings in a real browser: set, fixed by the environment, tested, worn; and the server that ends."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm_server import serving
from served import THEMES, WAIT_MS, App, Server, Tab, tab, take

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
WITHOUT_MODELS = {"DOCMIND_EMBEDDING__MODEL": "fake", "DOCMIND_READING__OCR": "off", "DOCMIND_LLM__PROVIDER": ""}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = App(tmp_path, library=None, **WITHOUT_MODELS)
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()
    assert "MemoryCacheStorageManager" not in server.log()


@pytest.fixture
def restarted(server: Server, tmp_path: Path) -> Iterator[Server]:
    """Return the server of the next start, which is one by the command: its address differs from that of the first."""
    restarted = Server(tmp_path, **WITHOUT_MODELS)
    restarted.port, restarted.url = server.port, server.url
    yield restarted
    restarted.stop()


def choose(one: Tab, label: str, option: str) -> None:
    """Choose the option that begins with these words."""
    one.page.get_by_role("combobox", name=label).click()
    one.page.get_by_role("option", name=option).click()
    one.idle()


def to_section(one: Tab, name: str) -> None:
    """Open another section, from one of Settings."""
    one.page.get_by_role("tab", name=name).click()
    one.idle()


def has_background(one: Tab, colour: str) -> None:
    from playwright.sync_api import expect

    expect(one.page.locator('[data-testid="stApp"]')).to_have_css("background-color", colour, timeout=WAIT_MS)


def a_server_is_tried_before_it_is_used(one: Tab, url: str) -> None:
    one.section("Language model")
    address = one.page.get_by_label("Address", exact=True)
    address.fill("http://127.0.0.1:9")
    one.page.get_by_role("button", name="Test").click()
    one.page.get_by_text("cannot be reached").first.wait_for()
    address.fill(url)
    one.page.get_by_role("button", name="Test").click()
    one.page.get_by_text("answered in").wait_for()
    take(one, "settings-model-tested")
    one.page.get_by_label("API key", exact=True).fill("sk-not-shown")
    one.page.get_by_role("button", name="Save").click()
    one.page.get_by_role("button", name="Forget this server").wait_for()
    one.page.get_by_text("in use").first.wait_for()
    assert "sk-not-shown" not in one.page.content()


def a_value_is_set_and_another_is_fixed(one: Tab) -> None:
    to_section(one, "Answers")
    choose(one, "How answers are made", "Deep search")
    one.page.get_by_text("Saved").first.wait_for()
    to_section(one, "Reading")
    assert one.page.get_by_role("combobox", name="OCR engine").is_disabled()
    one.page.get_by_text("Set by DOCMIND_READING__OCR").first.wait_for()


def a_token_is_made_shown_once_and_revoked(one: Tab) -> str:
    """Return the token."""

    def status(secret: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", one.server.port, timeout=60)
        connection.request("GET", "/api/v1/counts", headers={"Authorization": f"Bearer {secret}"})
        return connection.getresponse().status

    to_section(one, "Programs")
    one.page.get_by_role("button", name="Make the token").click()
    one.page.get_by_text("A token needs a name").wait_for()
    one.page.get_by_label("Name of the program").fill("<b>script</b>")
    one.page.get_by_role("button", name="Make the token").click()
    one.page.get_by_text("it is not shown again").wait_for()
    found = re.search(r"docmind_[A-Za-z0-9_-]{43}", one.page.locator("body").inner_text())
    assert found
    assert status(found[0]) == 200
    take(one, "settings-programs")
    one.page.get_by_role("button", name="I have copied it").click()
    one.page.get_by_text("it is not shown again").wait_for(state="detached")
    one.page.get_by_text("<b>script</b>").wait_for()
    one.idle()
    assert found[0] not in one.page.content()
    one.page.get_by_text("Set up an assistant").click()
    one.page.get_by_text("mcpServers").wait_for()
    one.page.get_by_role("button", name="Revoke").click()
    one.page.get_by_role("button", name="Revoke").wait_for(state="detached")
    assert status(found[0]) == 401
    return found[0]


def the_theme_is_worn_at_once(one: Tab) -> None:
    to_section(one, "Appearance")
    has_background(one, THEMES["light"])
    choose(one, "Theme", "Dark")
    has_background(one, THEMES["dark"])
    one.page.get_by_role("combobox", name="Theme").wait_for()
    assert "section=Appearance" in one.page.url
    one.go("Documents")
    has_background(one, THEMES["dark"])


def a_closed_docmind_is_told_in_its_own_words(one: Tab, restarted: Server) -> None:
    one.server.stop()
    one.page.get_by_role("alert").get_by_text("DocMind was closed.").wait_for()
    one.page.get_by_text("python3 scripts/run_app.py").wait_for()
    one.page.wait_for_timeout(6_000)  # by then Streamlit has said so, too
    assert "Streamlit" not in one.page.locator("body").inner_text()
    take(one, "closed")
    restarted.start()
    one.page.get_by_text("This window may not see your documents yet").wait_for()  # until a window of this start
    fresh = one.page.context.new_page()
    fresh.goto(restarted.link())
    one.page.get_by_role("link", name="Settings").wait_for()
    fresh.close()
    one.complaints.clear()  # of the connection that was refused meanwhile


def what_was_set_is_kept(one: Tab) -> None:
    from playwright.sync_api import expect

    one.section("Answers")
    expect(one.page.get_by_role("combobox", name="How answers are made")).to_have_value(re.compile("Deep search"))
    one.page.evaluate("localStorage.clear()")  # the theme is that of the library, for every browser
    one.page.reload()
    has_background(one, THEMES["dark"])


def test_what_is_set_takes_effect_at_once_and_is_kept_over_a_restart(
    browser: Any, server: Server, restarted: Server
) -> None:
    with serving() as llm, tab(browser, server, color_scheme="light") as one:
        one.enter()
        a_server_is_tried_before_it_is_used(one, llm.url)
        a_value_is_set_and_another_is_fixed(one)
        token = a_token_is_made_shown_once_and_revoked(one)
        the_theme_is_worn_at_once(one)
        a_closed_docmind_is_told_in_its_own_words(one, restarted)
        what_was_set_is_kept(one)
    assert "sk-not-shown" not in server.log()
    assert token not in server.log()
