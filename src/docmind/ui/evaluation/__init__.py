"""The Evaluation page: measuring how well pages are found, runs and their differences, and how long things take."""
