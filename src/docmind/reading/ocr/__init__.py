"""Optical character recognition of page images, in separate processes."""
