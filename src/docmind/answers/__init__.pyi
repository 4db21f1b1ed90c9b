from .drafts import NO_CLAIM, DraftSentence, DraftVerifier, sentences_of
from .extractive import Extract, Extractive, first_passage, is_named
from .intents import PASSAGES, Intent, IntentKind, Language, is_all, is_this, recognise
from .looks import with_looks
from .missing import NOT_FOUND, NOT_READ, SENTENCES, not_found
from .neutral_answers import neutral, neutral_draft
from .passages import headed_passages, is_heading, nearest_heading
from .summary import Summarizer
from .verify import Passage, Verified, Verifier, page_source, quote_source, quoted
from .versions import lead_of

__all__ = [
    "NOT_FOUND",
    "NOT_READ",
    "NO_CLAIM",
    "PASSAGES",
    "SENTENCES",
    "DraftSentence",
    "DraftVerifier",
    "Extract",
    "Extractive",
    "Intent",
    "IntentKind",
    "Language",
    "Passage",
    "Summarizer",
    "Verified",
    "Verifier",
    "first_passage",
    "headed_passages",
    "is_all",
    "is_heading",
    "is_named",
    "is_this",
    "lead_of",
    "nearest_heading",
    "neutral",
    "neutral_draft",
    "not_found",
    "page_source",
    "quote_source",
    "quoted",
    "recognise",
    "sentences_of",
    "with_looks",
]
