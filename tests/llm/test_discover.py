"""Models are found on the usual ports and at the configured address, and nowhere else."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from docmind.config import LLMSettings
from docmind.llm.discover import PORTS, discover
from llm_server import LLMServer, Model, serving

CHAT = Model("llama3.2:3b")
LOADED = Model("qwen3:8b", is_loaded=True, capabilities=("completion",))
MODELS = (
    Model("nomic-embed-text:latest", "nomic-bert", ("embedding",)),
    Model("sentences", "bert", None),
    Model("bge-m3", "other", None),
    Model("all-minilm:l6", "other", None),
    CHAT,
    Model("vectors-of-mine", "llama", ("embedding",)),
    LOADED,
    Model("old:1b", "llama", None),
)


@pytest.fixture
def ollama() -> Iterator[LLMServer]:
    with serving(protocols=("ollama",), models=MODELS) as one:
        yield one


@pytest.fixture
def openai() -> Iterator[LLMServer]:
    with serving(protocols=("openai",), models=(Model("qwen2.5-7b"), Model("text-embedding-nomic"))) as one:
        yield one


def nobody() -> int:
    """Return a port without a server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_probed_ports_are_those_of_model_servers_not_of_the_app() -> None:
    assert ("ollama", 11434) in PORTS
    assert {8080, 1234, 8000} <= {port for provider, port in PORTS if provider == "openai"}
    assert 8501 not in {port for _, port in PORTS}


def test_chat_models_of_ollama_are_found_loaded_ones_first(ollama: LLMServer) -> None:
    found = discover(LLMSettings(), ports=[("ollama", ollama.port)])
    assert [(one.model, one.is_tool_calling) for one in found.models] == [
        ("qwen3:8b", False),
        ("llama3.2:3b", True),
        ("old:1b", None),
    ]
    assert {(one.provider, one.url, one.is_remote) for one in found.models} == {("ollama", ollama.url, False)}
    assert not found.degraded
    assert not found.at_url


def test_models_of_openai_compatible_servers_are_found(openai: LLMServer) -> None:
    found = discover(LLMSettings(), ports=[("openai", openai.port)])
    assert [(one.name, one.url, one.is_tool_calling) for one in found.models] == [
        ("openai/qwen2.5-7b", f"{openai.url}/v1", None)
    ]


@pytest.mark.parametrize(("wanted", "known"), [("auto", [True, False, None]), ("on", [True] * 3), ("off", [False] * 3)])
def test_models_that_accept_images_are_known_or_set(wanted: str, known: list[bool | None]) -> None:
    models = (Model("gemma3:4b", capabilities=("completion", "vision")), CHAT, Model("old:1b", "llama", None))
    settings = LLMSettings.model_validate({"takes_images": wanted})
    with serving(models=models) as one:
        found = discover(settings, ports=[("ollama", one.port)])
        assert [model.takes_images for model in found.models] == known
        found = discover(settings, ports=[("openai", one.port)])  # as llama.cpp lists its own model
        assert [model.takes_images for model in found.models] == [
            known[0],
            *([None] * 2 if wanted == "auto" else known[1:]),
        ]
        at_url = discover(settings.model_copy(update={"url": one.url}), ports=[])
        assert at_url.at_url == at_url.models
        assert [model.takes_images for model in at_url.at_url] == known


@pytest.mark.parametrize(
    "listed", [b"7", b'[{"name": "m"}]', b'[{"name": "m", "capabilities": "multimodal"}]', b"[3, null]"]
)
def test_what_is_no_list_of_capabilities_tells_nothing(listed: bytes, openai: LLMServer) -> None:
    openai.listing = b'{"data": [{"id": "m"}], "models": ' + listed + b"}"
    (model,) = discover(LLMSettings(), ports=[("openai", openai.port)]).models
    assert model.takes_images is None


def test_nobody_there_is_no_news() -> None:
    assert discover(LLMSettings(), ports=[("ollama", nobody()), ("openai", nobody())]) == discover(
        LLMSettings(), ports=[]
    )


@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_only_the_provider_that_is_set_is_asked(provider: str, ollama: LLMServer, openai: LLMServer) -> None:
    ports = [("ollama", ollama.port), ("openai", openai.port)]
    settings = LLMSettings.model_validate({"provider": provider})
    found = discover(settings, ports=ports)  # type: ignore[arg-type]
    assert {one.provider for one in found.models} == {provider}
    assert bool(ollama.received) == (provider == "ollama")
    assert bool(openai.received) == (provider == "openai")


@pytest.mark.parametrize(
    "listing",
    [b"<html>", b"\xff\xfe", b"[]", b'"models"', b'{"models": 3, "data": {}}', b'{"models": [1], "data": ["x"]}',
     b"{}", b"[" * 100_000, b"x" * 3_000_000],
)  # fmt: skip
def test_nonsense_is_named_and_left_aside(listing: bytes, ollama: LLMServer, openai: LLMServer) -> None:
    ollama.listing = listing
    found = discover(LLMSettings(), ports=[("ollama", ollama.port), ("openai", openai.port)])
    assert [one.provider for one in found.models] == ["openai"]
    told = [one.reason for one in found.degraded]
    if len(listing) < 1_000_000:  # what is too long is not read, and so not judged
        assert told == [f"127.0.0.1:{ollama.port} answers, but not like a server of language models."]


@pytest.mark.parametrize("name", ["", "a\nb", "a\u202eb", "x" * 300, 7, None, "\x1b[2J"])
def test_names_that_cannot_be_shown_are_left_out(name: object, openai: LLMServer) -> None:
    import json

    openai.listing = json.dumps({"data": [{"id": name}, {"id": "good"}, {}]}).encode()
    assert [one.model for one in discover(LLMSettings(), ports=[("openai", openai.port)]).models] == ["good"]


def test_another_program_on_a_usual_port_is_no_news() -> None:
    with serving(protocols=()) as other:
        found = discover(LLMSettings(), ports=[("openai", other.port), ("ollama", other.port)])
    assert found.models == found.degraded == ()


def test_servers_are_asked_side_by_side_and_not_for_long(openai: LLMServer) -> None:
    slow = [serving() for _ in range(4)]
    servers = [one.__enter__() for one in slow]
    try:
        for server in servers:
            server.listing_s = 20
        started = time.monotonic()
        found = discover(LLMSettings(), ports=[("openai", one.port) for one in (*servers, openai)])
        assert time.monotonic() - started < 4  # one after the other it would be 80 s; the promise is 1 s
        assert [one.model for one in found.models] == ["qwen2.5-7b"]
    finally:
        for one in slow:
            one.__exit__(None, None, None)


# --- the address that is set ------------------------------------------------------------------------------------------


def test_what_stands_at_the_address_is_found_out(ollama: LLMServer, openai: LLMServer) -> None:
    found = discover(LLMSettings(url=ollama.url), ports=[])
    assert [one.model for one in found.models] == ["qwen3:8b", "llama3.2:3b", "old:1b"]
    assert found.at_url == found.models
    for url in (openai.url, f"{openai.url}/v1", f"{openai.url}/v1/"):
        found = discover(LLMSettings(url=url), ports=[])
        assert [(one.provider, one.url) for one in found.models] == [("openai", f"{openai.url}/v1")]


def test_a_server_that_speaks_both_is_asked_as_ollama() -> None:
    with serving() as both:
        found = discover(LLMSettings(url=f"{both.url}/v1"), ports=[("openai", both.port)])
        assert [(one.provider, one.url) for one in found.models] == [("ollama", both.url)]
        found = discover(LLMSettings(url=both.url, provider="openai"), ports=[])
        assert [(one.provider, one.url) for one in found.models] == [("openai", f"{both.url}/v1")]


def test_the_address_comes_first_and_the_usual_ports_after(ollama: LLMServer, openai: LLMServer) -> None:
    found = discover(LLMSettings(url=openai.url), ports=[("ollama", ollama.port)])
    assert [one.model for one in found.models] == ["qwen2.5-7b", "qwen3:8b", "llama3.2:3b", "old:1b"]
    assert [one.model for one in found.at_url] == ["qwen2.5-7b"]


def test_the_key_goes_to_the_address_alone(ollama: LLMServer, openai: LLMServer) -> None:
    discover(LLMSettings(url=openai.url, api_key=SecretStr("k-1")), ports=[("ollama", ollama.port)])
    assert {one.headers.get("authorization") for one in openai.received} == {"Bearer k-1"}
    assert {one.headers.get("authorization") for one in ollama.received} == {None}


def test_an_address_that_is_down_is_named() -> None:
    port = nobody()
    found = discover(LLMSettings(url=f"http://127.0.0.1:{port}"), ports=[])
    assert [one.reason for one in found.degraded] == [f"127.0.0.1:{port} cannot be reached; is its server running?"]


def test_an_address_with_another_program_is_named() -> None:
    with serving(protocols=()) as other:
        found = discover(LLMSettings(url=other.url), ports=[])
    assert "not like a server of language models" in found.degraded[0].reason


def test_an_address_that_is_not_allowed_is_named_and_not_asked(openai: LLMServer) -> None:
    settings = LLMSettings(url=f"http://models.example:{openai.port}")
    found = discover(settings, ports=[])
    assert "models.example isn't this computer" in found.degraded[0].reason
    assert "DOCMIND_LLM__ALLOWED_HOSTS" in found.degraded[0].reason
    allowed = settings.model_copy(update={"allowed_hosts": f"models.example:{openai.port}"})
    found = discover(allowed, ports=[], resolve=lambda host, port: ["127.0.0.1"])
    assert [(one.model, one.is_remote) for one in found.models] == [("qwen2.5-7b", True)]
    found = discover(allowed, ports=[], resolve=lambda host, port: ["169.254.169.254"])
    assert "never contacted" in found.degraded[0].reason
    keyed = allowed.model_copy(update={"api_key": SecretStr("k-1")})
    found = discover(keyed, ports=[], resolve=lambda host, port: ["127.0.0.1"])
    assert "unencrypted" in found.degraded[0].reason
