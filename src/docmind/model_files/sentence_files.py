"""Inspection of a directory in the form of sentence-transformers, without loading it or running code of it.

    modules.json                        the modules, in order; without it, a transformer with the mean of its tokens
    config.json, model.safetensors      the transformer, in the directory or in the folder that modules.json names
    tokenizer.json
    sentence_bert_config.json           its longest text, and whether texts are put into lower case
    1_Pooling/config.json               how the states of tokens become one vector
    config_sentence_transformers.json   the prompts before questions and passages

A cross-encoder has the same files without pooling and prompts, and a head with one number.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from docmind.model_files.checkpoint import (
    CONFIG,
    INDEX,
    TOKENIZER,
    UnusableError,
    check_safetensors,
    read_json,
    weights_of,
)
from docmind.model_files.known import KNOWN, KNOWN_TEXT

Pooling = Literal["mean", "cls", "last"]

_MODULES, _OPTIONS, _LENGTH = "modules.json", "config_sentence_transformers.json", "sentence_bert_config.json"
_POOLINGS: dict[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
}
_NAMED: dict[str, Pooling] = {"mean": "mean", "cls": "cls", "lasttoken": "last"}  # as newer files write it
_TEXTS = ("document", "passage", "corpus")  # names of the prompt before passages, in the order of sentence-transformers
_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}|")
_PROMPT = 2_000  # characters
_LEAST, _MOST = 16, 8_192  # tokens of a text; models that take more are given no more, for memory grows with it
_UNSET = 512  # where no file says how long a text may be
_LARGEST_DIM = 16_384


@dataclass(frozen=True, slots=True)
class SentenceFiles:
    """Facts about a text model from its files.

    `weights` is the folder of the transformer in the directory, empty where it is the directory itself. `dim` is 1 for
    a cross-encoder. `query` and `document` are put before texts; without `pools_prompt` their tokens are left out of
    the mean. `files` are the names of those that identify the model.
    """

    architecture: str
    dim: int
    max_tokens: int
    weights: str = ""
    pooling: Pooling = "mean"
    query: str = ""
    document: str = ""
    pools_prompt: bool = True
    is_lower: bool = False
    files: tuple[str, ...] = field(default=(), repr=False)
    bytes: int = 0


def read_sentence_files(directory: Path) -> SentenceFiles:
    """Inspect a model that embeds texts.

    Raises `UnusableError` with one sentence: no config, pickled weights, a module or a pooling that DocMind does not
    run, a file that is missing or cut short.
    """
    weights, pooling_folder, named = _modules(directory)
    pooling, width, pools_prompt, pooling_file = _pooling(directory, pooling_folder)
    config = _config(directory, weights)
    query, document, prompt_file = _prompts(directory)
    max_tokens, is_lower, length_file = _length(directory, weights, config)
    beside = [_MODULES] if named else []
    return _whole(
        directory,
        [*beside, *pooling_file, *prompt_file, *length_file],
        SentenceFiles(
            architecture=_architecture(config),
            dim=_dimension(width or _hidden(config)),
            max_tokens=max_tokens,
            weights=weights,
            pooling=pooling,
            query=query,
            document=document,
            pools_prompt=pools_prompt,
            is_lower=is_lower,
        ),
    )


def read_cross_encoder(directory: Path) -> SentenceFiles:
    """Inspect a model that reads a question together with a passage and gives one number.

    Raises `UnusableError` as `read_sentence_files` does, and where its head gives other than one number.
    """
    config = _config(directory, "")
    classes = config.get("architectures")
    if not isinstance(classes, list) or not any(str(name).endswith("ForSequenceClassification") for name in classes):
        raise UnusableError("It is no cross-encoder: its config.json names no class ForSequenceClassification.")
    labels = config.get("id2label")
    count = len(labels) if isinstance(labels, dict) else config.get("num_labels", 2)
    if count != 1:
        raise UnusableError(f"It is no cross-encoder: its head gives {str(count)[:20]} numbers in place of one.")
    max_tokens, is_lower, length_file = _length(directory, "", config)
    facts = SentenceFiles(_architecture(config), 1, max_tokens, is_lower=is_lower)
    return _whole(directory, length_file, facts)


def text_folders(models_dir: Path) -> list[str]:
    """Return the names of the folders in the models folder that hold a config.json or a modules.json, sorted.

    Those of models that DocMind knows by name are left out.
    """
    try:
        with os.scandir(models_dir) as entries:
            names = [entry.name for entry in entries if entry.is_dir() and _FOLDER.fullmatch(entry.name)]
    except OSError:
        return []
    known = {*KNOWN, *KNOWN_TEXT}
    own = [name for name in names if name not in known and not name.endswith((".part", ".old"))]  # those of downloads
    return sorted(name for name in own if any((models_dir / name / file).is_file() for file in (_MODULES, CONFIG)))


def _whole(directory: Path, beside: Sequence[str], facts: SentenceFiles) -> SentenceFiles:
    """Return the facts with the names and sizes of all files, once each is known to be whole."""
    home = directory / facts.weights
    prefix = f"{facts.weights}/" if facts.weights else ""
    for name in TOKENIZER:
        if not (home / name).is_file():
            raise UnusableError(f"It has no {prefix}{name}.")
    weights = weights_of(home)
    for name in weights:
        check_safetensors(home / name)
    there = [CONFIG, *TOKENIZER, *weights, *(name for name in (INDEX,) if (home / name).is_file())]
    files = tuple(sorted({*beside, *(prefix + name for name in there)}))
    return SentenceFiles(
        **{name: getattr(facts, name) for name in facts.__slots__ if name not in ("files", "bytes")},
        files=files,
        bytes=sum((directory / name).stat().st_size for name in files),
    )


def _modules(directory: Path) -> tuple[str, str | None, bool]:
    """Return the folders of the transformer and of the pooling (None: there is none), and whether they are named."""
    if not (directory / _MODULES).is_file():
        return "", None, False
    listed = read_json(directory / _MODULES, _MODULES, list)
    if not all(isinstance(one, dict) for one in listed):
        raise UnusableError(f"{_MODULES} is broken.")
    kinds = [str(one.get("type", "")).rpartition(".")[2] for one in listed]
    folders = [str(one.get("path", "")) for one in listed]
    if other := next((kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")), ""):
        raise UnusableError(f"It has a module {_short(other)!r}, which DocMind does not run.")
    if kinds[:1] != ["Transformer"] or kinds.count("Transformer") != 1 or kinds.count("Pooling") > 1:
        raise UnusableError("Its modules.json does not begin with one transformer and its pooling.")
    if not all(_FOLDER.fullmatch(folder) for folder in folders):
        raise UnusableError("Its modules.json names a folder that is not inside it.")
    return folders[0], folders[kinds.index("Pooling")] if "Pooling" in kinds else None, True


def _pooling(directory: Path, folder: str | None) -> tuple[Pooling, int, bool, list[str]]:
    """Return the pooling, the length of a vector (0: not told), whether a prompt is pooled too, and the file."""
    if folder is None:
        return "mean", 0, True, []
    name = f"{folder}/{CONFIG}" if folder else CONFIG
    told = read_json(directory / name, name)
    named = told.get("pooling_mode")
    if isinstance(named, str):
        chosen = [named]
    else:
        chosen = [key for key, value in told.items() if key.startswith("pooling_mode_") and value is True]
    pooling = (_NAMED | _POOLINGS).get(chosen[0]) if len(chosen) == 1 else None
    if pooling is None:
        what = ", ".join(_short(one.removeprefix("pooling_mode_")) for one in chosen) or "none"
        raise UnusableError(f"Its pooling is {what}; those that can be run are mean, cls and last token.")
    width = told.get("word_embedding_dimension", told.get("embedding_dimension"))
    return pooling, width if isinstance(width, int) else 0, told.get("include_prompt") is not False, [name]


def _prompts(directory: Path) -> tuple[str, str, list[str]]:
    """Return the prompts before questions and before passages, and the file that has them."""
    if not (directory / _OPTIONS).is_file():
        return "", "", []
    told = read_json(directory / _OPTIONS, _OPTIONS)
    prompts = told.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(
        isinstance(text, str) and len(text) <= _PROMPT for text in prompts.values()
    ):
        raise UnusableError(f"The prompts in its {_OPTIONS} cannot be used.")
    default = prompts.get(str(told.get("default_prompt_name")), "")
    document = next((prompts[name] for name in _TEXTS if name in prompts), default)
    return prompts.get("query", default), document, [_OPTIONS]


def _length(directory: Path, weights: str, config: dict[str, Any]) -> tuple[int, bool, list[str]]:
    """Return the most tokens of a text, whether texts are put into lower case, and the file that says so."""
    told: dict[str, Any] = {}
    prefix = f"{weights}/" if weights else ""
    names = [name for name in dict.fromkeys((prefix + _LENGTH, _LENGTH)) if (directory / name).is_file()][:1]
    for name in names:
        told = read_json(directory / name, name)
    positions = config.get("max_position_embeddings")
    limits = [told.get("max_seq_length"), positions]
    if told.get("max_seq_length") is None and (directory / weights / TOKENIZER[1]).is_file():
        limits.append(read_json(directory / weights / TOKENIZER[1], TOKENIZER[1]).get("model_max_length"))
    known = [limit for limit in limits if isinstance(limit, int) and not isinstance(limit, bool) and limit >= _LEAST]
    longest = min(known, default=_UNSET)
    if config.get("model_type") in ("roberta", "xlm-roberta", "camembert", "mpnet") and longest == positions:
        longest -= 2  # their positions begin behind that of padding
    return min(longest, _MOST), told.get("do_lower_case") is True, names


def _config(directory: Path, weights: str) -> dict[str, Any]:
    name = f"{weights}/{CONFIG}" if weights else CONFIG
    return read_json(directory / name, name)


def _architecture(config: dict[str, Any]) -> str:
    architecture = config.get("model_type")
    if not isinstance(architecture, str) or not re.fullmatch(r"[A-Za-z0-9_.-]{1,60}", architecture):
        raise UnusableError("Its config.json does not say what kind of model it is.")
    return architecture


def _hidden(config: dict[str, Any]) -> object:
    return next((config[name] for name in ("hidden_size", "d_model", "dim") if name in config), None)


def _dimension(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _LARGEST_DIM:
        raise UnusableError("Its files state no possible dimension.")
    return value


def _short(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text[:40])
