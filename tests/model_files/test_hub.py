"""What a hub says is checked before it is used, and a request goes nowhere else than it may."""

from __future__ import annotations

import contextlib
import datetime as dt
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from docmind.errors import CancelledError, ConfigError, DownloadError, EndpointRefusedError
from docmind.model_files.hub import Hub, next_hop
from docmind.network.endpoint import permit
from each import each_of
from hub_server import COMMIT, Behaviour, HubServer, serving
from tinyweights import SIGLIP, tiny_files


def unhurried() -> None:
    """Nobody stops it."""


@pytest.fixture
def server() -> Iterator[HubServer]:
    with serving({SIGLIP: {**tiny_files(), "README.md": b"# SigLIP", "onnx/config.json": b"{}"}}) as server:
        yield server


@pytest.fixture
def hub(server: HubServer) -> Hub:
    return Hub(server.url, unhurried)


def test_the_list_holds_what_is_wanted_with_sizes_and_sums(hub: Hub) -> None:
    listing = hub.listing(SIGLIP, "main")
    assert listing.commit == COMMIT
    assert {file.name for file in listing.files} == set(tiny_files())
    sums = {file.name: (len(file.sha256), len(file.blob)) for file in listing.files}
    assert sums["model.safetensors"] == (64, 0)
    assert sums["config.json"] == (0, 40)
    assert listing.bytes == sum(map(len, tiny_files().values()))
    assert not listing.is_adapter


def test_nothing_but_the_question_is_sent(server: HubServer, hub: Hub) -> None:
    hub.listing(SIGLIP, "main")
    assert set(server.received[0].headers) == {"Host", "User-Agent", "accept", "Accept-Encoding", "Connection"}
    assert server.received[0].headers["User-Agent"] == "docmind"


def one(**changes: Any) -> dict[str, Any]:
    sound = {"rfilename": "config.json", "size": 10, "blobId": "0" * 40}
    return {"sha": COMMIT, "siblings": [{**sound, **changes}]}


@each_of("name", ["../../.bashrc", "/etc/passwd", "a/../b", "C:\\x", "c:x", "a\\b", "~/x", "a\nb", ""])
def test_a_file_name_that_leads_elsewhere_is_refused(server: HubServer, hub: Hub, name: str) -> None:
    told = one()
    told["siblings"].append({"rfilename": name, "size": 1})
    server.listing = told
    with pytest.raises(DownloadError, match="under a name that cannot be right"):
        hub.listing(SIGLIP, "main")


@each_of(
    "told, sentence",
    [
        ("<html>Sign in</html>", "does not answer as a model hub does"),
        ("[" * 100_000, "does not answer as a model hub does"),
        ([], "does not answer as a model hub does"),
        ({"sha": COMMIT}, "does not answer as a model hub does"),
        ({"sha": "main/../..", "siblings": []}, "does not answer as a model hub does"),
        ({"sha": COMMIT, "siblings": [None]}, "cannot be right"),
        ({"sha": COMMIT, "siblings": [{"rfilename": 7}]}, "cannot be right"),
        (one(rfilename="x" * 300), "cannot be right"),
        (one(size=None), r"does not say what config\.json should be"),
        (one(size=-1), "does not say what"),
        (one(size=True), "does not say what"),
        (one(size=10**15), "does not say what"),
        (one(lfs={"size": 5}), "does not say what"),
        (one(lfs={"size": 5, "sha256": "0" * 63 + "G"}), "does not say what"),
        ({"sha": COMMIT, "siblings": one()["siblings"] * 2}, "more than a model can have"),
        (
            {
                "sha": COMMIT,
                "siblings": [{"rfilename": f"model-{at:05}-of-00200.safetensors", "size": 1} for at in range(101)],
            },
            "more than a model can have",
        ),
        ({"sha": COMMIT, "siblings": [{"rfilename": f"{at}.md"} for at in range(2_001)]}, "more than a model can have"),
        (
            {
                "sha": COMMIT,
                "siblings": [
                    {"rfilename": f"model-0000{at}-of-00002.safetensors", "size": 40_000_000_000} for at in (1, 2)
                ],
            },
            "more than a model can have",
        ),
        ("x" * (9 << 20), "does not answer as a model hub does"),
    ],
)
def test_a_list_that_cannot_be_right_is_refused(server: HubServer, hub: Hub, told: Any, sentence: str) -> None:
    server.listing = told
    with pytest.raises(DownloadError, match=sentence):
        hub.listing(SIGLIP, "main")


@pytest.mark.parametrize(
    ("behaviour", "sentence"),
    [
        (Behaviour("status", 401), r"does not give google/.* to everybody, or does not have it \(status 401\)"),
        (Behaviour("status", 403), "to everybody"),
        (Behaviour("status", 404), "has no google/siglip"),
        (Behaviour("status", 429), "wants no more requests"),
        (Behaviour("status", 503), "answers with status 503"),
        (Behaviour("html"), "does not answer as a model hub does"),
        (Behaviour("cut", 1), "broke off"),
    ],
)
def test_a_refusal_is_one_sentence(server: HubServer, hub: Hub, behaviour: Behaviour, sentence: str) -> None:
    server.queue("list", behaviour)
    with pytest.raises(DownloadError, match=sentence) as raised:
        hub.listing(SIGLIP, "main")
    assert raised.value.hint
    assert str(raised.value).count(".") - str(raised.value).count("127.0.0.1") * 3 == 1


def test_a_hub_that_is_not_there() -> None:
    with pytest.raises(DownloadError, match=r"127\.0\.0\.1 cannot be reached"):
        Hub("http://127.0.0.1:9", unhurried).listing(SIGLIP, "main")


def test_a_hub_that_is_another_than_it_says(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def shake() -> None:
            with contextlib.suppress(OSError):
                context.wrap_socket(listener.accept()[0], server_side=True)

        threading.Thread(target=shake, daemon=True).start()
        with pytest.raises(DownloadError, match=r"cannot prove that it is 127\.0\.0\.1"):
            Hub(f"https://127.0.0.1:{listener.getsockname()[1]}", unhurried).listing(SIGLIP, "main")


def certificate(folder: Path) -> Path:
    """Signed by nobody but itself; with its key, in one file."""
    key, now = ec.generate_private_key(ec.SECP256R1()), dt.datetime.now(dt.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hub.example")])
    day = dt.timedelta(days=1)
    built = x509.CertificateBuilder(name, name, key.public_key(), 1, now - day, now + day).sign(key, hashes.SHA256())
    form = serialization.PrivateFormat.PKCS8
    path = folder / "hub.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        + built.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.mark.parametrize(
    "url", ["http://huggingface.co", "ftp://127.0.0.1", "huggingface.co", "", "https://user:pw@hub.example", "http://["]
)
def test_an_address_that_may_not_be_asked(url: str) -> None:
    with pytest.raises(ConfigError, match=r"hub|HUB_URL"):
        Hub(url, unhurried)


def test_redirects_are_followed_a_few_times(server: HubServer, hub: Hub) -> None:
    there = f"/{SIGLIP}/resolve/{COMMIT}/config.json"
    file = next(file for file in hub.listing(SIGLIP, "main").files if file.name == "config.json")
    signed = f"{there}?%2Fx%2Fy=&etag=%22ab%22&filename*%3DUTF-8%27%27m%3B&Signature=a~b-c_d"
    server.queue("config.json", *[Behaviour("redirect", location=there)] * 4, Behaviour("redirect", location=signed))
    with hub.opened(SIGLIP, COMMIT, file, 0) as (begins, pieces):
        assert (begins, b"".join(pieces)) == (0, tiny_files()["config.json"])
    assert server.received[-1].path == signed
    server.queue("config.json", *[Behaviour("redirect", location=there)] * 6)
    with pytest.raises(DownloadError, match="not followed"), hub.opened(SIGLIP, COMMIT, file, 0):
        pytest.fail("It was followed for ever.")


@pytest.mark.parametrize(
    "location", ["http://127.0.0.1:9/x", "http://hub.example/x", "file:///etc/passwd", "//[", "", "https://a@b/"]
)
def test_redirects_to_elsewhere_are_not_followed(server: HubServer, hub: Hub, location: str) -> None:
    server.queue("list", Behaviour("redirect", location=location))
    with pytest.raises(DownloadError, match="sends the request on to an address that is not followed"):
        hub.listing(SIGLIP, "main")


def test_where_a_redirect_may_lead() -> None:
    here, there = permit("http://127.0.0.1:8000"), permit("https://hub.example", "hub.example")
    assert next_hop(here, "http://127.0.0.1:8000/x?y=1").port == 8000
    assert next_hop(here, "https://cdn.example/x").host == "cdn.example"
    assert next_hop(there, "https://cdn.example:8443/x?sign=%2F").port == 8443
    for refused in (
        *(
            "http://hub.example/x",
            "http://cdn.example/x",
            "https://127.0.0.1/x",
            "https://localhost/x",
            "https://[::1]/x",
        ),
        *("https://169.254.169.254/x", "https://0x7f.1/x", "javascript:x", "https://user@cdn.example/x", "https:///x"),
    ):
        with pytest.raises(EndpointRefusedError):
            next_hop(there, refused)


def test_a_silent_server_does_not_hold_up_who_wants_to_stop(server: HubServer) -> None:
    stopped = threading.Event()

    def check() -> None:
        if stopped.is_set():
            raise CancelledError("Stopped.")

    server.queue("list", Behaviour("stall", 1))
    threading.Timer(0.3, stopped.set).start()
    began = time.monotonic()
    with pytest.raises(CancelledError):
        Hub(server.url, check).listing(SIGLIP, "main")
    assert time.monotonic() - began < 10  # the server would be silent for 30
