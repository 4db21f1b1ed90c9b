"""Settings that the user makes in DocMind: kept encrypted in `vault.db`, and laid over the defaults.

An environment variable wins over what is kept. The table `SETTABLE` names what can be set this way; values are checked
by the models of `docmind.config`. A secret lies where the vault's own key lies: in the keyring where that is there,
otherwise in `vault.db`.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, SecretStr, ValidationError

from docmind.config import Settings
from docmind.errors import ConfigError, DamagedError, KeyUnavailableError
from docmind.records.settings import SettingEffect, SettingInfo, SettingKind
from docmind.storage.keys import read_secret, remove_secret, write_secret
from docmind.storage.preferences import Preferences
from docmind.wording import N_, _

_log = logging.getLogger(__name__)
_PREFIX = "setting."
_KEYRING = {"in": "keyring"}  # kept in place of a secret that lies in the keyring


@dataclass(frozen=True, slots=True)
class Settable:
    """A setting that can be made in DocMind: where it belongs on the page, its title, when a change takes effect."""

    group: str
    title: str
    effect: SettingEffect = "reopen"
    choices: tuple[str, ...] = ()  # where they are fewer than the model's


SETTABLE: dict[str, Settable] = {
    "llm.provider": Settable("model", N_("Kind of server")),
    "llm.url": Settable("model", N_("Address")),
    "llm.api_key": Settable("model", N_("API key")),
    "llm.model": Settable("model", N_("Model")),
    "llm.allowed_hosts": Settable("model", N_("Other computers that may be asked")),
    "llm.context_tokens": Settable("model", N_("Context, in tokens")),
    "llm.temperature": Settable("model", N_("Temperature")),
    "llm.images": Settable("model", N_("Page images sent with a question")),
    "agent.mode": Settable("answers", N_("How answers are made")),
    "agent.max_steps": Settable("answers", N_("Most searches of a deep search")),
    "answer.quotes": Settable("answers", N_("Most quotes in an answer")),
    "web.provider": Settable("web", N_("Web search service")),
    "web.url": Settable("web", N_("Address of the SearXNG server")),
    "web.api_key": Settable("web", N_("Brave API key")),
    "web.pages": Settable("web", N_("Web pages added by their address"), "now"),
    "retrieve.fusion": Settable("search", N_("Search by")),
    "retrieve.rerank": Settable("search", N_("Rerank results")),
    "retrieve.expand": Settable("search", N_("Expand accounting terms")),
    "search.looks": Settable("search", N_("Max. visual matches")),
    "visual.rerank": Settable("search", N_("Rerank with image model")),
    "visual.late_on_ingest": Settable("search", N_("Look at every part of new pages")),
    "reading.ocr": Settable("reading", N_("OCR engine")),
    "reading.ocr_mode": Settable("reading", N_("Pages read by OCR")),
    "reading.ocr_languages": Settable("reading", N_("OCR languages")),
    "reading.ocr_doubt": Settable("reading", N_("Share of unsure text from which OCR reads a page again")),
    "reading.ocr_tries": Settable("reading", N_("Further readings of such a page")),
    "reading.max_file_mb": Settable("reading", N_("Largest file, in MB")),
    "reading.max_pages": Settable("reading", N_("Most pages of a file")),
    "reading.workers": Settable("reading", N_("Files read at the same time")),
    "reading.readers": Settable("reading", N_("Readers of other packages")),
    "network.strict": Settable("privacy", N_("Network guard"), choices=("auto", "on")),
    "keys.lock_after_min": Settable("privacy", N_("Lock after minutes without use"), "now"),
    "app.theme": Settable("appearance", N_("Theme"), "now"),
    "app.language": Settable("appearance", N_("Language"), "now"),
    "visual.models_dir": Settable("storage", N_("Models folder")),
    "storage.min_free_mb": Settable("storage", N_("Disk space kept free, in MB")),
}
"""What can be set in DocMind, by its name in `Settings`: `group.field`."""


class UserSettings:
    """The settings of an open vault and where each comes from. Thread-safe, as `Preferences` is."""

    def __init__(self, given: Settings, preferences: Preferences, vault_id: str, key_source: str) -> None:
        """`given` are the settings of the environment; `key_source` tells where the vault's key lies."""
        self._given, self._preferences = given, preferences
        self._vault_id, self._uses_keyring = vault_id, key_source == "keyring"
        self.now = self._laid_over()

    def list(self) -> tuple[SettingInfo, ...]:
        """Return all settings that can be set here, in the order of the table."""
        return tuple(self.info(name) for name in SETTABLE)

    def info(self, name: str) -> SettingInfo:
        """Return one setting. Raises `ConfigError` where there is none of this name."""
        about = _about(name)
        group, field = name.split(".")
        model = getattr(self._given, group)
        kind, choices, least, most = _form(type(model), field)
        choices = about.choices or choices
        value, default = getattr(getattr(self.now, group), field), type(model).model_fields[field].default
        is_app = not self._is_fixed(name) and self._kept(name) is not None
        return SettingInfo(
            name, _(about.title), about.group, kind, about.effect, _variable(name),
            "environment" if self._is_fixed(name) else "app" if is_app else "default",
            None if kind == "secret" else _plain(value), None if kind == "secret" else _plain(default),
            value is not None and value != default, choices, least, most,
        )  # fmt: skip

    def put(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Keep these values and return the names of those that are new; all of them or, on an error, none.

        An empty text or None unsets. Raises `ConfigError` for a name that is unknown, a value that cannot be, and what
        the environment has set; `KeyUnavailableError` where the keyring does not take a secret.
        """
        checked = {name: self._checked(name, value) for name, value in values.items()}
        changed = tuple(name for name, value in checked.items() if value != self._value(name))
        for name in changed:
            self._keep(name, checked[name])
        self.now = self._laid_over()
        return changed

    def is_in_force(self, name: str, value: object) -> bool:
        """Return whether this value is the one in force; a secret is never said to be."""
        group, _dot, field = name.partition(".")
        return name in SETTABLE and _plain(getattr(getattr(self.now, group), field)) == value

    def unset(self, names: Iterable[str]) -> tuple[str, ...]:
        """Unset these, so that their defaults apply; return the names of those that were set. Raises `ConfigError`."""
        return self.put(dict.fromkeys(names))

    def move_secrets(self, key_source: str) -> None:
        """Keep secrets where the vault's key lies from now on: in the keyring, or in `vault.db`.

        A secret that the keyring does not give or take stays where it is.
        """
        self._uses_keyring = key_source == "keyring"
        for name in SETTABLE:
            kept = self._kept(name)
            if self.info(name).kind != "secret" or kept is None or (kept == _KEYRING) is self._uses_keyring:
                continue
            try:
                secret = self._read(name)
                if self._uses_keyring:
                    write_secret(self._vault_id, name, secret)
                self._preferences.put(_PREFIX + name, _KEYRING if self._uses_keyring else secret)
                if not self._uses_keyring:
                    remove_secret(self._vault_id, name)
            except KeyUnavailableError as error:
                _log.warning("%s stays where it was: %s", name, error)

    def _laid_over(self) -> Settings:
        """Return the given settings with what is kept; what cannot be used any more is left out, and logged."""
        now = self._given
        for name in SETTABLE:
            if self._is_fixed(name):
                continue
            try:
                kept = self._read(name)
                if kept is not None:
                    now = _with(now, name, _valid(now, name, kept))
            except (ConfigError, DamagedError, KeyUnavailableError) as error:
                _log.warning("The setting %s is not used: %s", name, error)
        return now

    def _is_fixed(self, name: str) -> bool:
        group, field = name.split(".")
        return group in self._given.model_fields_set and field in getattr(self._given, group).model_fields_set

    def _checked(self, name: str, value: Any) -> Any:
        """Return a value as its model has it, None for unsetting."""
        about = _about(name)
        if self._is_fixed(name):
            raise ConfigError(
                _("{value} is set by {variable}.").format(value=_(about.title), variable=_variable(name)),
                hint=_("Unset that variable, or change it there."),
            )
        return None if value is None or value == "" else _valid(self._given, name, value)

    def _value(self, name: str) -> Any:
        """Return the kept value as its model has it; None where there is none, or none that can be used."""
        with contextlib.suppress(ConfigError, DamagedError, KeyUnavailableError):
            kept = self._read(name)
            return None if kept is None else _valid(self._given, name, kept)
        return None

    def _kept(self, name: str) -> Any:
        with contextlib.suppress(DamagedError):
            return self._preferences.get(_PREFIX + name)
        return None

    def _read(self, name: str) -> Any:
        kept = self._preferences.get(_PREFIX + name)
        if kept != _KEYRING:
            return kept
        secret = read_secret(self._vault_id, name)
        if secret is None:
            raise KeyUnavailableError(
                _("The keyring holds no {name} for this library.").format(name=name),
                hint=_("Set it again in Settings."),
            )
        return secret

    def _keep(self, name: str, value: Any) -> None:
        if self._kept(name) == _KEYRING:
            remove_secret(self._vault_id, name)
        if value is None:
            self._preferences.remove(_PREFIX + name)
        elif isinstance(value, SecretStr):
            secret = value.get_secret_value()
            if self._uses_keyring:
                write_secret(self._vault_id, name, secret)
            self._preferences.put(_PREFIX + name, _KEYRING if self._uses_keyring else secret)
        else:
            self._preferences.put(_PREFIX + name, _plain(value))


def _about(name: str) -> Settable:
    if name not in SETTABLE:
        raise ConfigError(
            _("There is no setting {name} that can be set here.").format(name=f"{name!r}"),
            hint=_("`docmind settings list` shows those that can."),
        )
    return SETTABLE[name]


def _variable(name: str) -> str:
    return "DOCMIND_" + name.replace(".", "__").upper()


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | NoneType) else str(value)


def _with(settings: Settings, name: str, value: Any) -> Settings:
    group, field = name.split(".")
    return settings.model_copy(update={group: getattr(settings, group).model_copy(update={field: value})})


def _valid(settings: Settings, name: str, value: Any) -> Any:
    """Return the value as the model of its group takes it. Raises `ConfigError`, which never quotes a secret."""
    group, field = name.split(".")
    model: BaseModel = getattr(settings, group)
    others = {other: getattr(model, other) for other in type(model).model_fields if other != field}
    title, offered = _(SETTABLE[name].title), SETTABLE[name].choices
    try:
        if offered and value not in offered:
            raise _no_choice(title, offered)
        return getattr(type(model)(**others, **{field: value}), field)
    except ValidationError as error:
        kind, choices, least, most = _form(type(model), field)
        told = error.errors()[0]["msg"].removeprefix("Value error, ")
        if kind == "choice":
            raise _no_choice(title, choices) from error
        if kind == "number" and most is not None:
            sentence = _("{title} is a number from {least:g} to {most:g}.").format(title=title, least=least, most=most)
        elif kind == "number":
            sentence = _("{title} is a number from {least:g} up.").format(title=title, least=least or 0)
        else:
            sentence = _("{title} can't be set to this: {reason}.").format(title=title, reason=told)
        raise ConfigError(sentence, hint=_("Nothing was changed.")) from error


def _no_choice(title: str, choices: Iterable[str]) -> ConfigError:
    told = _("{title} is one of these: {choices}.").format(title=title, choices=", ".join(choices))
    return ConfigError(told, hint=_("Nothing was changed."))


def _form(model: type[BaseModel], field: str) -> tuple[SettingKind, tuple[str, ...], float | None, float | None]:
    """Return how a field is set: kind, choices, least and most value."""
    info = model.model_fields[field]
    limits = {name: getattr(part, name) for part in info.metadata for name in ("ge", "le") if hasattr(part, name)}
    kinds = [_bare(kind) for kind in get_args(info.annotation) or (info.annotation,) if kind is not NoneType]
    if get_origin(info.annotation) is Literal:
        return "choice", get_args(info.annotation), None, None
    kind = kinds[0]
    if kind is bool:
        return "switch", (), None, None
    if kind in (int, float):
        return "number", (), limits.get("ge"), limits.get("le")
    return "secret" if kind is SecretStr else "folder" if kind is not str else "text", (), None, None


def _bare(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind
