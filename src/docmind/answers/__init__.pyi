from .direct import DirectAnswers, DocumentSearch, Reply, Scope, lacking
from .examples import Examples
from .extractive import Extract, Extractive
from .intents import PASSAGES, Intent, IntentKind, Language
from .looks import with_looks
from .missing import NOT_FOUND, NOT_READ, SENTENCES, not_found
from .neutral_answers import neutral, neutral_draft
from .passages import is_heading, nearest_heading
from .verify import Passage, Verified, Verifier, quoted

__all__ = [
    "NOT_FOUND",
    "NOT_READ",
    "PASSAGES",
    "SENTENCES",
    "DirectAnswers",
    "DocumentSearch",
    "Examples",
    "Extract",
    "Extractive",
    "Intent",
    "IntentKind",
    "Language",
    "Passage",
    "Reply",
    "Scope",
    "Verified",
    "Verifier",
    "is_heading",
    "lacking",
    "nearest_heading",
    "neutral",
    "neutral_draft",
    "not_found",
    "quoted",
    "with_looks",
]
