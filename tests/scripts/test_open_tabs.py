"""The tabs that are open when a test fails are told in its report."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from open_tabs import pytest_runtest_makereport


@pytest.mark.parametrize(("outcome", "told"), [("failed", [("open tab", "the log")]), ("passed", [])])
def test_a_failed_test_tells_the_open_tabs(outcome: Any, told: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = SimpleNamespace(told=lambda: "the log")
    monkeypatch.setitem(sys.modules, "served", SimpleNamespace(Tab=SimpleNamespace(opened=[opened])))
    report = pytest.TestReport("test", ("file", 1, "test"), {}, outcome, None, "call")
    hook = pytest_runtest_makereport()
    next(hook)
    with pytest.raises(StopIteration) as ended:
        hook.send(report)
    assert ended.value.value is report
    assert report.sections == told
