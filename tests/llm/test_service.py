"""The model that answers: the chosen, the configured or the first one; and why there is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pydantic import SecretStr

from conftest import ROOT
from docmind.config import LLMSettings
from docmind.errors import EndpointRefusedError
from docmind.llm.base import Message
from docmind.llm.discover import Found, discover
from docmind.llm.service import LanguageModels
from docmind.records.conversations import ModelInfo
from docmind.storage.database import Database
from docmind.storage.preferences import Preferences
from llm_server import LLMServer, Model, serving

TWO = (Model("llama3.2:3b"), Model("qwen3:8b"))
ASK = (Message("user", "What?"),)


@pytest.fixture
def preferences(tmp_path: Path) -> Iterator[Preferences]:
    database = Database(tmp_path / "vault.db", os.urandom(32))
    yield Preferences(database)
    database.close()


@pytest.fixture
def ollama() -> Iterator[LLMServer]:
    with serving(protocols=("ollama",), models=TWO) as one:
        yield one


@pytest.fixture
def openai() -> Iterator[LLMServer]:
    with serving(protocols=("openai",), models=(Model("phi-4"),)) as one:
        yield one


def models_of(preferences: Preferences, *servers: LLMServer, **settings: object) -> LanguageModels:
    """Return the real models service, probing the ports of these servers instead of the usual ones."""
    ports = [("ollama" if "ollama" in server.protocols else "openai", server.port) for server in servers]
    probe = partial(discover, ports=ports)  # type: ignore[arg-type]
    return LanguageModels(LLMSettings.model_validate(settings), preferences, discover=probe)


def agreed(models: LanguageModels) -> LanguageModels:
    """Let the model that waits for the user's consent write the answers."""
    waiting = models.list().waiting
    assert waiting is not None
    models.choose(waiting)
    return models


def in_use(models: LanguageModels) -> str:
    """Return the name of the model in use after all servers were probed."""
    models.list()
    current = models.current()
    return current.info.name if current else ""


def test_a_server_that_was_found_gets_nothing_before_the_user_agrees(
    preferences: Preferences, ollama: LLMServer, openai: LLMServer
) -> None:
    models = models_of(preferences, ollama, openai)
    listed = models.list()
    assert listed.chosen is None
    assert listed.waiting == models.waiting() == listed.models[0]
    assert models.current() is None
    assert models.degraded() == ()
    told = models.capability()
    assert (told.state, told.hint) == ("missing", "docmind models use ollama/llama3.2:3b")
    assert "gets nothing until you agree" in told.detail
    agreed(models)
    assert models.list().waiting is models.waiting() is None
    assert in_use(models) == in_use(models_of(preferences, ollama, openai)) == "ollama/llama3.2:3b"
    assert not [*ollama.asked(), *openai.asked()]


def test_a_user_who_refuses_is_not_asked_again(preferences: Preferences, ollama: LLMServer, openai: LLMServer) -> None:
    models_of(preferences, ollama).choose(None)
    for models in (models_of(preferences, ollama), models_of(preferences, openai)):
        assert models.list().waiting is models.waiting() is models.current() is None


def test_another_server_is_not_used_by_an_earlier_consent(
    preferences: Preferences, ollama: LLMServer, openai: LLMServer
) -> None:
    agreed(models_of(preferences, ollama))
    models = models_of(preferences, openai)
    assert in_use(models) == ""
    assert models.list().waiting is None
    assert "n't available" in models.degraded()[0].reason


def test_what_the_user_agreed_to_writes(preferences: Preferences, ollama: LLMServer, openai: LLMServer) -> None:
    models = agreed(models_of(preferences, ollama, openai))
    listed = models.list()
    assert [one.name for one in listed.models] == ["ollama/llama3.2:3b", "ollama/qwen3:8b", "openai/phi-4"]
    assert listed.chosen == listed.models[0]
    assert not listed.is_off
    current = models.current()
    assert current is not None
    assert current.info == listed.chosen
    assert "".join(current.stream(ASK, lambda: False)) == "The documents do not say it."
    assert models.degraded() == ()
    assert models.capability().state == "present"
    assert "written by llama3.2:3b on this machine" in models.capability().detail


def test_the_choice_is_kept(preferences: Preferences, ollama: LLMServer, openai: LLMServer) -> None:
    models = models_of(preferences, ollama, openai)
    models.choose(models.list().models[2])
    assert in_use(models) == "openai/phi-4"
    assert in_use(models_of(preferences, ollama, openai)) == "openai/phi-4"
    assert in_use(models_of(preferences, ollama, openai, model="qwen3:8b")) == "openai/phi-4"


def test_quotes_only_may_be_chosen(preferences: Preferences, ollama: LLMServer) -> None:
    models = models_of(preferences, ollama)
    models.choose(None)
    for one in (models, models_of(preferences, ollama)):
        assert one.current() is None
        assert one.degraded() == ()
        assert one.list().is_off
        assert one.list().chosen is None
        assert len(one.list().models) == 2  # so that one can be chosen again
        assert one.capability().state == "off"
    models.choose(models.list().models[1])
    assert in_use(models) == "ollama/qwen3:8b"


def test_a_chosen_model_that_has_gone_is_told(preferences: Preferences, ollama: LLMServer) -> None:
    models = models_of(preferences, ollama)
    models.choose(models.list().models[1])
    ollama.models.pop()
    listed = models.list(refresh=True)
    assert listed.chosen is None
    assert models.current() is None
    assert [one.reason for one in models.degraded()] == [
        f"the model qwen3:8b, chosen in Settings, isn't available at {ollama.url} now."
    ]
    assert listed.degraded == models.degraded()
    assert models.capability().state == "missing"
    ollama.models.append(Model("qwen3:8b"))
    models.list(refresh=True)
    assert in_use(models) == "ollama/qwen3:8b"
    assert models.degraded() == ()


@pytest.mark.parametrize(
    ("name", "used"),
    [("qwen3:8b", "ollama/qwen3:8b"), ("openai/phi-4", "openai/phi-4"), ("mistral", "ollama/mistral:latest")],
)
def test_the_model_that_is_set_writes(
    preferences: Preferences, ollama: LLMServer, openai: LLMServer, name: str, used: str
) -> None:
    ollama.models.append(Model("mistral:latest"))
    models = models_of(preferences, ollama, openai, model=name)
    assert in_use(models) == ""
    assert in_use(agreed(models)) == used


def test_a_model_that_is_set_and_not_offered_is_told(preferences: Preferences, ollama: LLMServer) -> None:
    models = models_of(preferences, ollama, model="gone:1b")
    assert in_use(models) == ""
    assert [one.reason for one in models.degraded()] == ["the model gone:1b (DOCMIND_LLM__MODEL) isn't available now."]


def test_the_configured_server_comes_first_and_is_not_replaced(
    preferences: Preferences, ollama: LLMServer, openai: LLMServer
) -> None:
    assert in_use(models_of(preferences, ollama, url=openai.url)) == "openai/phi-4"
    openai.shutdown()
    openai.server_close()
    models = models_of(preferences, ollama, url=openai.url)
    assert in_use(models) == ""
    assert [one.reason for one in models.degraded()] == [
        f"127.0.0.1:{openai.port} cannot be reached; is its server running?"
    ]
    assert len(models.list().models) == 2  # they can be chosen


def test_no_server_is_no_complaint(preferences: Preferences) -> None:
    models = models_of(preferences)
    assert models.current() is None
    assert models.degraded() == models.list().degraded == ()
    assert models.capability().state == "missing"
    assert "Ollama" in models.capability().hint


def test_off_asks_nobody(preferences: Preferences, ollama: LLMServer) -> None:
    models = models_of(preferences, ollama, provider="off")
    models.warm()
    assert models.list(refresh=True).is_off
    assert models.list().models == ()
    assert models.current() is None
    assert models.degraded() == ()
    assert models.capability().state == "off"
    assert not ollama.received


def test_the_key_goes_to_the_address_alone(preferences: Preferences, ollama: LLMServer, openai: LLMServer) -> None:
    models = models_of(preferences, ollama, url=openai.url, api_key=SecretStr("k-1"))
    for info in models.list().models:
        models.choose(info)
        current = models.current()
        assert current is not None
        list(current.stream(ASK, lambda: False))
    assert {one.headers.get("authorization") for one in openai.received} == {"Bearer k-1"}
    assert {one.headers.get("authorization") for one in ollama.received} == {None}


def test_a_host_that_is_not_allowed_cannot_be_chosen(preferences: Preferences) -> None:
    models = models_of(preferences)
    with pytest.raises(EndpointRefusedError):
        models.choose(ModelInfo("openai", "http://models.example/v1", "m", is_remote=True))
    assert preferences.get("llm.model") is None


def test_nobody_waits_for_a_slow_server(preferences: Preferences, ollama: LLMServer) -> None:
    ollama.listing_s = 30
    models = models_of(preferences, ollama, model="qwen3:8b")
    started = time.monotonic()
    assert models.current() is None
    assert time.monotonic() - started < 3  # the promise is 0.3 s; it would be 30
    assert "haven't answered yet" in models.degraded()[0].reason or "n't available" in models.degraded()[0].reason


def test_what_was_found_is_not_asked_for_again(preferences: Preferences, ollama: LLMServer) -> None:
    models = models_of(preferences, ollama)
    models.list()
    asked = len(ollama.received)
    for _ in range(20):
        models.list()
        models.current()
        models.degraded()
    assert len(ollama.received) == asked
    models.list(refresh=True)
    assert len(ollama.received) > asked


def test_threads_share_one_look_around(preferences: Preferences) -> None:
    looks: list[float] = []
    info = ModelInfo("ollama", "http://127.0.0.1:11434", "m")

    def slowly(settings: LLMSettings) -> Found:
        looks.append(time.monotonic())
        time.sleep(0.2)
        return Found((info,))

    models = LanguageModels(LLMSettings(), preferences, discover=slowly)
    seen: list[int] = []
    threads = [threading.Thread(target=lambda: seen.append(len(models.list().models))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert seen == [1] * 8
    assert len(looks) == 1


def test_one_slow_look_around_does_not_take_a_model_away(
    preferences: Preferences, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docmind.llm.service._KEPT_S", 0.0)
    monkeypatch.setattr("docmind.llm.service._KEPT_EMPTY_S", 0.0)
    answers, looks = [Found((ModelInfo("ollama", "http://127.0.0.1:11434", "m"),))], []

    def next_one(settings: LLMSettings) -> Found:
        looks.append(settings)
        return answers.pop() if answers else Found()

    info = answers[0].models[0]
    models = LanguageModels(LLMSettings(), preferences, discover=next_one)
    models.choose(info)
    assert models.list().chosen == info
    until = time.monotonic() + 10
    while models.current() is not None and time.monotonic() < until:  # each call looks around once more
        time.sleep(0.01)
    assert models.current() is None
    assert len(looks) >= 4  # the one that finds it, two that do not, and that of the call that is told so


@pytest.mark.slow
def test_libraries_are_loaded_for_a_model_before_it_is_asked(tmp_path: Path) -> None:
    """In a fresh process, because imports of other tests would hide it."""
    code = """
import functools, json, sys, threading
from docmind.config import LLMSettings
from docmind.llm.service import LanguageModels
heavy = lambda: sorted({"openai", "ollama", "llama_index", "httpx"} & set(sys.modules))
seen = [heavy()]
class Kept:
    def get(self, name):
        return {"provider": "openai", "url": f"http://127.0.0.1:{sys.argv[2]}/v1", "model": "llama3.2:3b"}
from docmind.llm.discover import discover
for port in map(int, sys.argv[1:]):
    models = LanguageModels(LLMSettings(), Kept(), discover=functools.partial(discover, ports=[("openai", port)]))
    models.warm()
    for thread in threading.enumerate():
        if thread.name == "docmind-models":
            thread.join()
    seen.append(heavy())
print(json.dumps([*seen, models.current().info.model]))
"""
    with serving(protocols=("openai",)) as server, serving(protocols=()) as nobody:
        command = [sys.executable, "-c", code, str(nobody.port), str(server.port)]
        environment = dict(os.environ, PYTHONPATH=str(ROOT / "src"))
        told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path)
    first, without, with_one, model = json.loads(told.stdout)
    assert first == []
    assert without == ["httpx"]
    assert with_one == ["httpx", "llama_index", "openai"]
    assert model == "llama3.2:3b"


def test_a_server_started_with_another_context_is_believed(preferences: Preferences, openai: LLMServer) -> None:
    openai.models = [Model("phi-4", context=4_096)]
    models = models_of(preferences, openai, provider="openai")
    models.choose(models.list().models[0])
    first = models.current()
    assert first is not None
    assert first.info.context_tokens == 4_096
    openai.models = [Model("phi-4", context=1_024)]
    models.list(refresh=True)
    again = models.current()
    assert again is not None
    assert again.info.context_tokens == 1_024
    assert models.current() is again
