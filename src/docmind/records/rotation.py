"""Frozen records of a rotation of the library's keys."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RotationProgress:
    """How far a rotation is: its step, as an English phrase, and what is done of it."""

    step: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class RotationReport:
    """What a rotation did. `damaged` names documents with files that could not be read; they keep their old key.

    `files` were encrypted again by this run, in `seconds`; a rotation that was interrupted before did others earlier.
    """

    files: int
    seconds: float
    damaged: tuple[str, ...] = ()
    damaged_files: int = 0
