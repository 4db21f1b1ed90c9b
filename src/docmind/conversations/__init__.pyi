from .answerer import Answerer
from .carrying import CarriedStates, adopt_states, carried_states, make_state_tables
from .checking import StateFault, check_states
from .checkpoints import stored_states
from .drafts import MOST_SENTENCES, Drafts
from .examples import Examples
from .export.comparison import comparison_markdown
from .export.draft import draft_markdown
from .export.listing import listing_counts, listing_csv, listing_markdown
from .instructions import LONGEST_INSTRUCTIONS
from .listings import Listings
from .service import Conversations

__all__ = [
    "LONGEST_INSTRUCTIONS",
    "MOST_SENTENCES",
    "Answerer",
    "CarriedStates",
    "Conversations",
    "Drafts",
    "Examples",
    "Listings",
    "StateFault",
    "adopt_states",
    "carried_states",
    "check_states",
    "comparison_markdown",
    "draft_markdown",
    "listing_counts",
    "listing_csv",
    "listing_markdown",
    "make_state_tables",
    "stored_states",
]
