"""Vaults for tests of page image models: pages of one colour each, which the fakes know by name."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image

from desks import settings_in
from docmind.application import DocMind
from docmind.config import Settings, VisualSettings
from docmind.records.documents import Upload
from docmind_testkit import COLOURS


def coloured(colour: str, size: tuple[int, int] = (200, 280), kind: str = "PNG") -> bytes:
    """Return a picture of one colour with a white border, so that no two sizes look the same."""
    image = Image.new("RGB", size, COLOURS[colour])
    packed = io.BytesIO()
    image.save(packed, kind)
    return packed.getvalue()


def album(name: str, *colours: str, tags: tuple[str, ...] = ()) -> Upload:
    """Return a document with one page per colour."""
    first, *others = [Image.new("RGB", (200, 280), COLOURS[colour]) for colour in colours]
    packed = io.BytesIO()
    first.save(packed, "TIFF", save_all=True, append_images=others)
    return Upload(f"{name}.tiff", packed.getvalue(), tags=tags)


def looking_in(folder: Path, **visual: Any) -> Settings:
    """Return settings with the fakes as models, unless others are named."""
    chosen = {"image_model": "fake-image", "late_model": "fake-late", **visual}
    return settings_in(folder, visual=VisualSettings(models_dir=folder / "models", **chosen))


def looking(folder: Path, **visual: Any) -> DocMind:
    return DocMind(looking_in(folder, **visual))


def wait_for(condition: Callable[[], object], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)
