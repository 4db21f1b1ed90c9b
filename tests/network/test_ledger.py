"""The ledger of the network: what the egress rule refused; tests of the guard and of children are beside them."""

from __future__ import annotations

import threading
from collections.abc import Callable

import httpx
import pytest

from docmind.errors import EndpointRefusedError
from docmind.network import Connection, fetch, network_ledger, permit
from docmind.network.ledger import Ledger
from loopback import LoopbackHandler, LoopbackServer


@pytest.fixture(autouse=True)
def ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with an empty ledger: one that other tests of this process have filled names no further places."""
    monkeypatch.setattr("docmind.network.ledger._ledger", Ledger())


def refused() -> dict[tuple[str, str], int]:
    return {(one.place, one.part): one.count for one in network_ledger().report().refused}


def grown(before: dict[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    now = refused()
    return {name: number - before.get(name, 0) for name, number in now.items() if number != before.get(name, 0)}


@pytest.mark.parametrize(
    ("attempt", "place"),
    [
        (lambda: permit("https://example.com:8443/x"), "example.com:8443"),
        (lambda: permit("http://169.254.169.254/latest", "169.254.169.254"), "169.254.169.254:80"),
        (lambda: permit("http://[fe80::1]:9", "[fe80::1]"), "[fe80::1]:9"),
        (lambda: permit("http://localhost:1").addresses(lambda host, port: ["192.0.2.1"]), "localhost:1"),
        (lambda: permit("http://host:1", "host").addresses(lambda host, port: ["169.254.1.1"]), "host:1"),
    ],
)
def test_what_the_rule_refuses_is_counted(attempt: Callable[[], object], place: str) -> None:
    before = refused()
    with pytest.raises(EndpointRefusedError):
        attempt()
    assert grown(before) == {(place, "python"): 1}


def test_a_request_to_another_host_than_permitted_is_counted() -> None:
    before = refused()
    connection = Connection(permit("http://127.0.0.1:1"), lambda piece: None)
    with pytest.raises(EndpointRefusedError), httpx.Client(transport=connection) as client:
        client.get("http://other.invalid:1/")
    assert grown(before) == {("other.invalid:1", "python"): 1}


def test_this_machine_is_not_in_the_ledger() -> None:
    server = LoopbackServer(0, LoopbackHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    before = network_ledger().report()
    assert fetch(permit(server.url), "/", timeout_s=10, max_bytes=10_000)[0] == 501
    server.shutdown()
    server.server_close()
    assert network_ledger().report() == before


def test_hostile_names_are_cut_and_only_some_are_kept() -> None:
    ledger = Ledger()
    ledger.refuse("evil\x1b[31m\n\u202e" + "x" * 500)
    for number in range(40):
        ledger.refuse(f"host{number}:1")
        ledger.allow(f"host{number}:1", "web page")
    report = ledger.report()
    own = [one for one in report.refused if one.part == "python"]
    assert len(own) <= 17
    assert sum(one.count for one in own) == 41
    (evil,) = [one for one in own if one.place.startswith("evil")]
    assert evil.place == "evil?[31m??" + "x" * 69
    assert len(report.allowed) <= 17
    assert sum(one.count for one in report.allowed) == 40
