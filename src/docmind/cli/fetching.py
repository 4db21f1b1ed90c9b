"""A download shown on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from docmind.cli.telling import inert
from docmind.seeing import PullProgress


@contextmanager
def download_bar(*, quiet: bool) -> Iterator[Callable[[PullProgress], None]]:
    """A bar on a terminal, nothing elsewhere: gives a function to call with each `PullProgress`."""
    if quiet or not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as screen:
        task = screen.add_task("", total=None)

        def show(now: PullProgress) -> None:
            screen.update(
                task,
                description=escape(inert(now.file or now.name)),
                completed=now.bytes_done,
                total=now.bytes_total or None,
            )

        yield show


def size_of(number: int) -> str:
    """A number of bytes for people, as hubs count them: a megabyte is a million."""
    return f"{number / 1e9:.2f} GB" if number >= 1e9 else f"{max(number / 1e6, 0.1):,.1f} MB"
