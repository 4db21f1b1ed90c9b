"""Late interaction: a question's tokens against those of texts, and against the patches of page images."""
