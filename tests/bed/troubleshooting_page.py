"""The known errors as a page of the documentation: `make pages` writes it."""

from __future__ import annotations

from pathlib import Path

from vllm_stable_ids.doctor.known_errors import KNOWN_ERRORS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "troubleshooting.md"

HEAD = """\
# Troubleshooting

Made by `make pages` from `python/vllm_stable_ids/doctor/known_errors.py`; do not edit. What differs
each time is written `…`. The same is searched by

    vllm-stable-ids doctor --explain "No call message found for call_951f53b107639ed7"

which does not mind ids, numbers and what stands around a message. For an installation that does not
do what it should there is [`vllm-stable-ids doctor`](doctor.md), and for a stream
[`vllm-stable-ids check`](check.md).
"""

TAIL = """\
## None of these

Record the stream that fails, with `curl -sN` and `"stream": true`, and run
[`vllm-stable-ids check`](check.md) on it. If it says KEPT, identities are not the cause.
"""


def render() -> str:
    """Return the page."""
    sections = [HEAD]
    for error in KNOWN_ERRORS:
        says = "\n".join(f"    {text}" for text in error.texts)
        rows = {"seen in": error.seen_in, "cause": error.cause, "remedy": error.remedy}
        table = "\n".join(f"| {name} | {text} |" for name, text in rows.items())
        sections.append(f"## {error.name}\n\n{says}\n\n| | |\n|---|---|\n{table}\n")
    return "\n".join([*sections, TAIL])


if __name__ == "__main__":
    PAGE.write_text(render())
