from .asking import Example, question_of
from .compound import parts_of
from .drafts import NO_CLAIM, DraftSentence, DraftVerifier, Finding, sentences_of
from .extractive import Extract, Extractive, first_passage, is_named, passage_source
from .imports import imports_in
from .intents import PASSAGES, Intent, IntentKind, Language, is_all, is_this, recognise
from .item_lists import ItemList, ListReader, opening_of
from .kind_values import values_of
from .kinds import content_words, language_of_question
from .list_fits import Fit, fit
from .list_questions import ListQuestion, is_everywhere, is_listing, list_questions, mention_of, without_genre
from .list_words import drop_words, words_of_list
from .looks import with_looks
from .mail_questions import MailQuestion, mail_questions
from .mentions import Wanted
from .missing import NOT_FOUND, NOT_READ, SENTENCES, not_found
from .neutral_answers import neutral, neutral_draft
from .newest import day_in, newest_hits, wishes_newest
from .passages import edges, headed_passages, is_heading, nearest_heading, stored_passages
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
    "Example",
    "Extract",
    "Extractive",
    "Finding",
    "Fit",
    "Intent",
    "IntentKind",
    "ItemList",
    "Language",
    "ListQuestion",
    "ListReader",
    "MailQuestion",
    "Passage",
    "Summarizer",
    "Verified",
    "Verifier",
    "Wanted",
    "content_words",
    "day_in",
    "drop_words",
    "edges",
    "first_passage",
    "fit",
    "headed_passages",
    "imports_in",
    "is_all",
    "is_everywhere",
    "is_heading",
    "is_listing",
    "is_named",
    "is_this",
    "language_of_question",
    "lead_of",
    "list_questions",
    "mail_questions",
    "mention_of",
    "nearest_heading",
    "neutral",
    "neutral_draft",
    "newest_hits",
    "not_found",
    "opening_of",
    "page_source",
    "parts_of",
    "passage_source",
    "question_of",
    "quote_source",
    "quoted",
    "recognise",
    "sentences_of",
    "stored_passages",
    "values_of",
    "wishes_newest",
    "with_looks",
    "without_genre",
    "words_of_list",
]
