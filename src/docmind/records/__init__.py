"""Frozen records that cross the boundaries between packages, one module per domain."""
