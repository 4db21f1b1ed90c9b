"""Answers: from hits to sentences that each point at a box on a page."""
