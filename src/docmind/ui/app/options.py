"""Streamlit's options: how the app is served and how it looks, in whatever folder it is started.

`streamlit.toml` beside this module has them. What the user gives for a start, as a flag or a variable, stands above
them. Files of Streamlit's own (`.streamlit/config.toml` of the folder or of the user) do not: an address that somebody
gave all their Streamlit apps would open this one to the network.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from streamlit import config

_FILE = Path(__file__).with_name("streamlit.toml")
_GIVEN = ("command-line argument or environment variable", "environment variable")
_BY = "DocMind"
_ADDRESS = "server.address"
_AGAIN = (_ADDRESS, "logger.hideWelcomeMessage")


@cache
def own_options() -> dict[str, Any]:
    """Return DocMind's own options by their dotted names."""
    return dict(_flat(tomllib.loads(_FILE.read_text("utf-8"))))


def _flat(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def apply() -> None:
    """Set every own option that was not given for this start."""
    for name, value in own_options().items():
        if config.get_where_defined(name) not in _GIVEN:
            config.set_option(name, value, _BY)


def start_again_where_bound_wide() -> None:
    """Replace this process by the same command with DocMind's address, if Streamlit has bound another one unasked.

    `streamlit run` binds its port before it loads the app. Where no `.streamlit/config.toml` names an address, the port
    is open on every interface by then; nothing has been answered there, and the new process closes it.
    """
    is_bound = config._server_mode == "starlette-app"  # `streamlit run` has set it, and no other way of serving does
    if not is_bound or config.get_where_defined(_ADDRESS) in _GIVEN or _is_own(config.get_option(_ADDRESS)):
        return
    for name in _AGAIN:
        os.environ[config._config_options_template[name].env_var] = str(own_options()[name])
    sys.stdout.flush()
    os.closerange(3, 256)  # the port among them, which a new program would inherit
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _is_own(address: str | None) -> bool:
    """Tell whether only this machine reaches an address; None is every address."""
    try:
        return address == "localhost" or (address is not None and ip_address(address).is_loopback)
    except ValueError:  # a name
        return False
