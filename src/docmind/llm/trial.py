"""One real question to a language model at an address, before it is used."""

from __future__ import annotations

import time
from dataclasses import dataclass

from docmind.config import LLMSettings
from docmind.errors import ConfigError, LanguageModelBrokenError, LanguageModelDownError
from docmind.llm.base import Message
from docmind.llm.client import ServedModel
from docmind.llm.discover import discover
from docmind.records.conversations import ModelInfo
from docmind.wording import _

_QUESTION = "Reply with the word ready."
_LONGEST_S = 60.0
_SHOWN = 60  # characters of the reply


@dataclass(frozen=True, slots=True)
class Trial:
    """A model that answered: how long it took, in seconds, and the beginning of its reply."""

    model: ModelInfo
    seconds: float
    reply: str


def try_model(settings: LLMSettings) -> Trial:
    """Ask the model of these settings, at their address, one question. Nothing of the user's documents is sent.

    Raises `ConfigError` without an address, and the kinds of `LanguageModelError`.
    """
    if not settings.url:
        raise ConfigError(_("There is no address to ask."), hint=_("Type one, such as http://127.0.0.1:11434."))
    found = discover(settings, ports=())
    if not found.at_url:
        why = (
            found.degraded[0].reason
            if found.degraded
            else _("{url} serves no language model.").format(url=settings.url)
        )
        raise LanguageModelDownError(why[:1].upper() + why[1:])
    names = (settings.model, f"{settings.model}:latest")
    models = [model for model in found.at_url if not settings.model or model.model in names or model.name in names]
    if not models:
        there = ", ".join(model.model for model in found.at_url[:5])
        raise LanguageModelDownError(
            _("The server answers, but has no model {model}.").format(model=f"{settings.model!r}"),
            hint=_("It has: {there}.").format(there=there),
        )
    key = settings.api_key.get_secret_value() if settings.api_key else ""
    started = time.monotonic()
    asked = ServedModel(models[0], settings, key=key)
    reply = "".join(asked.stream([Message("user", _QUESTION)], lambda: time.monotonic() - started > _LONGEST_S))
    if not reply.strip():
        raise LanguageModelBrokenError(_("{model} was asked, and its answer was empty.").format(model=models[0].model))
    return Trial(models[0], time.monotonic() - started, " ".join(reply.split())[:_SHOWN])
