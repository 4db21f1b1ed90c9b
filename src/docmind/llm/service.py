"""The choice of the language model for answers: the served models, the chosen one, and why there is none."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from docmind.config import LLMSettings
from docmind.errors import LanguageModelError
from docmind.llm.inside import InsideModel, InsideModels
from docmind.records.conversations import ModelInfo, ModelList
from docmind.records.documents import Capability
from docmind.records.search import Degraded
from docmind.wording import N_, _

if TYPE_CHECKING:
    from docmind.llm.base import ChatModel
    from docmind.llm.client import ServedModel
    from docmind.llm.discover import Found
    from docmind.network import Resolve
    from docmind.storage import Preferences

_KEPT_S = 30.0
_KEPT_EMPTY_S = 3.0  # so that the next question finds a server that was just started
_WAIT_S = 0.28
_STATUS_WAIT_S = 5.0  # GGUF files are looked at by a process that must start first
_CHOICE = "llm.model"
_QUOTES = N_("quotes from your pages")


class _Discover(Protocol):
    def __call__(self, settings: LLMSettings) -> Found: ...


class LanguageModels:
    """The language models. Thread-safe. Probes run in one thread at a time; their results are replaced as a whole.

    That thread also imports the client libraries, once there is a model.
    """

    def __init__(
        self,
        settings: LLMSettings,
        preferences: Preferences,
        *,
        discover: _Discover | None = None,
        resolve: Resolve | None = None,
        folder: Path | None = None,
    ) -> None:
        """`folder` holds the GGUF files that were added, for models that run inside DocMind."""
        self._settings = settings
        self._inside = InsideModels(settings, folder)
        self._preferences = preferences
        self._discover = discover
        self._resolve = resolve
        self._changed = threading.Condition()
        self._choice: object = None
        self._is_read = False
        self._found: Found | None = None
        self._found_at = 0.0
        self._is_probing = False
        self._is_doubted = False
        self._served: dict[ModelInfo, ServedModel | InsideModel] = {}

    def list(self, *, refresh: bool = False) -> ModelList:
        """Return the models offered now, within about a second; results of the last 30 seconds are reused.

        `refresh` probes again.
        """
        choice = self._chosen()
        if self._settings.provider == "off":
            return ModelList((), None, is_off=True)
        found = self._fresh() if not refresh else None
        if found is None:
            found = self._probe(newer_than=time.monotonic() if refresh else 0.0)
        degraded = (*found.degraded, *self._gone(found))
        return ModelList(found.models, self._pick(found), choice == "off", degraded, self._unasked(found))

    def choose(self, model: ModelInfo | None) -> None:
        """Choose the model for answers; None means none, only quotes. Raises `EndpointRefusedError`.

        That is the user's consent to send questions and passages to its server; one that was merely found gets none.
        """
        if model is None:
            kept: object = "off"
        else:
            if model.provider != "inside":
                from docmind.network import permit

                permit(model.url, self._settings.allowed_hosts, "language model")
            kept = {"provider": model.provider, "url": model.url, "model": model.model}
        self._preferences.put(_CHOICE, kept)
        with self._changed:
            self._choice, self._is_read = kept, True

    def add(self, file: Path) -> ModelInfo:
        """Add a GGUF file of this machine as a model inside DocMind; it is not chosen by that.

        Raises `ConfigError`, `DiskFullError`.
        """
        info = self._inside.add(file)
        self._drop_found()
        return info

    def take(self, file: Path) -> ModelInfo:
        """Move a fetched GGUF file to the models inside DocMind. Raises `ConfigError`."""
        info = self._inside.add(file, moves=True)
        self._drop_found()
        return info

    def remove(self, name: str) -> None:
        """Remove the GGUF file that was added under this name. Raises `NotFoundError`, `ConfigError`."""
        self._inside.remove(name)
        self._drop_found()

    def removal(self, name: str) -> str:
        """Return the sentence that says what `remove` would do; empty where there is nothing to remove."""
        return self._inside.removal(name)

    def close(self) -> None:
        """End the processes of models inside DocMind. Idempotent."""
        self._inside.close()

    def current(self) -> ChatModel | None:
        """Return the model to ask, or None where there is none. Waits at most 0.3 s, for the first probe."""
        if self._chosen() == "off" or self._settings.provider == "off":
            return None
        found = self._known()
        info = self._pick(found) if found else None
        return self._model(info, found) if found and info else None

    def waiting(self) -> ModelInfo | None:
        """Return the model that could answer once the user agrees, where none was chosen or set. Does not wait."""
        if self._chosen() is not None or self._settings.provider == "off":
            return None
        found = self._known(wait_s=0.0)
        return self._unasked(found) if found else None

    def degraded(self) -> tuple[Degraded, ...]:
        """Return why no model answers, where one was configured or chosen. Does not wait."""
        if self._chosen() == "off" or self._settings.provider == "off":
            return ()
        found = self._known(wait_s=0.0)
        if found is None:
            waiting = (Degraded("answers", _("the servers of language models haven't answered yet.")),)
            return waiting if self._settings.url or self._settings.model or self._chosen() else ()
        if self._pick(found) is not None:
            return ()
        return (*(found.degraded if self._settings.url or self._wants_inside() else ()), *self._gone(found))

    def capability(self) -> Capability:
        """Return the capability for `status`. Waits for the first probe, a few seconds at most."""
        if self._settings.provider == "off" or self._chosen() == "off":
            how = (
                _("unset DOCMIND_LLM__PROVIDER")
                if self._settings.provider == "off"
                else _("choose a model in Settings")
            )
            return Capability(
                "answers", "off", _("{quotes}; no language model is asked").format(quotes=_(_QUOTES)), how
            )
        found = self._known(wait_s=_STATUS_WAIT_S)
        info = self._pick(found) if found else None
        unasked = self._unasked(found) if found else None
        if unasked is not None:
            why = _("{quotes}; {model} was found at {url} and gets nothing until you agree").format(
                quotes=_(_QUOTES), model=unasked.model, url=unasked.url
            )
            return Capability("answers", "missing", why, _("docmind models use {name}").format(name=unasked.name))
        if info is None:
            reasons = self.degraded()
            why = reasons[0].reason.rstrip(".") if reasons else _("no language model is served on this computer")
            hint = _(
                "start Ollama, llama.cpp, LM Studio or vLLM here, add a GGUF file with `docmind models add "
                "FILE.gguf`, or set DOCMIND_LLM__URL"
            )
            return Capability("answers", "missing", f"{_(_QUOTES)}; {why}", hint)
        where = _("at {url}, which is not this computer").format(url=info.url) if info.is_remote else info.where
        return Capability(
            "answers",
            "present",
            _("written by {model} {where}, checked against your pages").format(model=info.model, where=where),
        )

    def warm(self) -> None:
        """Probe in the background, so that the first question does not wait. Returns at once."""
        if self._chosen() != "off" and self._settings.provider != "off":
            self._refresh_soon()

    def _chosen(self) -> object:
        """Return the stored choice: None, "off", or provider, url and model. Read once, by the calling thread."""
        with self._changed:
            if not self._is_read:
                self._choice, self._is_read = self._preferences.get(_CHOICE), True
            return self._choice

    def _pick(self, found: Found) -> ModelInfo | None:
        """Return the chosen model, else the configured one of the configured server, else its first.

        A server that was merely found at a usual port gets nothing before the user has agreed.
        """
        choice, settings = self._choice, self._settings
        if choice == "off":
            return None
        if isinstance(choice, dict):
            for model in found.models:
                if {"provider": model.provider, "url": model.url, "model": model.model} == choice:
                    return model
            return None
        has_url = settings.url is not None and settings.provider != "inside"
        models = self._named(found.at_url if has_url else found.models)
        return next((model for model in models if has_url or not model.url), None)

    def _unasked(self, found: Found) -> ModelInfo | None:
        """Return the first model that was found and that the user was not asked about, where no other may answer."""
        if self._choice is not None or self._settings.url or self._pick(found) is not None:
            return None
        return next(iter(self._named(found.models)), None)

    def _named(self, models: Sequence[ModelInfo]) -> Sequence[ModelInfo]:
        """Return the models of the configured name; all where there is no such setting."""
        if not self._settings.model:
            return models
        names = (self._settings.model, f"{self._settings.model}:latest")
        return [model for model in models if model.model in names or model.name in names]

    def _gone(self, found: Found) -> tuple[Degraded, ...]:
        if self._pick(found) is not None or self._choice == "off" or self._unasked(found) is not None:
            return ()
        if isinstance(self._choice, dict):
            model, url = self._choice.get("model", ""), self._choice.get("url", "")
            if self._choice.get("provider") == "inside":
                return (
                    Degraded(
                        "answers",
                        _("the model {model}, chosen in Settings, can't run inside DocMind now.").format(model=model),
                    ),
                )
            return (
                Degraded(
                    "answers",
                    _("the model {model}, chosen in Settings, isn't available at {url} now.").format(
                        model=model, url=url
                    ),
                ),
            )
        if self._settings.model:
            return (
                Degraded(
                    "answers",
                    _("the model {model} (DOCMIND_LLM__MODEL) isn't available now.").format(model=self._settings.model),
                ),
            )
        return ()

    def _wants_inside(self) -> bool:
        """Return whether a model inside DocMind was chosen or set: then it is told why there is none."""
        is_chosen = isinstance(self._choice, dict) and self._choice.get("provider") == "inside"
        return is_chosen or self._settings.gguf is not None or self._settings.provider == "inside"

    def _drop_found(self) -> None:
        with self._changed:
            self._found_at = -_KEPT_S

    def _model(self, info: ModelInfo, found: Found) -> ServedModel | InsideModel:
        from docmind.llm.client import ServedModel
        from docmind.network import resolve_here

        with self._changed:
            known = self._served.get(info)
            if known is not None and known.info.context_tokens != info.context_tokens:  # its server was started again
                del self._served[info]
            if info not in self._served and info.provider == "inside":
                self._served[info] = InsideModel(info, self._settings, self._inside)
            elif info not in self._served:
                secret = self._settings.api_key if info in found.at_url else None
                key = secret.get_secret_value() if secret else ""
                self._served[info] = ServedModel(info, self._settings, key=key, resolve=self._resolve or resolve_here)
            return self._served[info]

    def _fresh(self) -> Found | None:
        with self._changed:
            kept_s = _KEPT_S if self._found and self._found.models else _KEPT_EMPTY_S
            return self._found if time.monotonic() - self._found_at < kept_s else None

    def _known(self, wait_s: float = _WAIT_S) -> Found | None:
        """Return the last result; probes in the background where it is old."""
        found = self._fresh()
        if found is not None:
            return found
        self._refresh_soon()
        with self._changed:
            if self._found is None or not self._found.models:
                self._changed.wait_for(lambda: not self._is_probing, wait_s)
            return self._found

    def _refresh_soon(self) -> None:
        with self._changed:
            if self._is_probing:
                return
            self._is_probing = True
        threading.Thread(target=self._look, name="docmind-models", daemon=True).start()

    def _look(self) -> None:
        found = self._ask_all(is_asked_again=True)
        info = self._pick(found)
        if info is not None:
            with suppress(LanguageModelError):  # raised again when the model is asked
                self._model(info, found).warm()

    def _probe(self, newer_than: float) -> Found:
        """Probe in this thread, or wait for the thread that does."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: not self._is_probing)
                if self._found is not None and self._found_at > newer_than and self._fresh() is not None:
                    return self._found
                self._is_probing = True
            return self._ask_all()

    def _with_inside(self, found: Found) -> Found:
        """Return what was found with the models inside DocMind: the set file goes first, added ones after servers."""
        if self._settings.provider not in ("auto", "inside"):
            return found
        models, degraded = self._inside.found()
        first = tuple(model for model in models if self._inside.is_set(model))
        others = tuple(model for model in models if model not in first)
        return replace(found, models=(*first, *found.models, *others), degraded=(*found.degraded, *degraded))

    def _ask_all(self, *, is_asked_again: bool = False) -> Found:
        """Probe once. With `is_asked_again` a chosen model that does not answer in time is kept until the next probe.

        A busy machine is slow, and a server that has ended is reported when it is asked.
        """
        found = None
        try:
            from docmind.llm.discover import discover

            found = self._with_inside((self._discover or discover)(self._settings))
            last = self._found
            is_lost = last is not None and self._pick(last) is not None and self._pick(found) is None
            self._is_doubted = is_lost and is_asked_again and not self._is_doubted
            if last is not None and self._is_doubted:
                found = last
            return found
        finally:
            with self._changed:
                self._is_probing = False
                if found is not None:
                    self._found, self._found_at = found, time.monotonic()
                    if self._is_doubted:
                        self._found_at -= _KEPT_S - _KEPT_EMPTY_S
                self._changed.notify_all()


class OneModel(LanguageModels):
    """One given model, or none: servers are not probed. For programs with their own model, and for tests."""

    def __init__(self, model: ChatModel | None = None) -> None:
        self.model = model

    def list(self, *, refresh: bool = False) -> ModelList:
        return ModelList((self.model.info,), self.model.info) if self.model else ModelList((), None)

    def choose(self, model: ModelInfo | None) -> None:
        if model is None:
            self.model = None

    def current(self) -> ChatModel | None:
        return self.model

    def waiting(self) -> ModelInfo | None:
        return None

    def degraded(self) -> tuple[Degraded, ...]:
        return ()

    def capability(self) -> Capability:
        state = "present" if self.model else "missing"
        return Capability(
            "answers", state, _("written by {model}").format(model=self.model.info.model) if self.model else _(_QUOTES)
        )

    def warm(self) -> None:
        """Do nothing: there is nothing to probe."""

    def close(self) -> None:
        """Do nothing: there is no process."""
