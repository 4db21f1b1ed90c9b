"""No text of others can stop a process by a regular expression: the time of each grows with the text, no faster."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from backtracking import FACTOR, Method, fault_of
from conftest import ROOT
from each import each_of

ATTACKS = ROOT / "tests" / "support" / "expressions.py"
FEWEST = 1_000  # expressions that the sources have at least: fewer were found if the search for them broke


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_time_of_no_expression_of_the_sources_grows_faster_than_the_text() -> None:
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(map(str, (ROOT / "src", ROOT / "tests" / "support"))))
    child = subprocess.run(
        [sys.executable, "-W", "ignore", str(ATTACKS)],
        env=environment, stdout=subprocess.PIPE, timeout=580, check=True,
    )  # fmt: skip
    found = json.loads(child.stdout)
    assert found["faults"] == []
    assert found["unknown"] == [], "an expression that is put together in a function: give its names in LOCAL"
    assert found["gone"] == [], "names in the tables of expressions.py that no expression has"
    assert found["count"] > FEWEST


@pytest.mark.slow
@each_of(
    "form, method",
    [
        (r"\s{0,3}\|?(?:\s{0,8}:?-{2,}:?\s{0,8}\|?)+\s*$", "match"),  # exponential
        (r"(?:\w+\s?)+$", "match"),
        (r"\s+$", "search"),  # quadratic: from each blank to the last one
        (r"<!--.*?-->", "scan"),  # from each beginning to the end of the text
        (r"(?<=x)\s*\n\s*y", "search"),
        (r"\d+\.|\d", "scan"),  # `search` ends at the first digit
        (r"(?:a{0,90}){90}b", "match"),  # linear from 8,100 letters on
    ],
)
def test_a_slow_expression_is_found(form: str, method: Method) -> None:
    fault = fault_of(re.compile(form), method)
    assert fault is not None
    assert fault.growth > FACTOR or fault.seconds > 0.1


@each_of(
    "form, method",
    [
        (r"(?:(?>:?-{2,}:?)\s{0,16})+", "fullmatch"),
        (r"(?<!\s)\s+$", "search"),
        (r"(?s)<!--.*?(?:-->|\Z)", "scan"),
        (r"\d+\.|\d", "search"),
        (r"[a-z]{1,40}@", "search"),
        (r"\b(?:clause|section)\s\d{1,3}", "scan"),
    ],
)
def test_a_linear_expression_is_not_accused(form: str, method: Method) -> None:
    assert fault_of(re.compile(form), method) is None


@pytest.mark.slow
def test_where_the_text_is_short_only_the_time_counts() -> None:
    form = re.compile(r"\s+$")
    assert fault_of(form, "search", longest=200) is None
    assert fault_of(re.compile(r"(?:\w+\s?)+$"), "match", longest=40) is not None
