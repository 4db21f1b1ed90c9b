"""The documents name every command, setting and error, and none that was removed."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

ROOT = Path(__file__).resolve().parent.parent


def documents() -> dict[Path, str]:
    """Return README and docs/, without the decision records: these say why, not how."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return {path: path.read_text("utf-8") for path in paths if (ROOT / "docs" / "adr") not in path.parents}


def everything_written() -> str:
    return "\n".join(documents().values())


def missing(names: set[str]) -> list[str]:
    text = everything_written()
    return sorted(name for name in names if not re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", text))


def settings(model: type[BaseModel], prefix: str = "DOCMIND_") -> Iterator[str]:
    """Yield the environment variables of a settings model: `DOCMIND_GROUP__NAME`."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if inspect.isclass(kind) and issubclass(kind, BaseModel):
            yield from settings(kind, f"{prefix}{name.upper()}__")
        else:
            yield prefix + name.upper()


def commands(command: Any, path: str) -> Iterator[str]:
    """Yield the full names of the commands at the leaves of a click group: `docmind add`."""
    if command.hidden:
        return
    if hasattr(command, "commands"):
        for name, child in command.commands.items():
            yield from commands(child, f"{path} {name}")
    else:
        yield path


def part(name: str) -> Any:
    """Import a module of docmind, or skip the test while it does not exist."""
    if importlib.util.find_spec(f"docmind.{name}") is None:
        pytest.skip(f"docmind.{name} is not written yet")
    return importlib.import_module(f"docmind.{name}")


@pytest.mark.slow
def test_every_setting_is_described() -> None:
    assert not missing(set(settings(part("config").Settings)))


def test_no_setting_is_described_that_is_gone() -> None:
    known = set(settings(part("config").Settings))
    groups = {name.rsplit("__", 1)[0] for name in known if "__" in name}
    told = set(re.findall(r"\bDOCMIND_[A-Z0-9_]*[A-Z0-9]\b", everything_written()))
    assert not told - known - groups


@pytest.mark.slow
def test_every_error_is_described() -> None:
    errors = part("errors")
    classes = inspect.getmembers(errors, lambda kind: inspect.isclass(kind) and issubclass(kind, errors.DocMindError))
    assert not missing({name for name, _ in classes})


def test_every_error_has_a_hint_and_a_code_of_its_own() -> None:
    errors = part("errors")
    classes = inspect.getmembers(errors, lambda kind: inspect.isclass(kind) and issubclass(kind, errors.DocMindError))
    codes: dict[int, str] = {}
    for name, kind in classes:
        assert kind.__doc__, name
        assert kind.hint.strip(), name
        assert kind.exit_code not in codes, f"{name} and {codes.get(kind.exit_code)} end with the same exit code"
        codes[kind.exit_code] = name


@pytest.mark.slow
def test_every_command_is_described() -> None:
    import click

    main = part("cli").main
    assert isinstance(main, click.Command)
    assert not missing(set(commands(main, "docmind")))


def test_no_command_is_described_that_is_gone() -> None:
    known = set(commands(part("cli").main, "docmind"))
    prefixes = {" ".join(name.split()[:2]) for name in known}
    told = set(re.findall(r"(?:^|`|\$ |bin/)(docmind [a-z][a-z-]+)", everything_written(), re.MULTILINE))
    assert not told - prefixes


def test_the_table_of_rest_is_that_of_the_calls() -> None:
    from docmind.client import CALLS

    rows = re.findall(
        r"^\| (GET|POST|PATCH|DELETE) \| `(/[^`]*)` \| `([a-z_.]+)`",
        (ROOT / "docs" / "api.md").read_text("utf-8"), re.MULTILINE,
    )  # fmt: skip
    told = {(verb, path, name) for verb, path, name in rows if path != "/uploads" and not path.startswith("/uploads/")}
    assert told == {(call.verb, call.path, call.name) for call in CALLS}


def test_links_between_documents_lead_somewhere() -> None:
    broken = []
    for path in [*documents(), *(ROOT / "docs" / "adr").glob("*.md"), ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)#\s]+)", path.read_text("utf-8")):
            away = "://" in target or target.startswith("mailto:")
            if not away and not (path.parent / target).exists():
                broken += [f"{path.relative_to(ROOT)} -> {target}"]
    assert not broken


def test_the_drawing_shows_the_layers_of_the_contract() -> None:
    drawn = re.findall(r'\["([a-z_ |]+)"\]', (ROOT / "docs" / "architecture.md").read_text("utf-8").split("```")[1])
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["id"] == "layers")
    there = [re.sub(r" \| \(\w+\)|\(\w+\) \| ", "", layer) for layer in layers if layer != "__main__"]
    assert drawn == there


def test_files_that_the_architecture_names_are_there() -> None:
    table = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("## Where to change what")[2]
    table = table.replace("`src/docmind/`", "")
    named = set(re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py|/))`", table))
    assert len(named) > 15
    assert not [name for name in named if not (ROOT / "src" / "docmind" / name).exists()]


def test_the_changelog_begins_with_what_is_not_released() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] == "[Unreleased]"


def test_decision_records_fit_one_screen() -> None:
    for path in sorted((ROOT / "docs" / "adr").glob("*.md")):
        text = path.read_text("utf-8")
        assert len(text.splitlines()) <= 60, path.name
        wanted = ["Context", "Options", "Decision", "Consequences", "Confirmation"]
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == wanted, path.name
        assert path.name == "0000-template.md" or text.startswith(f"# {path.name[:4]}. "), path.name


def test_the_table_of_what_can_be_asked_is_that_of_the_query() -> None:
    import describe_query

    assert describe_query.PAGE.read_text("utf-8") == describe_query.page(), "run scripts/describe_query.py"
