"""What to do about a verdict, in a sentence or two."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vllm_stable_ids.check.verdict import Stream

PLUGIN = "install vllm-stable-ids beside vLLM (pip install vllm-stable-ids) and restart it"
WIRE = "put vllm-stable-ids proxy before the server, or send recordings through rewrite"
UPGRADE = "vLLM 0.32 and newer have most of this right on the simple path."
AGAIN = (
    "Record it again, to its end. If it stops there again, the server broke off, and its log "
    "says why."
)


RESTRICT = "Nothing: no client can be meant to read that much. What comes before was right."


def advice_on(stream: Stream) -> str:
    """What to do about a stream that was judged."""
    if not stream.breaches:
        if any(note.note == "vocabulary" for note in stream.notes):
            return (
                "Nothing, unless a client stops at response.reasoning_part.*: then " + PLUGIN + "."
            )
        return "There is nothing to do."
    said = []
    if any(breach.mended for breach in stream.breaches):
        said.append(_remedy(stream))
    if not all(breach.mended for breach in stream.breaches):
        rules = sorted({breach.rule for breach in stream.breaches if not breach.mended})
        said.append(f"What is told under {', '.join(rules)} only the server can mend.")
    if stream.cut:
        said.append("The recording stops before the end: there may be more.")
    return " ".join(said)


def _remedy(stream: Stream) -> str:
    if stream.origin.server == "other":
        return _sentence(WIRE)
    if stream.origin.server == "unknown":
        return _sentence(f"if this is vLLM, {PLUGIN}; else {WIRE}")
    remedy = _sentence(f"{PLUGIN}; where you cannot, {WIRE}")
    return f"{remedy} {UPGRADE}" if stream.origin.path == "simple" else remedy


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."
