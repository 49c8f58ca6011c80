"""A verdict as one page of HTML, with a timeline of the stream. See docs/check.md."""

from vllm_stable_ids.check.page.document import as_html
from vllm_stable_ids.check.page.timeline import Timeline

__all__ = ["Timeline", "as_html"]
