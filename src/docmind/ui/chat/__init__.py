"""Components of the chat page: threads, turns, sources, memories, visual search."""
