"""Every client that is driven, and in which ways."""

from __future__ import annotations

from clients import javascript, python

CLIENTS = (*python.CLIENTS, *javascript.CLIENTS)
QUICK = tuple(entry for entry in CLIENTS if entry.quick)
