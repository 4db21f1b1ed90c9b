"""Evaluation, in Settings: measuring how well pages are found, runs and their differences, how long things take."""
