from .base import (
    ImageModel,
    LateModel,
    PagePatches,
    QueryPatches,
    QueryTokens,
    TextEmbedder,
    TokenEmbedder,
    is_multilingual,
    token_embedder,
)
from .bm25 import PREFIX, STOP_WORDS, fold, page_terms, prefix, query_terms, reads_as_english, words
from .chunking import embedded_spans, embedded_text, label_of, name_of, nodes_of_page, whole_words, without_leaders
from .llama_embedding import TextEmbedding
from .registry import AUTO, automatic, open_text_model
from .sentence_boundary import sentence_ends
from .visual_client import open_image_model, open_late_model

__all__ = [
    "AUTO",
    "PREFIX",
    "STOP_WORDS",
    "ImageModel",
    "LateModel",
    "PagePatches",
    "QueryPatches",
    "QueryTokens",
    "TextEmbedder",
    "TextEmbedding",
    "TokenEmbedder",
    "automatic",
    "embedded_spans",
    "embedded_text",
    "fold",
    "is_multilingual",
    "label_of",
    "name_of",
    "nodes_of_page",
    "open_image_model",
    "open_late_model",
    "open_text_model",
    "page_terms",
    "prefix",
    "query_terms",
    "reads_as_english",
    "sentence_ends",
    "token_embedder",
    "whole_words",
    "without_leaders",
    "words",
]
