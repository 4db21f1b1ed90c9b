from .base import (
    ImageModel,
    LateModel,
    PagePatches,
    QueryPatches,
    QueryTokens,
    TextEmbedder,
    TokenEmbedder,
    close_text_model,
    is_multilingual,
    token_embedder,
)
from .bm25 import PREFIX, STOP_WORDS, fold, page_terms, prefix, query_terms, reads_as_english, words
from .chunking import embedded_spans, embedded_text, label_of, name_of, nodes_of_page, whole_words, without_leaders
from .llama_embedding import TextEmbedding
from .registry import (
    AUTO,
    automatic,
    facts_of,
    open_text_model,
    text_model_capability,
    text_model_of_vault,
    text_models,
)
from .sentence import CrossEncoder, open_cross_encoder
from .sentence_boundary import sentence_ends
from .visual_client import open_image_model, open_late_model

__all__ = [
    "AUTO",
    "PREFIX",
    "STOP_WORDS",
    "CrossEncoder",
    "ImageModel",
    "LateModel",
    "PagePatches",
    "QueryPatches",
    "QueryTokens",
    "TextEmbedder",
    "TextEmbedding",
    "TokenEmbedder",
    "automatic",
    "close_text_model",
    "embedded_spans",
    "embedded_text",
    "facts_of",
    "fold",
    "is_multilingual",
    "label_of",
    "name_of",
    "nodes_of_page",
    "open_cross_encoder",
    "open_image_model",
    "open_late_model",
    "open_text_model",
    "page_terms",
    "prefix",
    "query_terms",
    "reads_as_english",
    "sentence_ends",
    "text_model_capability",
    "text_model_of_vault",
    "text_models",
    "token_embedder",
    "whole_words",
    "without_leaders",
    "words",
]
