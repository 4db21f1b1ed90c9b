"""Tiny checkpoints of each architecture with random weights: complete directories that the real classes load.

Made the way the published ones are: config, processor and tokenizer files beside `model.safetensors`.
"""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

_WORDS = "the of and to in a page figure table total revenue question describe the image user assistant query where"


def tiny_siglip(folder: Path) -> Path:
    """`SiglipModel`: 32 x 32 pixels, 2 x 2 patches, vectors of 32 numbers."""
    import torch
    from transformers import SiglipConfig, SiglipImageProcessorPil, SiglipModel

    vocabulary = _unigram(folder)
    config = SiglipConfig(
        text_config={**_TOWER, "vocab_size": vocabulary, "max_position_embeddings": 64, "projection_size": 32}
        | {"pad_token_id": 1, "bos_token_id": None, "eos_token_id": 1},
        vision_config={**_TOWER, "image_size": 32, "patch_size": 16},
    )
    torch.manual_seed(7)
    SiglipModel(config).eval().save_pretrained(folder)
    SiglipImageProcessorPil(
        size={"height": 32, "width": 32}, image_mean=[0.5] * 3, image_std=[0.5] * 3
    ).save_pretrained(folder)
    return folder


def tiny_siglip2(folder: Path) -> Path:
    """`Siglip2Model`, whose pictures keep their shape: at most 16 patches of 8 x 8, vectors of 32 numbers."""
    import torch
    from transformers import Siglip2Config, Siglip2ImageProcessorPil, Siglip2Model

    vocabulary = _gemma(folder, "Siglip2Tokenizer", ends=True)
    config = Siglip2Config(
        text_config={**_TOWER, "vocab_size": vocabulary, "max_position_embeddings": 64}
        | {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 1},
        vision_config={**_TOWER, "patch_size": 8, "num_patches": 16},
    )
    torch.manual_seed(7)
    Siglip2Model(config).eval().save_pretrained(folder)
    Siglip2ImageProcessorPil(patch_size=8, max_num_patches=16).save_pretrained(folder)
    return folder


def tiny_colpali(folder: Path) -> Path:
    """`ColPaliForRetrieval`: 8 x 8 patches before five words of prompt, vectors of 128 numbers."""
    import torch
    from transformers import ColPaliConfig, ColPaliForRetrieval, PaliGemmaConfig, SiglipImageProcessorPil

    vocabulary = _gemma(folder, "GemmaTokenizer", extra=["<image>"])
    language = {**_LANGUAGE, "model_type": "gemma", "head_dim": 16, "vocab_size": vocabulary + 1_200}
    vision = {**_TOWER, "model_type": "siglip_vision_model", "image_size": 112, "patch_size": 14, "projection_dim": 32}
    vision["vision_use_head"] = False
    image_token = vocabulary - 1
    inner = PaliGemmaConfig(
        text_config=language, vision_config=vision, projection_dim=32, image_token_index=image_token
    )
    torch.manual_seed(7)
    ColPaliForRetrieval(ColPaliConfig(vlm_config=inner, embedding_dim=128)).eval().save_pretrained(folder)
    images = SiglipImageProcessorPil(
        size={"height": 112, "width": 112}, image_mean=[0.5] * 3, image_std=[0.5] * 3, image_seq_length=64
    )
    _processor(folder, images, "ColPaliProcessor")
    return folder


def tiny_colqwen2(folder: Path) -> Path:
    """`ColQwen2ForRetrieval`: as many patches of 28 x 28 pixels as the page's shape asks for, at most 24."""
    import torch
    from transformers import ColQwen2Config, ColQwen2ForRetrieval, Qwen2VLConfig, Qwen2VLImageProcessorPil

    extra = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>"]
    names = _byte_level(folder, "Qwen2Tokenizer", [*extra, "<|video_pad|>"], pad="<|endoftext|>")
    inner = Qwen2VLConfig(
        text_config={**_LANGUAGE, "vocab_size": len(names), "bos_token_id": 0, "eos_token_id": 0}
        | {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]}},
        vision_config={"depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2},
        image_token_id=names["<|image_pad|>"],
        video_token_id=names["<|video_pad|>"],
        vision_start_token_id=names["<|vision_start|>"],
        vision_end_token_id=names["<|vision_end|>"],
    )
    torch.manual_seed(7)
    ColQwen2ForRetrieval(ColQwen2Config(vlm_config=inner, embedding_dim=128)).eval().save_pretrained(folder)
    images = Qwen2VLImageProcessorPil(size={"shortest_edge": 56 * 56, "longest_edge": 28 * 28 * 24})
    _processor(folder, images, "ColQwen2Processor")
    return folder


def tiny_colmodernvbert(folder: Path) -> Path:
    """`ColModernVBertForRetrieval`: tiles of 32 x 32 pixels, each 2 x 2 patches, and the whole page once more."""
    import torch
    from transformers import (
        ColModernVBertConfig,
        ColModernVBertForRetrieval,
        Idefics3ImageProcessorPil,
        ModernVBertConfig,
    )

    extra = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "<fake_token_around_image>", "<image>", "<end_of_utterance>"]
    tags = ["<global-img>", *(f"<row_{row}_col_{col}>" for row in range(1, 7) for col in range(1, 7))]
    names = _byte_level(folder, "PreTrainedTokenizerFast", [*extra, *tags], pad="[PAD]")
    inner = ModernVBertConfig(
        text_config={
            **{key: _LANGUAGE[key] for key in ("hidden_size", "num_hidden_layers", "num_attention_heads")},
        }
        | {"intermediate_size": 64, "vocab_size": len(names), "max_position_embeddings": 512}
        | {"pad_token_id": 0, "bos_token_id": 1, "cls_token_id": 1, "eos_token_id": 2, "sep_token_id": 2},
        vision_config={**_TOWER, "image_size": 32, "patch_size": 8},
        image_token_id=names["<image>"],
        pixel_shuffle_factor=2,
    )
    torch.manual_seed(7)
    ColModernVBertForRetrieval(ColModernVBertConfig(vlm_config=inner, embedding_dim=128)).eval().save_pretrained(folder)
    images = Idefics3ImageProcessorPil(
        size={"longest_edge": 128}, max_image_size={"longest_edge": 32}, image_mean=[0.5] * 3, image_std=[0.5] * 3
    )
    _processor(folder, images, "ColModernVBertProcessor", image_seq_len=4)
    return folder


_TOWER: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
_LANGUAGE: dict[str, Any] = {**_TOWER, "num_key_value_heads": 2, "max_position_embeddings": 512}


def _processor(folder: Path, images: Any, name: str, **more: Any) -> None:
    images.save_pretrained(folder)
    (folder / "processor_config.json").write_text(json.dumps({"processor_class": name, **more}))


def _write_tokenizer(folder: Path, tokenizer: Any, settings: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def _unigram(folder: Path) -> int:
    """SigLIP's: sentence pieces, closed by `</s>`, which also fills up."""
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import Unigram

    letters = [(f"▁{letter}", -5.0) for letter in string.ascii_lowercase + string.digits]
    letters += [(letter, -6.0) for letter in string.ascii_lowercase + string.digits]
    words = [(f"▁{word}", -3.0) for word in sorted(set(_WORDS.split())) if len(word) > 1]
    pieces = [("<unk>", 0.0), ("</s>", 0.0), ("▁", -8.0), *words, *letters]
    tokenizer = Tokenizer(Unigram(pieces, unk_id=0))
    tokenizer.normalizer = normalizers.Lowercase()  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer.add_special_tokens(["<unk>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(  # pyright: ignore[reportAttributeAccessIssue]
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    names = {"unk_token": "<unk>", "eos_token": "</s>", "pad_token": "</s>"}
    _write_tokenizer(folder, tokenizer, {**names, "model_max_length": 64, "tokenizer_class": "SiglipTokenizer"})
    return len(pieces)


def _gemma(folder: Path, name: str, extra: list[str] | None = None, *, ends: bool = False) -> int:
    """Gemma's: merges over letters with `▁` for a space, bytes for what is unknown."""
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import BPE

    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    vocabulary = [*special, *(f"<0x{byte:02X}>" for byte in range(256)), *string.printable[:94], "▁", "\n"]
    merges: list[tuple[str, str]] = []
    for word in sorted(set(_WORDS.split())):
        whole = "▁"
        for letter in word:
            if whole + letter not in vocabulary:
                vocabulary.append(whole + letter)
                merges.append((whole, letter))
            whole += letter
    vocabulary += extra or []
    tokenizer = Tokenizer(
        BPE(
            {word: at for at, word in enumerate(vocabulary)},
            merges,
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    tokenizer.normalizer = normalizers.Replace(" ", "▁")  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer.add_special_tokens([*special, *(extra or [])])
    if ends:
        tokenizer.post_processor = processors.TemplateProcessing(  # pyright: ignore[reportAttributeAccessIssue]
            single="$A <eos>", special_tokens=[("<eos>", 1)]
        )
    tokens = {f"{token.strip('<>')}_token": token for token in special}
    settings: dict[str, Any] = {**tokens, "tokenizer_class": name, "add_bos_token": False, "add_eos_token": ends}
    if ends:
        settings |= {"padding_side": "right", "model_input_names": ["input_ids"], "do_lower_case": True}
    if extra:
        settings["additional_special_tokens"] = extra
    _write_tokenizer(folder, tokenizer, settings)
    return len(vocabulary)


def _byte_level(folder: Path, name: str, special: list[str], pad: str) -> dict[str, int]:
    """GPT's: bytes and a few merges, `Ġ` for a space."""
    from tokenizers import Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import BPE

    vocabulary = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    merges: list[tuple[str, str]] = []
    for word in sorted(set(_WORDS.split())):
        whole = "Ġ"
        for letter in word:
            if whole + letter not in vocabulary:
                vocabulary.append(whole + letter)
                merges.append((whole, letter))
            whole += letter
    names = {word: at for at, word in enumerate(vocabulary)}
    tokenizer = Tokenizer(BPE(names, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer.decoder = decoders.ByteLevel()  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer.add_special_tokens(special)
    settings: dict[str, Any] = {"pad_token": pad, "eos_token": pad, "tokenizer_class": name, "padding_side": "right"}
    if "[UNK]" in special:
        settings |= {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    _write_tokenizer(folder, tokenizer, settings)
    return names
