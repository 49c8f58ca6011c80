"""Judges a running server by asking it. See docs/check.md, "A running server"."""
