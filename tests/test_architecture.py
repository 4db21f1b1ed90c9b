"""Architecture tests: layers, places of outside libraries, light imports, forbidden calls."""

from __future__ import annotations

import ast
import importlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import docmind
from each import each_of
from packages import closure

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "docmind"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

# The modules and packages of docmind, or scripts beside it, that may import an outside library.
ROOMS = {
    "streamlit": {"ui", "app"},
    "qdrant_client": {"index"},
    "qdrant_edge": {"index"},
    "langgraph": {"conversations", "memory"},
    "langchain_core": {"conversations", "memory"},
    "mcp": {"api"},
    "mcp_types": {"api"},
    "llama_index": {"api", "embedding", "ingest", "llm", "reading"},
    "torch": {"embedding", "late_interaction"},
    "transformers": {"embedding"},
    "colpali_engine": {"embedding"},
    "cv2": {"image_match", "picture_marks", "reading"},
}
HEAVY = {
    "torch", "transformers", "llama_index", "qdrant_client", "qdrant_edge", "streamlit", "onnxruntime", "langgraph",
    "mcp",
}  # fmt: skip


def product_files() -> Iterator[tuple[str, Path]]:
    """Yield (place, file): the first name below docmind, or `app`, `scripts`."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).parts[0].removesuffix(".py"), path
    yield "app", ROOT / "app.py"
    for path in sorted((ROOT / "scripts").rglob("*.py")):
        yield "scripts", path


class Seen(NamedTuple):
    """A file of the product: its place, its path, what it imports, and the calls in it that are never made."""

    room: str
    path: str
    imported: tuple[str, ...]
    offences: tuple[tuple[int, str], ...]


@cache
def seen() -> list[Seen]:
    """Return what stands in the files of the product; they are parsed once for the tests that look into all of them."""
    found = []
    for room, path in product_files():
        tree = ast.parse(path.read_text("utf-8"), str(path))
        found.append(Seen(room, path.relative_to(ROOT).as_posix(), tuple(_imported(tree)), tuple(offences(tree))))
    return found


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    code = "from importlinter.cli import lint_imports_command as command; command()"
    environment = dict(os.environ, PYTHONPATH=str(folder / "src"))
    arguments = [sys.executable, "-P", "-c", code, "--no-cache", "--no-logo"]
    return subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False)


# --- layers -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_layers_hold() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture
def copied_house(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE, tmp_path / "src" / "docmind", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("errors.py", "import docmind.config"),
        ("records/documents.py", "def late():\n    from docmind.config import Settings as Settings"),
        ("utils.py", "ANSWER = 42"),
        ("storage/keys.py", "from docmind.storage.artifacts import Artifacts as Artifacts"),
    ],
    ids=[
        "an import upwards",
        "an import upwards inside a function",
        "a module without a line",
        "two modules that import each other",
    ],
)
def test_the_contract_refuses(copied_house: Path, file: str, line: str) -> None:
    with (copied_house / "src" / "docmind" / file).open("a", encoding="utf-8") as module:
        module.write(f"\n{line}\n")
    result = lint_imports(copied_house)
    assert result.returncode != 0
    assert Path(file).stem in result.stdout


OPEN = {"docmind.rich_text.highlight", "docmind.runtime.quiet", "docmind.runtime.seccomp"}
"""Modules that are front doors of their own: their packages would import much more, or import them first."""


def past_doors(package: Path) -> list[str]:
    """Return the imports of a package's inner modules by modules of other packages: file, line and what is imported.

    A module whose name stands in the stub of its package is part of the front door.
    """
    stubs = {path.parent.name: path for path in package.glob("*/__init__.pyi")}
    inner = {
        f"docmind.{name}.{path.stem if path.suffix else path.name}"
        for name, stub in stubs.items()
        for path in stub.parent.iterdir()
        if path.stem != "__init__" and (path.suffix == ".py" or (path / "__init__.py").exists())
    }
    inner -= OPEN | {f"docmind.{name}.{one}" for name, stub in stubs.items() for one in _names_of(stub)}
    found = []
    for path in sorted(package.rglob("*.py")):
        own = path.relative_to(package).parts[0]
        for line, module in _modules(ast.parse(path.read_text("utf-8"), str(path))):
            begun = ".".join(module.split(".")[:3])
            if begun in inner and begun.split(".")[1] != own:
                found.append(f"{path.relative_to(package).as_posix()}:{line} {module}")
    return found


def _names_of(stub: Path) -> list[str]:
    (listed,) = (node.value for node in ast.parse(stub.read_text("utf-8")).body if isinstance(node, ast.Assign))
    return ast.literal_eval(listed)


def _modules(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of all that is imported in a file, what is named after `import` too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


@pytest.mark.slow
def test_a_package_is_entered_by_its_front_door() -> None:
    assert past_doors(PACKAGE) == []


@pytest.mark.parametrize(
    ("line", "is_refused"),
    [
        ("from docmind.storage.keys import Keyset", True),
        ("from docmind.storage import keys", True),
        ("def late():\n    import docmind.storage.keys", True),
        ("from docmind.reading.formats import word", True),
        ("from docmind.storage import Keyset", False),
        ("from docmind.runtime import quiet", False),
        ("from docmind.records.search import Filters", False),
    ],
)
def test_an_import_past_a_front_door_is_seen(line: str, is_refused: bool, tmp_path: Path) -> None:
    for stub in PACKAGE.rglob("*.py*"):
        if stub.suffix in (".py", ".pyi"):
            copy = tmp_path / stub.relative_to(PACKAGE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(stub.read_text("utf-8") if stub.suffix == ".pyi" else "", "utf-8")
    (tmp_path / "services.py").write_text(line, "utf-8")
    assert [one.split(":")[0] for one in past_doors(tmp_path)] == (["services.py"] if is_refused else [])


@each_of("stub", sorted(PACKAGE.rglob("__init__.pyi")))
def test_a_front_door_names_what_is_there(stub: Path) -> None:
    package = importlib.import_module(".".join(stub.parent.relative_to(PACKAGE.parent).parts))
    tree = ast.parse(stub.read_text("utf-8"))
    imported = {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    (listed,) = (ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign))
    assert set(listed) == imported == set(package.__all__)
    assert all(hasattr(package, name) for name in listed)


def test_every_package_has_a_front_door() -> None:
    packages = {path.parent for path in PACKAGE.glob("*/__init__.py")}
    doors = {path.parent for path in PACKAGE.glob("*/__init__.pyi")}
    without = {path.name for path in packages - doors}
    assert without == {"api", "cli", "records", "ui"}, "the faces, and records: a module a domain"


def test_at_most_eight_modules_lie_in_the_root() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 8


def test_importing_docmind_loads_nothing_heavy() -> None:
    code = "import docmind, json, sys; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    loaded = set(json.loads(subprocess.check_output([sys.executable, "-c", code], text=True)))
    assert not loaded & HEAVY


@pytest.mark.slow
def test_reading_processes_load_no_settings_and_no_code_of_keys() -> None:
    """A process that forks them imports all of this, and each of them has it: slow, and beside hostile files."""
    code = (
        "import importlib, json, sys; from docmind.reading.process import PRELOAD;"
        " [importlib.import_module(name) for name in PRELOAD]; print(json.dumps(sorted(sys.modules)))"
    )
    loaded = set(json.loads(subprocess.check_output([sys.executable, "-c", code], text=True)))
    assert not loaded & {"docmind.config", "docmind.storage.keys", "docmind.storage.database", "pydantic", "asyncio"}


# --- rooms and sizes --------------------------------------------------------------------------------------------------


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                yield node.args[0].value


@pytest.mark.slow
def test_outside_libraries_stay_in_their_rooms() -> None:
    strays = [
        f"{file.path}: {module}"
        for file in seen()
        if file.room != "scripts"
        for module in file.imported
        if (rooms := ROOMS.get(module.split(".")[0])) is not None and file.room not in rooms
    ]
    assert not strays


def test_modules_are_named_for_what_they_make() -> None:
    vague = {"utils", "util", "helpers", "helper", "manager", "adapter", "factory", "common", "misc"}
    assert not [str(path) for _, path in product_files() if vague & set(re.split(r"[/\\_.]", path.name))]


# --- calls never made -------------------------------------------------------------------------------------------------


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _is_true(node: ast.expr) -> bool:
    return not (isinstance(node, ast.Constant) and node.value is False)


def offences(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield (line, what) for every forbidden call in a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = _dotted(node.func)
            if re.fullmatch(r"(pickle|dill|cloudpickle|marshal|joblib|shelve)\.(loads?|open|Unpickler)", name):
                yield node.lineno, f"{name}: runs code from a file"
            if name in ("eval", "exec", "os.system", "yaml.load", "torch.load"):
                yield node.lineno, f"{name}: runs code from data"
            if name.endswith("suppress") and any(_dotted(a) in ("Exception", "BaseException") for a in node.args):
                yield node.lineno, "suppress(Exception): hides programming errors"
            for keyword in node.keywords:
                if keyword.arg in ("unsafe_allow_html", "trust_remote_code", "allow_pickle", "shell", "verify_ssl"):
                    wanted = keyword.arg == "verify_ssl"
                    if _is_true(keyword.value) is not wanted:
                        yield node.lineno, f"{keyword.arg}: never here"
        if isinstance(node, ast.ImportFrom) and node.module in ("pickle", "dill", "marshal", "shelve"):
            yield node.lineno, f"{node.module}: runs code from a file"
        if isinstance(node, ast.ExceptHandler):
            if node.type is None:
                yield node.lineno, "a bare except"
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type] if node.type else []
            broad = any(_dotted(kind) in ("Exception", "BaseException") for kind in kinds)
            silent = all(
                isinstance(statement, ast.Pass | ast.Continue)
                or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
                for statement in node.body
            )
            if broad and silent:
                yield node.lineno, "except Exception: pass"


@pytest.mark.slow
def test_calls_that_are_never_made() -> None:
    assert not [f"{file.path}:{line}: {what}" for file in seen() for line, what in file.offences]


@each_of(
    "code",
    [
        "st.markdown(text, unsafe_allow_html=True)",
        "pickle.load(file)",
        "from pickle import load",
        "AutoModel.from_pretrained(name, trust_remote_code=flag)",
        "np.load(path, allow_pickle=True)",
        "try:\n    go()\nexcept:\n    stop()",
        "try:\n    go()\nexcept Exception:\n    pass",
        "try:\n    go()\nexcept (OSError, Exception):\n    ...",
        "with contextlib.suppress(Exception):\n    go()",
        "subprocess.run(line, shell=True)",
    ],
)
def test_each_of_them_is_seen(code: str) -> None:
    assert list(offences(ast.parse(code)))


def test_innocent_code_is_not_accused() -> None:
    code = "try:\n    go()\nexcept OSError:\n    pass\nnp.load(path, allow_pickle=False)\nmodel.eval()"
    assert not list(offences(ast.parse(code)))


def tracked_files() -> list[Path]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


@pytest.mark.slow
def test_no_path_of_one_machine_is_written_down() -> None:
    # `you`, `user` and `ana` are the invented users of documents and tests.
    machine_path = re.compile(
        rb"(?<![\w.:/-])/(?:home|Users|root|work)/(?!(?:you|user|ana)\b)[\w.]+/"
        rb"|[A-Z]:\\+Users\\+(?!(?:you|user|ana)\b)\w+"
    )
    found = []
    for path in tracked_files():
        data = path.read_bytes()
        if b"\0" in data[:8192] or path.resolve() == Path(__file__).resolve():
            continue
        for match in machine_path.finditer(data):
            line = data.count(b"\n", 0, match.start()) + 1
            found.append(f"{path.relative_to(ROOT)}:{line}: {match.group().decode('utf-8', 'replace')}")
    assert not found


# --- what is installed ------------------------------------------------------------------------------------------------


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    entries = [line.split("#")[0].strip() for line in lines]
    return {canonicalize_name(name): version for name, version in (e.split("==") for e in entries if e)}


@pytest.mark.slow
def test_every_dependency_is_pinned() -> None:
    if (sys.platform, sys.version_info[:2], platform.machine()) != ("linux", (3, 11), "x86_64"):
        pytest.skip("the pins are those of Python 3.11 on Linux")
    project = PROJECT["project"]
    installed = closure(project["dependencies"] + project["optional-dependencies"]["test"])
    pinned = pins()
    assert "torch" in installed
    nvidia = {name for name in installed if name.startswith(("nvidia-", "cuda-")) or name == "triton"}
    loose = {name: version for name, version in installed.items() if name not in pinned and name not in nvidia}
    assert not loose
    differing = {
        name: (version, pinned[name])
        for name, version in installed.items()
        if name in pinned and version.split("+")[0] != pinned[name]
    }
    assert not differing


@pytest.mark.slow
def test_every_library_that_is_imported_is_declared() -> None:
    project = PROJECT["project"]
    declared = {
        canonicalize_name(Requirement(text).name)
        for listed in [
            project["dependencies"],
            *map(project["optional-dependencies"].get, ("colpali", "local-llm", "traces")),
        ]
        for text in listed
    }
    providers = metadata.packages_distributions()
    undeclared = set()
    for file in seen():
        for library in {module.split(".")[0] for module in file.imported} - sys.stdlib_module_names - {"docmind"}:
            packages = {canonicalize_name(name) for name in providers.get(library, [])}
            if file.room != "scripts" and packages and not packages & declared:
                undeclared.add(f"{file.path}: {library}")
    assert not undeclared


@pytest.mark.slow
def test_the_default_installation_brings_no_torchvision() -> None:
    brought = closure(PROJECT["project"]["dependencies"])
    assert not {"torchvision", "torchaudio", "opencv-python", "colpali-engine"} & set(brought)
    assert not {"torchvision", "torchaudio", "opencv-python"} & set(pins())


def test_torch_is_pinned_without_a_build_tag() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", pins()["torch"])


def test_the_app_is_served_to_this_machine_only() -> None:
    config = tomllib.loads((ROOT / "src/docmind/ui/app/streamlit.toml").read_text("utf-8"))
    server, client = config["server"], config["client"]
    assert server["address"] == "127.0.0.1"
    assert server["allowedHosts"] == ["localhost", "127.0.0.1"]
    assert server["enableXsrfProtection"]
    assert server["enableCORS"]
    assert not server["enableStaticServing"]
    assert not server["enableAgentApi"]
    assert not config["browser"]["gatherUsageStats"]
    assert client["showErrorDetails"] == "none"
    assert "://" not in json.dumps(config)


@pytest.mark.slow
def test_streamlit_knows_every_option_of_the_config() -> None:
    """A misspelt or removed option would be ignored, and could leave the app open."""
    code = (
        "import json, streamlit.config as c; c.get_config_options(True);"
        "print(json.dumps(sorted(c._config_options_template)))"
    )
    known = set(json.loads(subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT).splitlines()[-1]))

    def names(table: dict[str, object], prefix: str = "") -> Iterator[str]:
        for key, value in table.items():
            if isinstance(value, dict):
                yield from names(value, f"{prefix}{key}.")
            else:
                yield prefix + key

    config = tomllib.loads((ROOT / "src/docmind/ui/app/streamlit.toml").read_text("utf-8"))
    assert not set(names(config)) - known


def _climbing(folder: Path) -> list[str]:
    """Return the constructors in a folder that take a callable, or more than eight parameters."""
    found: list[str] = []
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                taken = [*node.args.args[1:], *node.args.kwonlyargs]
                kinds = [ast.unparse(one.annotation) for one in taken if one.annotation is not None]
                if len(taken) > 8 or any("Callable" in kind for kind in kinds):
                    found.append(f"{path.name}:{node.lineno}")
    return found


@pytest.mark.slow
def test_parts_of_conversations_take_what_lies_below_them(tmp_path: Path) -> None:
    package = Path(docmind.__file__).parent
    for name in ("conversations", "answers", "memory"):
        assert _climbing(package / name) == [], "a part takes the parts below it, not their methods"
    bad = "class A:\n    def __init__(self, search: Callable[[str], int]) -> None: ...\n"
    (tmp_path / "climbs.py").write_text(bad, "utf-8")
    assert _climbing(tmp_path) == ["climbs.py:2"]
