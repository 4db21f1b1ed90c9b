"""The colours of the app's own styles."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import docmind.ui.app
from conftest import ROOT

LOOKS = (Path(docmind.ui.app.__file__).parent / "looks.css").read_text("utf-8")


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour as WCAG 2.2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize(("theme", "place"), [("light", 1), ("dark", 2)])
def test_the_name_on_the_side_bar_is_readable(theme: str, place: int) -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    papers = tomllib.loads((ROOT / "src/docmind/ui/app/streamlit.toml").read_text("utf-8"))["theme"]
    name = re.search(r'content: "DocMind";.*light-dark\((#\w{6}), (#\w{6})\)', LOOKS)
    assert name
    assert contrast(name[place], papers[theme]["sidebar"]["backgroundColor"]) >= 4.5
