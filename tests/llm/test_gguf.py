"""The header of a GGUF file: its facts, and one sentence for whatever is none."""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from docmind.errors import ConfigError
from docmind.llm.gguf import read_gguf
from each import each_of
from sampled import tenth_of
from smollm import LLAMA, gguf, gguf_text, smollm


def written(folder: Path, data: bytes) -> str:
    path = folder / "model.gguf"
    path.write_bytes(data)
    return str(path)


def refused(folder: Path, data: bytes) -> str:
    with pytest.raises(ConfigError) as caught:
        read_gguf(written(folder, data))
    assert caught.value.hint
    return str(caught.value)


def test_the_facts_of_a_model(tmp_path: Path) -> None:
    facts = read_gguf(written(tmp_path, gguf(LLAMA)))
    assert (facts.architecture, facts.name, facts.context, facts.has_tools) == ("llama", "Tiny", 2_048, False)
    assert facts.cache_per_token == 2 * 2 * (16 + 16) * 2
    tools = gguf({**LLAMA, "tokenizer.chat_template": "{% if tools %}"}, version=2)
    assert read_gguf(written(tmp_path, tools)).has_tools


def test_heads_of_each_layer_and_given_widths(tmp_path: Path) -> None:
    entries = {**LLAMA, "llama.attention.head_count_kv": [1, 3], "llama.attention.key_length": 8}
    assert read_gguf(written(tmp_path, gguf(entries))).cache_per_token == 2 * 2 * (8 + 16) * 2


def test_the_facts_of_real_weights() -> None:
    facts = read_gguf(str(smollm()))
    assert facts.architecture == "llama"
    assert facts.context == 8_192
    assert facts.cache_per_token == 30 * 3 * (64 + 64) * 2
    assert facts.size == smollm().stat().st_size


@each_of(
    "data, reason",
    [
        (b"", "no GGUF file"),
        (b"PK\3\4" + bytes(100), "no GGUF file"),
        (gguf(LLAMA, version=1), "version 1"),
        (b"GGUF" + struct.pack(">IQQ", 3, 1, 1) + bytes(64), "version 50331648"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 2**60), "more parts"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 1), "more parts"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + struct.pack("<Q", 2**63), "too early"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + gguf_text("k") + struct.pack("<I", 77), "unknown type"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + gguf_text("k") + struct.pack("<IIQ", 9, 9, 1), "unknown type"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + gguf_text("k") + struct.pack("<IIQ", 9, 8, 2**62), "too early"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + gguf_text("k") + struct.pack("<IIQ", 9, 4, 2**62), "too early"),
        (gguf(LLAMA, tensors=0), "no weights"),
        (gguf(LLAMA, offset=1 << 40), "not whole"),
        (gguf({"general.name": "x"}), "architecture"),
        (gguf({**LLAMA, "general.architecture": "nomic-bert"}), "no language model"),
        (gguf({**LLAMA, "split.count": 3}), "several parts"),
    ],
)
def test_what_is_none_gets_one_sentence(data: bytes, reason: str, tmp_path: Path) -> None:
    assert reason in refused(tmp_path, data)


def test_places_that_hold_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    for name in (tmp_path, tmp_path / "pipe.gguf", tmp_path / "gone.gguf", Path("nul\0.gguf")):
        with pytest.raises(ConfigError):
            read_gguf(str(name))


def test_numbers_that_no_model_has_count_as_unknown(tmp_path: Path) -> None:
    odd: dict[str, Any] = {key: value for key, value in LLAMA.items() if key.startswith("general")}
    odd |= {"llama.context_length": "long", "llama.block_count": [1], "llama.attention.head_count": 2**31}
    facts = read_gguf(written(tmp_path, gguf(odd)))
    assert (facts.context, facts.cache_per_token) == (0, 0)


def test_damaged_headers_are_refused_or_read(tmp_path: Path) -> None:
    """Any byte may be wrong: there is a result or a sentence, never another error."""
    whole = gguf(LLAMA)
    for number in tenth_of(range(400)):
        random = Random(number)
        data = bytearray(whole[: random.randrange(len(whole))] if random.random() < 0.3 else whole)
        for _ in range(random.randrange(1, 6)):
            if data:
                data[random.randrange(len(data))] = random.randrange(256)
        with suppress(ConfigError):
            read_gguf(written(tmp_path, bytes(data)))
