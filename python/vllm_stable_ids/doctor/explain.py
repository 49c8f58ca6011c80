"""Finds the error that a text is, however it was copied."""

from __future__ import annotations

import re
from functools import lru_cache

from vllm_stable_ids.doctor.known_errors import KNOWN_ERRORS, KnownError

WORD = re.compile(r"[^\W\d_]+(?:[._'-]?[^\W_]+)*(?:_[^\W_]+)*")
ALIKE = 0.8
FEW = 3
LONGEST = 4000

UNKNOWN = (
    "No error is known that says so. Record the stream that fails (curl -sN, with "
    '"stream": true) and run vllm-stable-ids check on it: it says whether identities are the '
    "cause. If it says KEPT, they are not."
)


def explain(text: str) -> list[KnownError]:
    """The errors that a text may be, the likeliest first.

    Case, ids, numbers and what stands around the message do not count.
    """
    said = _words(text[:LONGEST])
    rated = [(_likeness(said, error), error) for error in KNOWN_ERRORS]
    best = max((rate for rate, _ in rated), default=0.0)
    likely = [(rate, error) for rate, error in rated if rate >= ALIKE and rate == best]
    return [error for _, error in likely]


def _likeness(said: tuple[str, ...], error: KnownError) -> float:
    return max(_shared(said, _words(text)) for text in error.texts)


def _shared(said: tuple[str, ...], known: tuple[str, ...]) -> float:
    """How much of the shorter of two texts is in the other, in the same order.

    Where both texts say as much, the one that shares more words is the likelier.
    """
    common = _common(said, known)
    if common < min(FEW, len(known)) or not said:
        return 0.0
    rate = common / min(len(said), len(known))
    return rate + common / 1000 if rate >= ALIKE else rate


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for word in one:
        diagonal = 0
        for column, against in enumerate(other, 1):
            above = row[column]
            row[column] = diagonal + 1 if word == against else max(above, row[column - 1])
            diagonal = above
    return row[-1]


@lru_cache(maxsize=64)
def _words(text: str) -> tuple[str, ...]:
    """The words that are the same each time: those with a digit are ids, numbers or versions."""
    words = (
        word.strip(".'`").lower()
        for word in WORD.findall(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    )
    return tuple(word for word in words if not any(map(str.isdigit, word)))
