"""Circumstances that no call reports: two owners at once, a clock that is wrong by years, a key that is not there.

Each case ends in the sentence that the documentation promises, or in the operation done; and when the circumstance is
over, all that was there is there.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from docmind.application import DocMind
from docmind.config import KeySettings
from docmind.errors import DocMindError
from faults import shim
from faults.points import Bench, Tally, quick_folder
from faults.vaults import OPERATIONS, copied, observed

TEN_YEARS_S = 10 * 365 * 24 * 60 * 60
_OPENED = ("lock", "reserve", "vault.db-shm")  # what opening touches, and holds nothing of the user


def _digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in _OPENED
    }


def refused(template: str, folder: str, case: str) -> dict[str, Any]:
    """Try to open a vault without its key, or beside another owner; return the error, and what is wrong."""
    about, place = OPERATIONS["open"], copied(template, "open", folder)
    settings, wrong, told = about.settings(place), list[str](), ""
    key = place / "docmind.key"
    with about.opened(place) as docmind:
        before = observed(docmind, place)
    kept = key.read_bytes()
    with ExitStack() as meanwhile:
        if case == "another owner":
            meanwhile.enter_context(about.opened(place))
        elif case == "key lost":
            key.unlink()
        elif case == "another key":
            key.write_text(f"{os.urandom(32).hex()}\n")
        elif case == "key cut short":
            key.write_bytes(kept[: len(kept) // 2])
        elif case == "key is a folder":
            key.unlink()
            key.mkdir()
        elif case == "keyring gone":
            settings = settings.model_copy(update={"keys": KeySettings(source="keyring")})
            _change_source(place, "keyring")
        files = _digests(place)
        try:
            with DocMind(settings):
                wrong.append("it was opened")
        except DocMindError as error:
            told = f"{type(error).__name__}: {error}"
            if not error.hint:
                wrong.append("the error has no hint")
        if _digests(place) != files:
            wrong.append("files were changed")
    if key.is_dir():
        key.rmdir()
    key.write_bytes(kept)
    if case == "keyring gone":
        _change_source(place, "file")
    with about.opened(place) as docmind:
        if observed(docmind, place) != before:
            wrong.append("something is lost afterwards")
    return {"told": told, "wrong": wrong}


def _change_source(place: Path, source: str) -> None:
    path = place / "data" / "vault.json"
    raw = json.loads(path.read_text())
    raw["source"] = source
    path.write_text(json.dumps(raw))


def skewed_check(control: str, skew_s: int, **arguments: Any) -> list[str]:
    """Look at a vault while the clock is wrong; runs under the shim."""
    from faults import vaults

    switch = shim.Control(Path(control))
    switch.set(Path(arguments["folder"]), skew_s=skew_s)
    vaults._loaded.use(Path(control))
    return vaults.check(**arguments)


REFUSED = {
    "another owner": "VaultBusyError", "key lost": "KeyUnavailableError", "another key": "WrongKeyError",
    "key cut short": "", "key is a folder": "", "keyring gone": "KeyUnavailableError",
}  # fmt: skip
"""The error of each case; "": one of DocMind's, whichever."""

SKEWED = (
    "add a document",
    "a turn",
    "remember",
    "move to the bin",
    "erase",
    "write a bundle",
    "set aside unnamed files",
)


def locked_out(bench: Bench, case: str) -> tuple[str, list[str]]:
    """Try a case of `REFUSED`; return the error that was told, and what is wrong."""
    ended = bench.plain.call("circumstances:refused", template=str(bench.template), folder=str(bench.work), case=case)
    if ended.status:
        return "", [ended.said[-1500:]]
    told, wrong = ended.result["told"], ended.result["wrong"]
    if not told.startswith(REFUSED[case]):
        wrong.append(f"told {told} instead of {REFUSED[case]}")
    return told, wrong


def under_a_wrong_clock(bench: Bench, operation: str, skew_s: int) -> list[str]:
    """Do an operation while the clock is wrong and look at it when it is right; return what is wrong."""
    before, after = bench.outcome(operation)
    ended = bench.act(operation, skew_s=skew_s)
    wrong = bench.judged(operation, ended, before, after)
    if not any(note.get("acknowledged") for note in ended.notes):
        wrong.append(f"it failed: {ended.result}")
    return wrong


def before_a_wrong_clock(bench: Bench, operation: str, skew_s: int) -> list[str]:
    """Do an operation while the clock is right and look at it when it is wrong; return what is wrong."""
    before, after = bench.outcome(operation)
    bench.act(operation)
    seen = bench.armed.call(
        "circumstances:skewed_check", control=str(bench.control), skew_s=skew_s, operation=operation,
        folder=str(bench.work), before=before, after=after, is_acknowledged=True, is_killed=False, is_thorough=True,
    )  # fmt: skip
    return [seen.said[-1500:]] if seen.status else seen.result


def run(library: Path, *, seed: int, say: Callable[[str], None] = lambda text: None) -> Tally:
    """Try every case once, and operations under a clock that is ten years ahead or behind."""
    began, chance, total = time.monotonic(), random.Random(seed), Tally()
    with (
        tempfile.TemporaryDirectory(prefix="docmind-cases-", dir=quick_folder()) as name,
        Bench(library, Path(name)) as bench,
    ):
        for case in REFUSED:
            told, wrong = locked_out(bench, case)
            total.add(case, wrong)
            total.counts[case] += 1
            say(f"{case}: {told}")
        for skew_s, clock in ((TEN_YEARS_S, "ten years ahead"), (-TEN_YEARS_S, "ten years behind")):
            for operation in SKEWED:
                total.add(f"{operation}, clock {clock}", under_a_wrong_clock(bench, operation, skew_s))
            operation = chance.choice(SKEWED)
            total.add(f"{operation}, then the clock {clock}", before_a_wrong_clock(bench, operation, skew_s))
            total.counts[f"clock {clock}"] += len(SKEWED) + 1
    for one in total.findings:
        say(f"FOUND {one}")
    total.wall_s = time.monotonic() - began
    return total
