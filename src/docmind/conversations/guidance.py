"""What the user wants a language model to know of a question: memories that bear on it, and instructions."""

from __future__ import annotations

from docmind.conversations.instructions import Instructions
from docmind.conversations.run_context import RunContext
from docmind.errors import DamagedError
from docmind.memory import Memories
from docmind.records.search import Degraded


class Guidance:
    """Memories and instructions for prompts. Thread-safe: the data of a run is in its `RunContext`."""

    def __init__(self, *, memories: Memories, instructions: Instructions) -> None:
        self._memories, self._instructions = memories, instructions

    def of(self, question: str, context: RunContext) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the memories that bear on a question, as texts, and the instructions that count for it.

        Those that cannot be read are left out, and `context.degraded` says so.
        """
        texts: tuple[str, ...] = ()
        try:
            found = self._memories.recall(question, thread_id=context.thread_id)
            texts = tuple(memory.text for memory in found.memories)
            context.degraded += found.degraded
        except DamagedError as error:
            context.degraded.append(Degraded("memory", str(error)))
        instructions, degraded = self._instructions.of(context.thread_id)
        context.degraded += degraded
        return texts, instructions
