"""Frozen records of checks of the library: what was found, what was looked at, what was repaired."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from docmind.records.documents import Capability

Level = Literal["quick", "full", "deep"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it must be. `kind` is a name of `docmind.maintenance.KINDS`, which says what it means.

    `place` names the id, file or table, `document` and `page_no` the document and page, where there is one.
    `is_pending` is work that DocMind does by itself, and no damage.
    """

    kind: str
    place: str = ""
    document: str = ""
    page_no: int = 0
    is_repairable: bool = False
    is_pending: bool = False


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check of one level found.

    `counts` has the number of findings of each kind, `findings` the first hundred of each. `looked_at` says how much
    was checked, `unchecked` which parts could not be. `refused` counts the connections to other computers that the
    network guard stopped since DocMind was started; it counts none where `is_guarded` is False. `readers` are the
    isolation of reading processes, pandoc and the readers of other packages, and whether each can be used: one that
    cannot is no damage of the library.
    """

    level: Level
    findings: tuple[Finding, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    looked_at: tuple[tuple[str, int], ...] = ()
    unchecked: tuple[str, ...] = ()
    duration_ms: float = 0.0
    refused: int = 0
    is_guarded: bool = False
    readers: tuple[Capability, ...] = ()

    @property
    def is_well(self) -> bool:
        """Whether nothing is damaged; work that DocMind does by itself is no damage."""
        return all(finding.is_pending for finding in self.findings)

    @property
    def is_repairable(self) -> bool:
        """Whether a repair can mend anything."""
        return any(finding.is_repairable for finding in self.findings)


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repair did: findings before it by kind, how many of them are gone, and what a second check found."""

    before: CheckReport
    after: CheckReport
    mended: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    """A sentence for each repair that was not possible now."""
