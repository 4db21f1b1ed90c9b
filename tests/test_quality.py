"""Whether a text layer is to be trusted."""

from __future__ import annotations

import numpy as np
import pytest

from docmind import quality

PROSE = "The parties agree that this contract is governed by the laws of the State of New York. " * 3


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        "Net sales $ 1,204.5 (33.5)% — 2021 2022\n" * 5,
        "A presente lei dispõe sobre a proteção de dados, nº 13.709/2018 (art. 1º).",
        "انواع الخطوط العربية",
        "적립 제외 대상 무이자할부",
        "Contents ........ 4 Summary ........ 9",
    ],
)
def test_language_and_figures_are_plausible(text: str) -> None:
    assert quality.plausibility(text) > 0.9


@pytest.mark.parametrize(
    "text", ['"7+%-', "\ue001\ue002\ue003 \ue004\ue005", "#$%& '()* +,-./ :;<=>", "bcdfg hjklm " * 40]
)
def test_garbage_is_not(text: str) -> None:
    assert quality.plausibility(text) < 0.5


def test_what_goes_to_ocr() -> None:
    header = "Case 2:18-cv-12857 ECF No. 1 filed 09/13/18 Page 1 of 16"
    verdicts = {
        "blank": quality.needs_ocr("", 0, 0, 0, is_blank=True),
        "scan": quality.needs_ocr("", 0, 1.0, 0.4, is_blank=False),
        "scan under a header line": quality.needs_ocr(header, 0.02, 1.0, 0.4, is_blank=False),
        "short scan under a header line": quality.needs_ocr(header, 0.02, 1.0, 0.09, is_blank=False),
        "prose": quality.needs_ocr(PROSE, 0.3, 0.0, 0.02, is_blank=False),
        "a slide on a picture": quality.needs_ocr(header, 0.3, 1.0, 0.5, is_blank=False),
        "a banner over a short notice": quality.needs_ocr(header * 5, 0.1, 0.53, 0.13, is_blank=False),
        "a page number": quality.needs_ocr("vi", 0.01, 0.0, 0.0, is_blank=False),
        "a figure with a page number": quality.needs_ocr("17", 0.01, 0.3, 0.3, is_blank=False),
        "garbage": quality.needs_ocr('"7+%- (&$#!', 0.3, 0.0, 0.0, is_blank=False),
    }
    assert [name for name, goes in verdicts.items() if goes] == [
        "scan",
        "scan under a header line",
        "short scan under a header line",
        "a figure with a page number",
        "garbage",
    ]


def test_shares_by_hand() -> None:
    grey = np.full((80, 80), 255, np.uint8)
    grey[:8, :8] = 0
    grey[40:48, 40:48] = 0
    assert quality.unread_share(grey, np.empty((0, 4))) == pytest.approx(2 / 100)
    assert quality.unread_share(grey, np.array([[0, 0, 8, 8]])) == pytest.approx(1 / 100)
    assert quality.lines_share(np.array([[0, 0, 50, 9], [60, 0, 10, 9]]), 100) == pytest.approx(0.1)
