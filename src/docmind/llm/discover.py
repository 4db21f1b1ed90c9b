"""Discovery of served language models: at the usual ports of this machine, and at the configured address.

Every probe is one small GET with its own time limit; all run in parallel. Heavy packages are not imported.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import httpx

from docmind.config import LLMSettings
from docmind.errors import EndpointRefusedError
from docmind.llm.client import key_for
from docmind.network import Endpoint, Resolve, fetch, permit, resolve_here
from docmind.records.conversations import ModelInfo
from docmind.records.search import Degraded
from docmind.rich_text import plain_line
from docmind.wording import _

Provider = Literal["ollama", "openai"]
PORTS: tuple[tuple[Provider, int], ...] = (
    ("ollama", 11434),
    ("openai", 8080),  # llama.cpp
    ("openai", 1234),  # LM Studio
    ("openai", 8000),  # vLLM
    ("openai", 8001),
)
_PROBE_S = 0.5
_ALL_S = 0.95
_MOST_MODELS = 200
_MOST_SHOWN = 16  # models of one Ollama whose capabilities are requested
_LIST_BYTES = 2 * 1024 * 1024
_NO_CHAT = re.compile(r"embed|minilm|rerank|whisper|(^|[^a-z0-9])(bge|gte|e5|tts)([^a-z]|$)", re.IGNORECASE)
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class Found:
    """The models, those of the configured address first, and the servers that could not be used."""

    models: tuple[ModelInfo, ...] = ()
    degraded: tuple[Degraded, ...] = ()
    at_url: tuple[ModelInfo, ...] = ()
    """The models of the configured address: only these get its key."""


class _NonsenseError(Exception):
    """Raised where a server answers, but not with a list of models."""


def discover(
    settings: LLMSettings, *, ports: Sequence[tuple[Provider, int]] = PORTS, resolve: Resolve = resolve_here
) -> Found:
    """Probe all servers, within a second. A missing server is reported only if its address is configured."""
    key = settings.api_key.get_secret_value() if settings.api_key else ""
    probes: list[Callable[[], Found]] = []
    taken: set[int] = set()
    refused: tuple[Degraded, ...] = ()
    if settings.url and settings.provider != "inside":
        try:
            endpoint = permit(settings.url, settings.allowed_hosts, "language model")
            key_for(endpoint, key)
            taken = {endpoint.port} if endpoint.is_local else set()
            probes.append(lambda: _ask_set(endpoint, settings, key, resolve))
        except EndpointRefusedError as error:
            refused = (Degraded("answers", f"{error} {error.hint}"),)
    for provider, port in ports:
        if settings.provider in ("auto", provider) and port not in taken:
            here = permit(f"http://127.0.0.1:{port}")
            probes.append(lambda provider=provider, here=here: _ask_port(provider, here, resolve))
    answers = _side_by_side(probes, _ALL_S)
    if settings.url and probes and not refused and answers[0] is None:
        refused = (_unreachable(settings.url),)
    found = [_as_set(answer, settings) for answer in answers if answer is not None]
    models = tuple(model for one in found for model in one.models)
    notes = (*refused, *(note for one in found for note in one.degraded))
    return Found(models[:_MOST_MODELS], notes, tuple(model for one in found for model in one.at_url))


def _as_set(found: Found, settings: LLMSettings) -> Found:
    """Return the models with what the settings say of images in place of what their servers tell."""
    if settings.takes_images == "auto":
        return found
    takes_images = settings.takes_images == "on"
    models = tuple(replace(model, takes_images=takes_images) for model in found.models)
    at_url = tuple(replace(model, takes_images=takes_images) for model in found.at_url)
    return replace(found, models=models, at_url=at_url)


def _ask_port(provider: Provider, here: Endpoint, resolve: Resolve) -> Found:
    try:
        return Found(_models(provider, here, "", resolve))
    except httpx.HTTPError:  # no server, or one without this protocol
        return Found()
    except _NonsenseError:
        return Found(degraded=(_nonsense(here),))
    except EndpointRefusedError:  # it redirects: some other program of the user
        return Found()


def _ask_set(endpoint: Endpoint, settings: LLMSettings, key: str, resolve: Resolve) -> Found:
    """Probe the configured address. Without a provider both are tried; Ollama supports both, and is then Ollama."""
    providers: tuple[Provider, ...] = ("openai",) if settings.provider == "openai" else ("ollama", "openai")
    if settings.provider == "ollama":
        providers = ("ollama",)
    outcomes = _side_by_side([lambda one=one: _outcome(one, endpoint, key, resolve) for one in providers], _ALL_S)
    for outcome in outcomes:
        if isinstance(outcome, tuple):
            return Found(outcome, at_url=outcome)
    told = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    for error in told:
        if isinstance(error, EndpointRefusedError):
            return Found(degraded=(Degraded("answers", f"{error} {error.hint}"),))
    statuses = [error.response.status_code for error in told if isinstance(error, httpx.HTTPStatusError)]
    if 401 in statuses or 403 in statuses:
        return Found(
            degraded=(
                Degraded("answers", _("{label} needs another key: DOCMIND_LLM__API_KEY.").format(label=endpoint.label)),
            )
        )
    if statuses or any(isinstance(error, _NonsenseError) for error in told):
        return Found(degraded=(_nonsense(endpoint),))
    return Found(degraded=(_unreachable(endpoint.label),))


def _outcome(
    provider: Provider, endpoint: Endpoint, key: str, resolve: Resolve
) -> tuple[ModelInfo, ...] | httpx.HTTPError | _NonsenseError | EndpointRefusedError:
    try:
        return _models(provider, endpoint, key, resolve)
    except (httpx.HTTPError, _NonsenseError, EndpointRefusedError) as error:
        return error


def _models(provider: Provider, endpoint: Endpoint, key: str, resolve: Resolve) -> tuple[ModelInfo, ...]:
    """Return the models of one server. Raises httpx's errors, `_NonsenseError`, `EndpointRefusedError`."""
    if provider == "openai":
        base = endpoint if endpoint.path else replace(endpoint, path="/v1")
        listed = _json(base, "/models", key, resolve)
        names = [_name(one, "id") for one in _listed(listed, "data")]
        chat = [name for name in names if name and not _NO_CHAT.search(name)]
        seeing, contexts = _seeing(listed), _contexts(base, listed, key, resolve)
        return tuple(
            ModelInfo(
                "openai",
                base.url,
                name,
                None,
                not base.is_local,
                takes_images=True if name in seeing else None,
                context_tokens=contexts.get(name, 0),
            )
            for name in chat
        )
    base = replace(endpoint, path=endpoint.path.removesuffix("/v1"))
    listed = _json(base, "/api/tags", key, resolve)
    families = {_name(one, "name"): _family(one) for one in _listed(listed, "models")}
    names = [name for name, family in families.items() if name and "bert" not in family and not _NO_CHAT.search(name)]
    running = [] if not names else _running(base, key, resolve)
    names.sort(key=lambda name: name not in running)  # models in memory answer fastest
    shown = _side_by_side(
        [lambda name=name: _abilities(base, name, key, resolve) for name in names[:_MOST_SHOWN]], _PROBE_S
    )
    models = []
    for at, name in enumerate(names):
        abilities, context = (shown[at] if at < len(shown) else None) or (None, 0)
        if abilities is None or "completion" in abilities:
            calls_tools = None if abilities is None else "tools" in abilities
            takes_images = None if abilities is None else "vision" in abilities
            models.append(
                ModelInfo(
                    "ollama",
                    base.url,
                    name,
                    calls_tools,
                    not base.is_local,
                    takes_images=takes_images,
                    context_tokens=context,
                )
            )
    return tuple(models)


def _seeing(listed: dict[str, Any]) -> set[str]:
    """Return the names of the models that accept images, where an OpenAI-compatible server tells.

    llama.cpp lists its model twice, the second time under `models` with its `capabilities`; LM Studio and vLLM do not
    tell.
    """
    told = listed.get("models")
    models = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
    able = [one for one in models[:_MOST_MODELS] if "multimodal" in _strings(one.get("capabilities"))]
    return {name for one in able for field in ("name", "model") if (name := _name(one, field))}


def _contexts(base: Endpoint, listed: dict[str, Any], key: str, resolve: Resolve) -> dict[str, int]:
    """Return how many tokens the models of an OpenAI-compatible server take in, where it tells.

    vLLM tells with each model, llama.cpp in its properties; LM Studio does not.
    """
    entries = _listed(listed, "data")
    told = {_name(one, "id"): _count(one.get("max_model_len")) or _count(one.get("context_length")) for one in entries}
    if any(one.get("owned_by") == "llamacpp" for one in entries) and not any(told.values()):
        try:
            properties = _json(replace(base, path=base.path.removesuffix("/v1")), "/props", key, resolve)
        except (httpx.HTTPError, _NonsenseError):
            return told
        generation = properties.get("default_generation_settings")
        context = _count(generation.get("n_ctx")) if isinstance(generation, dict) else 0
        told = dict.fromkeys(told, context)
    return told


def _count(told: object) -> int:
    """Return a positive number; 0 for anything else."""
    return told if isinstance(told, int) and not isinstance(told, bool) and told > 0 else 0


def _strings(listed: object) -> list[str]:
    return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []


def _running(base: Endpoint, key: str, resolve: Resolve) -> list[str]:
    try:
        return [_name(one, "name") for one in _listed(_json(base, "/api/ps", key, resolve), "models")]
    except (httpx.HTTPError, _NonsenseError):  # an old Ollama without this request
        return []


def _abilities(base: Endpoint, name: str, key: str, resolve: Resolve) -> tuple[tuple[str, ...] | None, int] | None:
    """Return a model's capabilities in Ollama's words, None where it does not tell, and the tokens that it takes in.

    None for an old Ollama without this request.
    """
    try:
        told = _json(base, "/api/show", key, resolve, {"model": name})
    except (httpx.HTTPError, _NonsenseError):
        return None
    abilities, facts = told.get("capabilities"), told.get("model_info")
    found = (_count(value) for name, value in (facts if isinstance(facts, dict) else {}).items()
             if name.endswith(".context_length"))  # fmt: skip
    return tuple(str(one) for one in abilities) if isinstance(abilities, list) else None, next(found, 0)


def _json(base: Endpoint, path: str, key: str, resolve: Resolve, body: Any = None) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    limit_s = _PROBE_S if base.is_local else _ALL_S
    status, raw = fetch(
        base, path, timeout_s=limit_s, max_bytes=_LIST_BYTES, body=body, headers=headers, resolve=resolve
    )
    if status != 200:
        request = httpx.Request("GET", base.url)
        raise httpx.HTTPStatusError(f"status {status}", request=request, response=httpx.Response(status))
    try:
        told = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise _NonsenseError from error
    if not isinstance(told, dict):
        raise _NonsenseError
    return told


def _listed(told: dict[str, Any], name: str) -> list[dict[str, Any]]:
    listed = told.get(name)
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise _NonsenseError
    return listed[:_MOST_MODELS]


def _name(one: dict[str, Any], field: str) -> str:
    """Return the name of a model; empty where it cannot be shown in one line."""
    name = one.get(field)
    return name if isinstance(name, str) and name and plain_line(name, 200) == name else ""


def _family(one: dict[str, Any]) -> str:
    details = one.get("details")
    return str(details.get("family", "")).lower() if isinstance(details, dict) else ""


def _side_by_side(works: Iterable[Callable[[], _R]], limit_s: float) -> list[_R | None]:
    """Run functions in parallel; return the results in order, None for those not done in time, which run on."""
    works = list(works)
    results: list[_R | None] = [None] * len(works)

    def run(at: int) -> None:
        results[at] = works[at]()

    threads = [threading.Thread(target=run, args=(at,), daemon=True) for at in range(len(works))]
    until = time.monotonic() + limit_s
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return list(results)


def _nonsense(endpoint: Endpoint) -> Degraded:
    return Degraded(
        "answers", _("{label} answers, but not like a server of language models.").format(label=endpoint.label)
    )


def _unreachable(where: str) -> Degraded:
    return Degraded("answers", _("{where} cannot be reached; is its server running?").format(where=plain_line(where)))
