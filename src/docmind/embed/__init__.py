"""Models that turn text and images into vectors. Nothing is loaded before it is used."""
