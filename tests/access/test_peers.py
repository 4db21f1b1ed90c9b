"""Who is at the other end of a loopback connection: real sockets, also of another user."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from docmind.access import Launch, api_token, is_of_another_user
from docmind.api.programs import OWN, Permit, Programs
from loops import run_async

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tables of Linux")
NOBODY = 65_534


def scope_of(accepted: socket.socket, **more: Any) -> dict[str, Any]:
    """Return what uvicorn tells of a connection."""
    return {"client": accepted.getpeername()[:2], "server": accepted.getsockname()[:2], **more}


@pytest.mark.parametrize("there", ["127.0.0.1", "::1"])
def test_the_user_of_a_connection_is_known(there: str) -> None:
    family = socket.AF_INET6 if there == "::1" else socket.AF_INET
    try:
        listener = socket.create_server((there, 0), family=family)
    except OSError:
        pytest.skip("no IPv6 here")
    with listener, socket.create_connection((there, listener.getsockname()[1])), listener.accept()[0] as accepted:
        scope = scope_of(accepted)
        assert not is_of_another_user(scope, os.getuid())
        assert is_of_another_user(scope, os.getuid() + 1)


def test_an_address_of_ipv4_in_the_table_of_ipv6_is_the_same_one(tmp_path: Path) -> None:
    mapped = "0000000000000000FFFF00000100007F" if sys.byteorder == "little" else "00000000000000000000FFFF7F000001"
    row = f"   0: {mapped}:C350 {mapped}:2135 01 00000000:00000000 00:00000000 00000000  1234        0 5 1 0\n"
    (tmp_path / "tcp6").write_text("  sl  local_address  remote_address  st\n" + row)
    scope = {"client": ("127.0.0.1", 0xC350), "server": ("127.0.0.1", 0x2135)}
    assert is_of_another_user(scope, 1_000, tmp_path)
    assert not is_of_another_user(scope, 1_234, tmp_path)
    assert not is_of_another_user({**scope, "client": ("127.0.0.1", 0xC351)}, 1_000, tmp_path)


def test_what_is_not_told_is_no_reason_to_refuse(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)), listener.accept()[0] as accepted:
            assert not is_of_another_user(scope_of(accepted), os.getuid() + 1, tmp_path)  # another system
        for scope in ({}, {"client": None, "server": ("127.0.0.1", port)}, {"client": ("host", 1), "server": ("x", 2)}):
            assert not is_of_another_user(scope, os.getuid() + 1)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize(
    ("uid", "origin", "is_admitted"), [(0, None, True), (NOBODY, None, False), (NOBODY, "https://desk.example", True)]
)
def test_programs_of_another_user_are_refused(uid: int, origin: str | None, is_admitted: bool) -> None:
    launch = Launch(origin=origin)
    programs = Programs(launch, lambda: pytest.fail("the token of the launch needs no library"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        child = os.fork()
        if not child:
            os.setuid(uid)
            socket.create_connection(listener.getsockname()).recv(1)
            os._exit(0)
        with listener.accept()[0] as accepted:
            headers = {
                "host": f"127.0.0.1:{listener.getsockname()[1]}",
                "authorization": f"Bearer {api_token(launch.secret)}",
            }
            scope = scope_of(accepted, type="http", headers=httpx.Headers(headers).raw)
            permit = run_async(programs.admit(scope))
        os.waitpid(child, 0)
    assert (permit is OWN) is is_admitted
    assert isinstance(permit, Permit) or permit.status_code == 403
