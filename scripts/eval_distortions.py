"""Pages of a vault, distorted: how often each is found again. A part of `bench_looks.py`."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from docmind.application import DocMind
from docmind.config import KeySettings, Settings
from docmind.lookalike.sighting import Sightings

Distortion = Callable[[Image.Image], bytes]
_ORIENTATION = 0x0112  # the EXIF tag


def evaluate_distortions(vault: Path, sample: int) -> None:
    """Print R@1, R@5 and the share that is said to be found, for each distortion of the same pages."""
    settings = Settings(data_dir=vault / "data", keys=KeySettings(file=vault / "key"))
    with DocMind(settings) as desk:
        desk.lookalike.catch_up()
        places = [(info.doc_id, number + 1) for info in desk.documents() for number in range(info.pages)]
        places.sort()
        chosen = places[:: max(1, len(places) // sample)][:sample]
        print(
            f"{len(chosen)} of {len(places)} pages\n{'distortion':24} {'R@1':>6} {'R@5':>6} {'found':>6} {'median':>9}"
        )
        pages = [(place, Image.open(io.BytesIO(desk.page_image(*place))).convert("RGB")) for place in chosen]
        for name, distort in DISTORTIONS.items():
            ranks, found, times = [], 0, []
            for place, page in pages:
                picture = distort(page)
                started = time.perf_counter()
                result = desk.lookalike.search(picture, k=5)
                times.append(time.perf_counter() - started)
                ranks.append(_rank(place, result))
                found += result.found and ranks[-1] == 1
            first, five = sum(rank == 1 for rank in ranks), sum(0 < rank <= 5 for rank in ranks)
            median = sorted(times)[len(times) // 2] * 1000
            print(
                f"{name:24} {first / len(ranks):6.2f} {five / len(ranks):6.2f} {found / len(ranks):6.2f}"
                f" {median:6.0f} ms",
                flush=True,
            )


def _rank(place: tuple[str, int], result: Sightings) -> int:
    """Pages that share one image share its rank too."""
    scores = {(hit.doc_id, hit.page_no): (hit.rank, hit.score) for hit in result.hits}
    return scores[place][0] if place in scores else 0


def _png(page: Image.Image) -> bytes:
    return _saved(page, "PNG")


def _saved(page: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    page.save(out, kind, **options)
    return out.getvalue()


def _exif(orientation: int) -> Distortion:
    turns = {3: Image.Transpose.ROTATE_180, 6: Image.Transpose.ROTATE_90, 8: Image.Transpose.ROTATE_270}

    def saved(page: Image.Image) -> bytes:
        """Stored turned, with the tag that says so, as a phone does."""
        tag = Image.Exif()
        tag[_ORIENTATION] = orientation
        return _saved(page.transpose(turns[orientation]), "JPEG", quality=85, exif=tag)

    return saved


def _turned(degrees: float) -> Distortion:
    return lambda page: _png(page.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=(120, 110, 100)))


def _aslant(depth: float) -> Distortion:
    """The upper edge `depth` shorter on either side, on a table."""

    def bent(page: Image.Image) -> bytes:
        width, height = page.size
        here = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
        inset = depth * width
        there = np.array([[inset, inset / 2], [width - inset, 0], [width, height], [0, height - inset / 3]], np.float32)
        matrix = cv2.getPerspectiveTransform(here, there)
        return _png(
            Image.fromarray(cv2.warpPerspective(np.asarray(page), matrix, page.size, borderValue=(120, 110, 100)))
        )

    return bent


def _blurred(sigma: float) -> Distortion:
    return lambda page: _png(Image.fromarray(cv2.GaussianBlur(np.asarray(page), (0, 0), sigma)))


def _sized(side: int) -> Distortion:
    def sized(page: Image.Image) -> bytes:
        scale = side / max(page.size)
        size = (max(1, round(page.width * scale)), max(1, round(page.height * scale)))
        return _saved(page.resize(size, Image.Resampling.LANCZOS), "JPEG", quality=85)

    return sized


def _noisy(page: Image.Image) -> bytes:
    source = np.random.default_rng(0)
    pixels = np.asarray(page, np.float32) * 0.7 + 30 + source.normal(0, 18, (page.height, page.width, 1))
    shade = np.linspace(1.0, 0.55, page.width, dtype=np.float32)[None, :, None]
    return _saved(Image.fromarray(np.clip(pixels * shade, 0, 255).astype(np.uint8)), "JPEG", quality=60)


def _part(left: float, top: float, right: float, bottom: float) -> Distortion:
    def cropped(page: Image.Image) -> bytes:
        width, height = page.size
        return _png(page.crop((round(left * width), round(top * height), round(right * width), round(bottom * height))))

    return cropped


DISTORTIONS: dict[str, Distortion] = {
    "as it is": _png,
    "turned 90": lambda page: _png(page.transpose(Image.Transpose.ROTATE_90)),
    "turned 180": lambda page: _png(page.transpose(Image.Transpose.ROTATE_180)),
    "turned 270": lambda page: _png(page.transpose(Image.Transpose.ROTATE_270)),
    "turned 5": _turned(5),
    "turned 20": _turned(20),
    "turned 93": _turned(93),
    "EXIF 6 (phone upright)": _exif(6),
    "EXIF 3 (upside down)": _exif(3),
    "perspective 6%": _aslant(0.06),
    "perspective 12%": _aslant(0.12),
    "perspective 20%": _aslant(0.2),
    "blur 2": _blurred(2),
    "blur 4": _blurred(4),
    "JPEG quality 20": lambda page: _saved(page, "JPEG", quality=20),
    "JPEG quality 5": lambda page: _saved(page, "JPEG", quality=5),
    "noise and shadow": _noisy,
    "800 px": _sized(800),
    "400 px": _sized(400),
    "200 px": _sized(200),
    "8,000 px": _sized(8_000),
    "upper half": _part(0, 0, 1, 0.5),
    "quarter": _part(0.25, 0.25, 0.75, 0.75),
    "black and white inverted": lambda page: _png(Image.fromarray(255 - np.asarray(page))),
}
