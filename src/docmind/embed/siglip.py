"""SigLIP and SigLIP 2 by transformers' own classes: pictures and short texts as vectors of one space.

Runs in a child process; see `vision_serve`.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from transformers import (
    GemmaTokenizer,
    PreTrainedTokenizerFast,
    Siglip2ImageProcessorPil,
    Siglip2Model,
    Siglip2Tokenizer,
    SiglipImageProcessorPil,
    SiglipModel,
)

from docmind.embed.pretrained import LOCAL, load_weights, normalised, placed

CLASSES: dict[str, tuple[Any, Any]] = {
    "siglip": (SiglipModel, SiglipImageProcessorPil),
    "siglip2": (Siglip2Model, Siglip2ImageProcessorPil),
}
"""By `model_type`. SigLIP 2 of a fixed size say `siglip`; those that say `siglip2` keep a picture's shape."""
_TOKENIZERS: dict[str, Any] = {"GemmaTokenizer": GemmaTokenizer, "Siglip2Tokenizer": Siglip2Tokenizer}
_TEXT_TOKENS = 64
_PUNCTUATION = str.maketrans("", "", string.punctuation)


class Siglip:
    """Both towers. One thread may show it pictures while another gives it text."""

    def __init__(self, directory: Path, architecture: str, *, device: str, precision: str) -> None:
        model_class, images_class = CLASSES[architecture]
        self._model = load_weights(model_class, directory, device=device, precision=precision)
        self._images = images_class.from_pretrained(directory, local_files_only=True)
        named = str(json.loads((directory / "tokenizer_config.json").read_text("utf-8")).get("tokenizer_class"))
        # SigLIP's own tokenizer class needs sentencepiece; tokenizer.json beside it says the same to `tokenizers`.
        tokenizer_class = _TOKENIZERS.get(named.removesuffix("Fast"), PreTrainedTokenizerFast)
        self._tokenizer = tokenizer_class.from_pretrained(directory, **LOCAL)
        self._strips = tokenizer_class is PreTrainedTokenizerFast
        self._length = min(_TEXT_TOKENS, self._model.config.text_config.max_position_embeddings)

    @property
    def dim(self) -> int:
        return int(self._model.config.vision_config.hidden_size)

    def images(self, pictures: Sequence[Image.Image]) -> np.ndarray:
        """`(n, dim)` float32, each row of length 1."""
        inputs = placed(self._images(images=list(pictures), return_tensors="pt"), self._model)
        with torch.inference_mode():
            return normalised(self._model.get_image_features(**inputs).pooler_output).numpy()

    def text(self, text: str) -> np.ndarray:
        """`(dim,)` float32 of length 1. What is longer than 64 tokens is cut off."""
        tokens = self._tokenizer(
            self._plain(text),
            padding="max_length",  # it was trained so, and without a mask: other padding gives other vectors
            padding_side="right",
            truncation=True,
            max_length=self._length,
            return_tensors="pt",
        )
        with torch.inference_mode():
            features = self._model.get_text_features(input_ids=tokens["input_ids"].to(self._model.device))
            return normalised(features.pooler_output)[0].numpy()

    def _plain(self, text: str) -> str:
        """Small letters, as both were trained on; SigLIP's own tokenizer drops punctuation too. No control tokens."""
        for token in self._tokenizer.all_special_tokens:
            text = text.replace(token, " ")
        text = text.lower()
        return re.sub(r"\s+", " ", text.translate(_PUNCTUATION) if self._strips else text).strip()
