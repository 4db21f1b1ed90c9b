"""Headless Chromium without network access, which draws books in a separate process."""
