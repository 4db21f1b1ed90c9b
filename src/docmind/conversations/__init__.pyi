from .carrying import CarriedStates, adopt_states, carried_states, make_state_tables
from .instructions import LONGEST_INSTRUCTIONS
from .service import Conversations

__all__ = [
    "LONGEST_INSTRUCTIONS",
    "CarriedStates",
    "Conversations",
    "adopt_states",
    "carried_states",
    "make_state_tables",
]
