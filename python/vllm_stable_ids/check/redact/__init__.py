"""Takes the content out of streams and responses, so that they can be shown in public.

An allow-list says which members of which objects stay (`members`). Everything else is replaced, in
a way that leaves the checker's verdict the same: strings that were equal still are, and what began
or continued another text still does.
"""

from vllm_stable_ids.check.redact.redactor import MODEL, Redactor

__all__ = ["MODEL", "Redactor"]
