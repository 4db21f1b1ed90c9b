"""The states of conversations in `vault.db`: LangGraph's checkpointer, on our connection and with our guards."""

from docmind.checkpoints.plain import refuse
from docmind.checkpoints.saver import Checkpoints, Saved

__all__ = ["Checkpoints", "Saved", "refuse"]
