"""Image models in a real browser: use, search, heat maps, and the app after a model is removed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from desks import environment_of, settings_in
from docmind.records.documents import Upload
from docmind.search.fusion import NEUTRAL
from docmind_testkit import COLOURS
from libraries import Library, confirm
from looking import album
from papers import line, pdf
from served import THEMES, App, Server, Tab, close_reader, read_page, tab, take, take_both
from tinymodels import tiny_colpali, tiny_siglip

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

SLOW_MS = 240_000  # torch is started in its own process, beside everything else that runs here
RED, GREEN, BLUE = "0.86 0.12 0.12 rg", "0.12 0.63 0.24 rg", "0.16 0.27 0.86 rg"


def chart(title: str, *bars: tuple[str, int, int]) -> str:
    """Return a page with a heading and bars: colour, left edge and height in points."""
    drawn = [f"{colour} {left} 380 100 {height} re f 0 g" for colour, left, height in bars]
    remarks = [line(f"Remark {n}: two new workshops were opened in spring.", y=340 - 24 * n, size=12) for n in range(8)]
    return "\n".join([line(title, y=715, size=22), *drawn, *remarks])


LANTERNS = pdf(
    [
        chart("Red lanterns sold: 41,000 pieces", (RED, 90, 290), (RED, 210, 240), (BLUE, 450, 40)),
        chart("Blue lanterns sold: 9,000 pieces", (BLUE, 90, 120), (BLUE, 330, 90)),
        chart("The deposit is two months' rent."),
    ]
)
GARDEN = pdf([chart("Green lanterns sold: 700 pieces", (GREEN, 430, 220)), chart("Herons nest in tall trees.")])


PAPERS = Library("image models", [Upload("lanterns.pdf", LANTERNS), Upload("garden.pdf", GARDEN)], confirm, settings_in)
BARS = Library("bars", [Upload("lanterns.pdf", LANTERNS)], confirm, settings_in)
HUES = ["red", "green", "blue", "yellow", "brown", "purple"]
COLOURFUL = Library(
    "colours",
    [album("colours", *HUES), Upload("lease.pdf", pdf([line("The deposit is two months' rent.", size=12)]))],
    confirm,
    settings_in,
)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Make a folder with a tiny model of each kind, where fetched ones would be."""
    folder = tmp_path / "models"
    for name, make in (("siglip", tiny_siglip), ("colpali", tiny_colpali)):
        (folder / name).mkdir(parents=True)
        make(folder / name)
    return folder


@contextmanager
def serve(folder: Path, library: Library, **environment: str) -> Iterator[Server]:
    """Run the app over a copy of a library, with the models of the folder beside it."""
    named = {"DOCMIND_VISUAL__MODELS_DIR": str(folder / "models"), **environment}
    server = App(folder, library=library, **environment_of(folder, **named))
    server.start()
    try:
        yield server
    finally:
        server.stop()
    assert "Traceback" not in server.log()


def press(one: Tab, key: str) -> None:
    one.page.locator(f".st-key-{key} button:visible").first.click()
    one.idle()


def press_until(one: Tab, key: str, told: Any) -> None:
    """Press a button until an element appears: a redraw under the pointer can lose a press."""
    from playwright.sync_api import TimeoutError as NotThereError

    for _ in range(6):
        if one.page.locator(f".st-key-{key}").count():
            press(one, key)
        try:
            told.wait_for(timeout=10_000)
            return
        except NotThereError:
            continue
    told.wait_for(timeout=1)


def badges(one: Tab, number: int) -> set[str]:
    """Return all lists that found the pages under this turn."""
    hits = one.page.locator(f'[class*="st-key-turn-{number}-found-hit-"]')
    hits.first.wait_for(timeout=SLOW_MS)
    one.idle()
    return {word for hit in hits.all() for word in hit.inner_text().split() if word in ("words", "look", "parts")}


def unfold(one: Tab) -> Any:
    """Open the pages of all lists under the last answer, and return the expander."""
    one.page.get_by_text("Pages by words and by look").last.click()
    one.idle()
    return one.page.locator('[data-testid="stExpander"]', has_text="Pages by words and by look").last


def glow(picture: Image.Image) -> np.ndarray:
    """Return (n, 2) rows and columns in 0..1 of white paper that has the colour of heat."""
    pixels = np.asarray(picture.convert("RGB"), np.int32)
    rows, cols = np.nonzero((pixels[..., 0] > 225) & (pixels[..., 0] - pixels[..., 1] > 60) & (pixels[..., 2] > 90))
    return np.stack([rows / picture.height, cols / picture.width], axis=1)


def test_lists_are_fused_heat_is_shown_and_models_may_go_away(browser: Any, tmp_path: Path, models: Path) -> None:
    """Torch and two models run in a process of their own, which is most of what this costs."""
    with serve(tmp_path, PAPERS) as server, tab(browser, server) as one:
        one.enter()
        one.section("Search")
        for name in ("siglip", "colpali"):
            card = one.page.locator(f".st-key-model-{name}")
            press_until(one, f"disable-{name}", card.get_by_text("here, not in use"))
            press_until(one, f"enable-{name}", card.locator(f".st-key-disable-{name}"))
        one.page.locator(".st-key-model-siglip").get_by_text("5 of 5 pages done").wait_for(timeout=SLOW_MS)

        one.go("Documents")
        dialog = one.page.get_by_role("dialog")
        press_until(one, "embed-offer", dialog)
        assert "has not been measured" in dialog.inner_text()
        dialog.get_by_role("button", name="Start").click()
        one.page.get_by_text("Every page has been looked at by colpali").wait_for(timeout=SLOW_MS)
        assert "5 pages looked at with colpali" in one.page.locator('[class*="st-key-embedding-"]').first.inner_text()

        one.go("Ask")
        one.ask("How many red lanterns were sold?")
        told = unfold(one)
        assert "words" in badges(one, 0), told.inner_text()
        assert re.search(r"look 5 in .* parts 5 in ", told.inner_text()), "both models were asked"
        assert "Without" not in told.inner_text()
        one.page.locator('[class*="st-key-turn-0-1-heat"] label').first.click()
        hot = one.page.get_by_alt_text("heat map").first
        hot.wait_for(timeout=SLOW_MS)
        assert len(glow(one.picture(hot))), "no colour on the page"

        for name in ("siglip", "colpali"):
            shutil.rmtree(models / name)
        one.ask("How much is the deposit?")
        assert "The deposit is two months" in one.page.locator(".st-key-turn-1").inner_text()
        told = unfold(one)
        assert badges(one, 1) == {"words"}, "words find as before"
        assert "Without look: siglip cannot be used" in told.inner_text()
        assert "Without parts: colpali cannot be used" in told.inner_text()
        one.page.locator('[class*="st-key-turn-1-1-heat"] label').first.click()
        one.page.locator('.st-key-turn-1 [data-testid="stAlert"]', has_text="colpali cannot be used").wait_for()
        one.section("Search")
        one.page.get_by_text(re.compile("not fetched|its files are gone")).first.wait_for()


def test_heat_is_at_the_word_and_keeps_the_grids_shape(browser: Any, tmp_path: Path) -> None:
    """With fakes that see colours: the word "red" is answered by the red bars."""
    named = {"DOCMIND_VISUAL__IMAGE_MODEL": "fake-image", "DOCMIND_VISUAL__LATE_MODEL": "fake-late"}
    with serve(tmp_path, BARS, **named) as server, tab(browser, server) as one:
        one.open("Documents")
        press(one, "embed-offer")
        one.page.get_by_role("button", name="Start").click()
        one.page.get_by_text("Every page has been looked at by fake-late").wait_for()
        one.go("Ask")
        one.ask("How many red lanterns were sold?")
        unfold(one)
        badges(one, 0)
        one.page.locator(".st-key-turn-0-found-hit-1 a").last.click()
        dialog = read_page(one, 1)
        dialog.get_by_role("button", name="Heat map").click()
        dialog.get_by_alt_text("heat map").wait_for()
        dialog.get_by_role("button", name="red", exact=True).click()
        hot = dialog.get_by_alt_text("heat map for red: strongest at the")
        hot.wait_for()
        for theme in THEMES:
            one.wear(theme)
            take(one, f"heat-{theme}")
            place = glow(one.picture(hot))
            assert len(place), f"no colour on the page, {theme}"
            assert place[:, 1].mean() < 0.5, f"the red bars stand on the left, {theme}"
        one.page.keyboard.press("ArrowRight")
        read_page(one, 2)
        close_reader(one)
        one.section("Search")
        one.page.get_by_text("Visual models").evaluate("heading => heading.scrollIntoView()")
        take_both(one, "seeing")
        one.page.set_viewport_size({"width": 390, "height": 800})
        for path in ("/settings?section=Search", "/documents"):
            one.page.goto(f"{one.url}{path}")
            one.page.locator("h1").first.wait_for()
            for theme in THEMES:
                one.wear(theme)
                assert not one.sideways(), (path, theme, one.sideways())


RED = "Which page is red?"


def aim(folder: Path, pictures: list[Image.Image], at: int, question: str) -> None:
    """Set the weights of a tiny SigLIP so that this question means one of these pictures, and any page the last one."""
    from safetensors.torch import load_file, save_file
    from torch import eye, from_numpy, zeros_like

    from docmind.embedding.siglip import Siglip

    weights = load_file(folder / "model.safetensors")

    def write(head: Any) -> Siglip:
        weights["text_model.head.weight"] = head
        weights["text_model.head.bias"] = zeros_like(weights["text_model.head.bias"])
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        return Siglip(folder, "siglip", device="cpu", precision="float32")

    model = write(eye(len(weights["text_model.head.bias"])))
    texts = np.stack([model.text(text) for text in (question, NEUTRAL)])
    meant = np.linalg.pinv(model.images(pictures)) @ np.eye(len(pictures), dtype=np.float32)[:, [at, -1]]
    write(from_numpy((meant @ np.linalg.pinv(texts.T)).astype(np.float32)))


def test_a_wordless_page_is_found_and_shown_in_chat(browser: Any, tmp_path: Path, models: Path) -> None:
    """A tiny SigLIP, aimed at the red page by its weights: it shows the way of a page, not the quality of a model."""
    aim(models / "siglip", [Image.new("RGB", (200, 280), COLOURS[hue]) for hue in [*HUES, "white"]], 0, RED)
    with serve(tmp_path, COLOURFUL) as server, tab(browser, server) as one:
        one.enter()
        one.section("Search")
        card = one.page.locator(".st-key-model-siglip")
        press_until(one, "enable-siglip", card.locator(".st-key-disable-siglip"))
        card.get_by_text("7 of 7 pages done").wait_for(timeout=SLOW_MS)
        one.go("Ask")
        one.ask(RED)
        turn = one.page.locator(".st-key-turn-0")
        assert "No passage answers it. Pages found by their look:" in turn.inner_text()
        source = turn.locator('[class*="-source-1"]')
        source.get_by_text("found by its look").wait_for()
        picture = one.picture(source.get_by_alt_text("found by its look"))
        assert picture.resize((1, 1)).getpixel((0, 0)) == pytest.approx(COLOURS["red"], abs=30)
        take_both(one, "found-by-its-look")
        source.get_by_role("link", name="Page 1 · colours").click()
        assert "colours.tiff" in read_page(one, 1).inner_text()
        close_reader(one)

        one.page.locator(".st-key-filters button:visible").first.click()
        one.page.get_by_role("button", name="Words").or_(one.page.get_by_role("radio", name="Words")).first.click()
        one.idle()
        take_both(one, "search-by")
        one.page.keyboard.press("Escape")
        one.ask("Which page is blue?")
        assert "found by its look" not in one.page.locator(".st-key-turn-1").inner_text()
        assert "by words" in one.page.locator(".st-key-filters").inner_text()
