"""The reader: pages of documents beside what is on screen, opened by a link and served at addresses of their own."""
