"""A hook of MkDocs: links that leave docs/ lead to the repository.

On GitHub `../deploy` is a folder; on the site there is nothing above the pages.
"""

from __future__ import annotations

import re
from typing import Any

ABOVE = re.compile(r"\]\(\.\./([^)\s]*)\)")


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """Return a page with these links made absolute."""
    repository = config.extra["repository"]
    return ABOVE.sub(rf"]({repository}/blob/main/\1)", markdown)
