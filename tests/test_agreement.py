"""vLLM 0.32 and later: what upstream gets right is left alone, byte for byte; the rest is right."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from bed import client
from bed.cases import Case, cases_of
from bed.conventions import prefix_breaches, vocabulary_breaches
from bed.judge import TERMINALS, judge
from bed.random_outputs import random_case
from bed.release import vllm_release

if TYPE_CHECKING:
    from bed.models import ModelPath
    from bed.server import VllmServer
    from conftest import Servers

pytestmark = pytest.mark.skipif(
    vllm_release() < (0, 32),
    reason="vLLM before 0.32 gets no stream right",
)

RANDOM_OUTPUTS = 40
RIGHT_AT_LEAST = {"simple": 45, "harmony": 15}

RANDOM_PART = re.compile(rb"[0-9a-f]{16,}")
TIMES = re.compile(rb'"(created_at|completed_at)":\d+')

# A busy server puts two tokens into one delta now and then, so that a stream is cut otherwise.
TRIES = 4


def bare(raw: bytes) -> bytes:
    """A stream with its random ids numbered in order of appearance, and without times."""
    seen: dict[bytes, bytes] = {}
    numbered = RANDOM_PART.sub(lambda found: seen.setdefault(found[0], b"#%d" % len(seen)), raw)
    return TIMES.sub(rb'"\1":0', numbered)


def is_right(stream: client.Stream) -> bool:
    events = stream.events
    return not [*judge(events), *vocabulary_breaches(events), *prefix_breaches(events)]


def same_bytes(fixed: VllmServer, stock: VllmServer, scripted: Case) -> bool:
    for _ in range(TRIES):
        ours, theirs = client.stream(fixed, scripted), client.stream(stock, scripted)
        if bare(ours.raw) == bare(theirs.raw):
            return True
    return False


def test_what_upstream_gets_right_is_left_alone(
    fixed: VllmServer, stock: VllmServer, path: ModelPath
) -> None:
    outputs = [*cases_of(path), *(random_case(path, seed) for seed in range(RANDOM_OUTPUTS))]
    right = [scripted for scripted in outputs if is_right(client.stream(stock, scripted))]
    assert len(right) >= RIGHT_AT_LEAST[path]
    changed = [scripted.name for scripted in right if not same_bytes(fixed, stock, scripted)]
    assert changed == []


def test_what_upstream_left_is_repaired(fixed: VllmServer, path: ModelPath) -> None:
    outputs = [*cases_of(path), *(random_case(path, seed) for seed in range(RANDOM_OUTPUTS))]
    wrong = [one.name for one in outputs if not is_right(client.stream(fixed, one))]
    assert wrong == []


def test_the_engine_refuses_a_token(servers: Servers) -> None:
    fixed, stock = (servers.get("simple", fixed=fixed) for fixed in (True, False))
    # The grammar of a required call, which holds from the end of reasoning on, does not allow it.
    scripted = Case("no call", "simple", "<think>\nHm.\n</think>\n\nIt is sunny.<|im_end|>")
    theirs = client.stream(stock, scripted, tool_choice="required").events
    assert not {event["type"] for event in theirs} & TERMINALS
    events = client.stream(fixed, scripted, tool_choice="required").events
    assert judge(events) == []
    assert [event["type"] for event in events[-2:]] == ["error", "response.failed"]
    stored = client.retrieve(fixed, events[-1]["response"]["id"])
    assert stored["status"] == "failed"
