from .direct import DirectAnswers, DocumentSearch, Reply, Scope, lacking
from .examples import Examples
from .extractive import NOT_FOUND, Extract, Extractive
from .intents import PASSAGES, Intent, IntentKind, Language
from .looks import with_looks
from .neutral_answers import neutral, neutral_draft
from .passages import is_heading, nearest_heading
from .verify import Passage, Verified, Verifier, quoted

__all__ = [
    "NOT_FOUND",
    "PASSAGES",
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
    "quoted",
    "with_looks",
]
