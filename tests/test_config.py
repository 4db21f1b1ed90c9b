"""Every setting is a variable that works; what is not a setting, or cannot be, is one sentence."""

from __future__ import annotations

import inspect
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from click.testing import CliRunner
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from conftest import ROOT
from docmind.cli import main
from docmind.config import Settings, default_data_dir
from docmind.errors import ConfigError
from docmind.model_files import default_cache_dir
from docmind.storage import default_key_folder
from each import each_of


def settings(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if inspect.isclass(kind) and issubclass(kind, BaseModel):
            yield from settings(kind, (*path, name))
        else:
            yield (*path, name), field


EVERY = dict(settings(Settings))


def variable(path: tuple[str, ...]) -> str:
    return "DOCMIND_" + "__".join(path).upper()


def value_at(loaded: Settings, path: tuple[str, ...]) -> Any:
    value: Any = loaded
    for name in path:
        value = getattr(value, name)
    return value


def flat(kind: Any) -> Iterator[Any]:
    """Yield the types that a union or an annotated type is made of."""
    parts = get_args(kind)
    if not parts:
        yield kind
    for part in parts:
        yield from flat(part)


def another(path: tuple[str, ...], field: FieldInfo) -> tuple[str, Any]:
    """Return a text for the variable that is not the default, and the expected value."""
    kinds = set(flat(field.annotation))
    if path == ("app", "origin"):
        return "HTTPS://Desk.example:443/", "https://desk.example"
    if path == ("app", "language"):
        return "pt", "pt"
    if path == ("mcp", "folders"):
        return "/somewhere/else", "/somewhere/else"
    if path == ("search", "lists"):
        return " visual, text ", "visual,text"
    if path == ("reading", "readers"):
        return " toy, recipe ", "toy,recipe"
    if get_origin(field.annotation) is Literal:
        chosen = next(str(kind) for kind in get_args(field.annotation) if kind != field.default)
        return chosen, chosen
    if bool in kinds:
        return ("false", False) if field.default else ("true", True)
    if int in kinds or float in kinds:
        lowest = max([rule.ge for rule in field.metadata if hasattr(rule, "ge")], default=0.25)
        value = lowest if lowest != field.default else lowest + 1
        return str(value), value
    if Path in kinds:
        return "/somewhere/else", Path("/somewhere/else")
    assert str in kinds or SecretStr in kinds, path
    return "something-else", "something-else"


@pytest.mark.slow
@each_of("path", EVERY)
def test_every_setting_has_a_variable_that_works(path: tuple[str, ...]) -> None:
    default = value_at(Settings.load(), path)
    text, wanted = another(path, EVERY[path])
    with pytest.MonkeyPatch.context() as only_this:
        only_this.setenv(variable(path), text)
        value = value_at(Settings.load(), path)
    assert (value.get_secret_value() if isinstance(value, SecretStr) else value) == wanted
    assert value != default


def test_lists_are_named_by_commas_and_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_SEARCH__LISTS", "visual,text")
    assert Settings.load().search.asked() == ("text", "visual")
    monkeypatch.setenv("DOCMIND_SEARCH__LISTS", "image,visual,code,text")
    assert Settings.load().search.asked() is None
    for wrong in ("lookalike", "text,sound", ","):
        monkeypatch.setenv("DOCMIND_SEARCH__LISTS", wrong)
        with pytest.raises(ConfigError, match="there are text, code, image, visual"):
            Settings.load()


@pytest.mark.parametrize(
    "origin",
    [
        "desk.example",
        "http://desk.example",
        "https://",
        "https://a b",
        "https://x/path",
        "https://u@x",
        "https://*",
        "*",
    ],
)
def test_an_origin_is_https_a_name_and_a_port(origin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_APP__ORIGIN", origin)
    with pytest.raises(ConfigError, match="DOCMIND_APP__ORIGIN"):
        Settings.load()


@pytest.mark.parametrize(
    "name",
    [
        "DOCMIND_TYPO",
        "DOCMIND_",
        "docmind_typo",
        "DOCMIND_KEYS",  # a group is no setting
        "DOCMIND_KEYS__TYPO",
        "DOCMIND_TYPO__FILE",
        "DOCMIND_DATA_DIR__X",
        "DOCMIND_KEYS__FILE__X",
        "DOCMIND_KEYS_FILE",
    ],
)
def test_an_unknown_name_is_refused_with_one_sentence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(ConfigError) as caught:
        Settings.load()
    assert str(caught.value) == f"There is no setting {name}."


def test_a_slip_of_the_finger_is_pointed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_READING__MAXPAGES", "9")
    with pytest.raises(ConfigError) as caught:
        Settings.load()
    assert "DOCMIND_READING__MAX_PAGES" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DOCMIND_READING__WORKERS", "0"),
        ("DOCMIND_READING__WORKERS", "many"),
        ("DOCMIND_READING__OCR", "magic"),
        ("DOCMIND_KEYS__SOURCE", "postcard"),
        ("DOCMIND_RETRIEVE__TIMEOUT_S", "nan"),
        ("DOCMIND_READING__TIMEOUT_S", "inf"),
        ("DOCMIND_STORAGE__MIN_FREE_MB", "-1"),
        ("DOCMIND_LOG_LEVEL", "loud"),
    ],
)
def test_an_impossible_value_is_refused_with_one_sentence(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        Settings.load()
    assert str(caught.value).startswith(f"{name} cannot be used: ")
    assert "\n" not in str(caught.value)


def test_what_is_refused_never_repeats_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_KEYS__PASSPHRASE", "hunter2hunter2")
    monkeypatch.setenv("DOCMIND_KEYS__SOURCE", "wrong")
    with pytest.raises(ConfigError) as caught:
        Settings.load()
    assert "hunter2" not in str(caught.value)
    monkeypatch.setenv("DOCMIND_KEYS__SOURCE", "passphrase")
    assert "hunter2" not in repr(Settings.load())


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DOCMIND_QDRANT__URL", "DOCMIND_KEYS__FILE", "DOCMIND_DATA_DIR", "DOCMIND_READING__WORKERS"):
        monkeypatch.setenv(name, "")
    assert Settings.load() == Settings()
    assert Settings.load().qdrant.url is None
    assert Settings.load().data_dir == ROOT / "data"


def test_a_tilde_is_the_users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("DOCMIND_DATA_DIR", "~/papers")
    monkeypatch.setenv("DOCMIND_KEYS__FILE", "~/docmind.key")
    loaded = Settings.load()
    assert loaded.data_dir == tmp_path / "papers"
    assert loaded.keys.file == tmp_path / "docmind.key"


def test_settings_cannot_be_changed_afterwards() -> None:
    loaded = Settings.load()
    with pytest.raises(ValueError, match="frozen"):
        loaded.data_dir = Path("elsewhere")
    with pytest.raises(ValueError, match="frozen"):
        loaded.reading.workers = 7


def test_folders_of_assistants_are_whole_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCMIND_MCP__FOLDERS", os.pathsep.join([str(tmp_path), "~/inbox"]))
    assert Settings.load().mcp.allowed() == (tmp_path, Path.home() / "inbox")
    monkeypatch.setenv("DOCMIND_MCP__FOLDERS", "inbox")
    with pytest.raises(ConfigError, match="whole paths"):
        Settings.load()


def test_elsewhere_the_library_lies_in_the_users_folder_for_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docmind.config.checkout", lambda: None)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    if sys.platform == "linux":
        assert default_data_dir() == tmp_path / "docmind" / "library"
    folder = default_data_dir()
    monkeypatch.chdir("/")
    assert default_data_dir() == folder
    assert folder.is_absolute()
    assert folder != default_cache_dir()
    assert not folder.is_relative_to(default_cache_dir())
    assert default_key_folder() != folder, "a key never lies in the data folder"


def test_the_example_names_every_setting_with_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    written = CliRunner().invoke(main, ["settings", "--example"]).output
    lines = [line.removeprefix("# ") for line in written.splitlines()]
    values = {
        name: value for line in lines for name, is_set, value in [line.partition("=")] if is_set and name.isupper()
    }
    assert set(values) == {variable(path) for path in EVERY}
    for name, value in values.items():
        monkeypatch.setenv(name, " ".join(shlex.split(value)))
    loaded = Settings.load()
    with monkeypatch.context() as unset:
        for name in values:
            unset.delenv(name)
        assert loaded == Settings.load()


def test_the_example_shows_no_value_that_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCMIND_DATA_DIR", str(tmp_path / "heron"))
    for name in ("KEYS__PASSPHRASE", "KEYS__RECOVERY_CODE", "LLM__API_KEY", "WEB__API_KEY", "QDRANT__API_KEY"):
        assert f"DOCMIND_{name}" in {variable(path) for path in EVERY}
        monkeypatch.setenv(f"DOCMIND_{name}", "heron-heron")
    monkeypatch.setenv("DOCMIND_TRACES__URL", "http://127.0.0.1/heron")
    written = CliRunner().invoke(main, ["settings", "--example"])
    assert written.exit_code == 0
    assert "DOCMIND_LLM__API_KEY" in written.output
    assert "heron" not in written.output


def test_every_setting_has_one_line_of_description() -> None:
    for one in Settings.variables():
        assert one.group.endswith("."), one.name
        assert one.description, one.name
        assert "\n" not in one.description, one.name
