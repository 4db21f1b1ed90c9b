"""Tickets open once, within their time, and only the launch that made them."""

from __future__ import annotations

import base64
import threading
import time

import pytest

from docmind.access import Launch, Tickets, mint_ticket, prove

SECRET = bytes(range(32))


def test_a_ticket_opens_once() -> None:
    tickets, ticket = Tickets(SECRET), mint_ticket(SECRET)
    assert tickets.redeem(ticket)
    assert not tickets.redeem(ticket)
    assert tickets.redeem(mint_ticket(SECRET))


def test_a_used_ticket_stays_used_in_another_spelling() -> None:
    """Base64 has several spellings of the same bytes; what counts is the nonce."""
    tickets, ticket = Tickets(SECRET), mint_ticket(SECRET)
    assert tickets.redeem(ticket)
    for other in (ticket + "=", ticket[:5] + "\n" + ticket[5:], "." + ticket):
        assert not tickets.redeem(other)


def test_an_expired_ticket_opens_nothing() -> None:
    assert not Tickets(SECRET).redeem(mint_ticket(SECRET, -1))
    assert Tickets(SECRET).redeem(mint_ticket(SECRET, 5))


@pytest.mark.slow
def test_used_tickets_are_forgotten_once_they_expire() -> None:
    tickets = Tickets(SECRET)
    assert tickets.redeem(mint_ticket(SECRET, 1))
    time.sleep(2.1)
    assert tickets.redeem(mint_ticket(SECRET))
    assert len(tickets._used) == 1


def test_a_ticket_of_another_launch_opens_nothing() -> None:
    assert not Tickets(SECRET).redeem(mint_ticket(bytes(32)))


def test_every_changed_byte_is_noticed() -> None:
    raw = base64.urlsafe_b64decode(mint_ticket(SECRET) + "=")
    for at in range(len(raw)):
        changed = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
        assert not Tickets(SECRET).redeem(base64.urlsafe_b64encode(changed).decode())
    assert Tickets(SECRET).redeem(base64.urlsafe_b64encode(raw).decode())


@pytest.mark.parametrize("ticket", ["", "x", "é" * 75, "A" * 75, "A" * 100_000, "../../etc/passwd", "\0"])
def test_what_is_no_ticket_opens_nothing(ticket: str) -> None:
    assert not Tickets(SECRET).redeem(ticket)


def test_one_ticket_used_by_many_at_once_opens_for_one() -> None:
    tickets, ticket, opened = Tickets(SECRET), mint_ticket(SECRET), []
    start = threading.Barrier(16)

    def use() -> None:
        start.wait()
        opened.append(tickets.redeem(ticket))

    threads = [threading.Thread(target=use) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert opened.count(True) == 1


def test_a_proof_is_no_ticket_and_no_proof_of_another_secret() -> None:
    ticket = mint_ticket(SECRET)
    assert prove(SECRET, ticket) != prove(bytes(32), ticket)
    assert not Tickets(SECRET).redeem(prove(SECRET, ticket))


def test_only_the_cookie_of_this_launch_is_admitted() -> None:
    launch, other = Launch(), Launch()
    cookie = launch.cookie(is_secure=False).partition(";")[0]
    assert launch.admits([cookie])
    assert launch.admits([f"a=b; docmind=false; {cookie}", "c=d"])
    for wrong in ([], [""], ["docmind="], ["docmind"], [cookie + "x"], [cookie[:-1]], [cookie.replace("docmind", "d")]):
        assert not launch.admits(wrong)
    assert not launch.admits([other.cookie(is_secure=False).partition(";")[0]])
    assert not launch.admits([cookie.upper(), "docmind=é"])


def test_the_cookie_is_http_only_and_has_an_unguessable_path() -> None:
    launch = Launch()
    launch.place("desk/")
    parts = launch.cookie(is_secure=False).split("; ")[1:]
    assert parts == [f"Path={launch.base}", "HttpOnly", "SameSite=Strict"]
    assert launch.cookie(is_secure=True).endswith("; Secure")
    assert launch.base.startswith("/desk/")
    assert launch.base != Launch().base
    assert len(launch.base.removeprefix("/desk/")) == 32


@pytest.mark.parametrize(
    ("path", "query", "page"),
    [
        ("/", "ticket=abc", "/"),
        ("/", "a=1&ticket=abc&b=2%26", "/?a=1&b=2%26"),
        ("/documents", "thread=x&ticket=abc", "/documents?thread=x"),
        (f"/{'0' * 32}/documents", "ticket=abc", "/documents"),
        (f"/{'0' * 32}", "", "/"),
        ("//evil.example/x", "", "/evil.example/x"),
        ("/\\evil.example", "", "/\\evil.example"),
    ],
)
def test_the_ticket_leaves_the_address_and_the_rest_stays(path: str, query: str, page: str) -> None:
    launch = Launch()
    assert launch.target(path, query) == launch.base + page
    launch.place("desk")
    assert launch.target("/desk" + path, query) == launch.base + page
    assert launch.target("/elsewhere", query.partition("?")[0]).startswith(launch.base + "/")


def test_without_a_token_everybody_is_admitted() -> None:
    launch = Launch(is_token_required=False)
    launch.place("desk")
    assert launch.admits([])
    assert launch.base == "/desk"
    assert launch.link("http://127.0.0.1:1") == "http://127.0.0.1:1/desk/"
