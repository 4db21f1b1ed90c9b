"""Components of the settings page: language models, visual models, benchmarks."""
