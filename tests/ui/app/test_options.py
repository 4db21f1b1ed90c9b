"""Streamlit's options are DocMind's own, unless a flag or a variable of the start gives another value."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator

import pytest
from streamlit import config

from conftest import ROOT
from docmind.ui.app.options import apply, own_options


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    config.get_config_options(force_reparse=True)


def test_an_option_of_the_start_stands_above_and_a_file_does_not() -> None:
    config.get_config_options(force_reparse=True, options_from_flags={"server.maxUploadSize": 7})
    config.set_option("server.address", "0.0.0.0", "/home/user/.streamlit/config.toml")
    apply()
    differing = {name for name, value in own_options().items() if config.get_option(name) != value}
    assert differing == {"server.maxUploadSize"}
    assert config.get_option("server.maxUploadSize") == 7


def test_what_streamlit_reads_before_the_app_says_the_same() -> None:
    early = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    told = {f"{group}.{name}": value for group, members in early.items() for name, value in members.items()}
    assert told
    assert {name: own_options()[name] for name in told} == told


@pytest.mark.slow
def test_a_file_of_streamlits_that_changes_meanwhile_opens_nothing() -> None:
    """Streamlit reads its files again then, and forgets what was set in code."""
    code = (
        "from streamlit import config; from docmind.ui.app.startup import Startup;"
        "startup = Startup(None); startup.configure(); config.get_config_options(force_reparse=True);"
        "print(config.get_option('server.address'), config.get_option('client.showErrorDetails'),"
        " config.get_option('server.baseUrlPath') == startup.launch.base.strip('/') != '')"
    )
    told = subprocess.check_output([sys.executable, "-c", code], text=True, cwd="/")
    assert told.split() == ["127.0.0.1", "none", "True"]
