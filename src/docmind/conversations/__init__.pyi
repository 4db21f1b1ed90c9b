from .answerer import Answerer
from .carrying import CarriedStates, adopt_states, carried_states, make_state_tables
from .checking import StateFault, check_states
from .checkpoints import stored_states
from .examples import Examples
from .instructions import LONGEST_INSTRUCTIONS
from .service import Conversations

__all__ = [
    "LONGEST_INSTRUCTIONS",
    "Answerer",
    "CarriedStates",
    "Conversations",
    "Examples",
    "StateFault",
    "adopt_states",
    "carried_states",
    "check_states",
    "make_state_tables",
    "stored_states",
]
