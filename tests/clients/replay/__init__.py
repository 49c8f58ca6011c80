"""Stored event streams, as a faulty server sends them and rewritten, to real clients."""
