"""Frozen records of settings that can be set in DocMind itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SettingKind = Literal["choice", "switch", "number", "text", "folder", "secret"]
SettingSource = Literal["environment", "app", "default"]
SettingEffect = Literal["now", "reopen"]
"""When a change takes effect: at once, or once the vault was closed and opened again, which the app does by itself."""


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """One setting as it is now.

    `value` and `default` are what JSON can represent; the value of a secret is never here, only `is_set`. `variable` is
    the environment variable that wins over what is set in DocMind.
    """

    name: str
    title: str
    group: str
    kind: SettingKind
    effect: SettingEffect
    variable: str
    source: SettingSource
    value: str | float | bool | None
    default: str | float | bool | None
    is_set: bool
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None

    @property
    def is_fixed(self) -> bool:
        return self.source == "environment"
