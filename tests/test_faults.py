"""Where the overlay itself fails, the client gets vLLM's own stream and one warning tells."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bed import client
from bed.cases import case
from bed.server import VllmServer

if TYPE_CHECKING:
    from bed.models import ModelPath

CALL: dict[ModelPath, str] = {"simple": "q-two-calls", "harmony": "h-call"}

IDS = re.compile(r"\b(?:(?:resp|msg|rs|fc|call|chatcmpl-tool)[_-])?[0-9a-f]{16,}\b")


def renamed(events: list[dict[str, Any]]) -> str:
    """A stream with its ids numbered in order of appearance, prefixes kept, and without times."""
    seen: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        identity = found[0]
        prefix = identity[: identity.rfind("_") + 1]
        return seen.setdefault(identity, f"{prefix}#{len(seen)}")

    text = json.dumps(client.merged(events), indent=1)
    return IDS.sub(number, re.sub(r'"(created_at|completed_at)": \d+', r'"\1": 0', text))


def warnings(server: VllmServer) -> list[str]:
    """The plugin's warnings so far."""
    return re.findall(r"WARNING .*stable_ids: .*", server.log_text())


def test_a_fault_before_the_first_event_leaves_exactly_the_stock_stream(
    fixed: VllmServer, stock: VllmServer, path: ModelPath
) -> None:
    before = len(warnings(fixed))
    ours = client.stream(fixed, case(CALL[path]), headers={"x-fault": "send:0"})
    theirs = client.stream(stock, case(CALL[path]))
    assert renamed(ours.events) == renamed(theirs.events)
    numbers = [event["sequence_number"] for event in ours.events]
    assert numbers == list(range(len(numbers)))
    new = warnings(fixed)[before:]
    assert len(new) == 1
    assert "a stream goes on with vLLM's own ids (InjectedError in " in new[0]


@pytest.mark.parametrize("fault", ["send:3", "send:9", "reconcile", "open"])
def test_a_fault_later_on_leaves_every_event_in_its_place(
    fixed: VllmServer, stock: VllmServer, path: ModelPath, fault: str
) -> None:
    before = len(warnings(fixed))
    ours = client.stream(fixed, case(CALL[path]), headers={"x-fault": fault}).events
    theirs = client.stream(stock, case(CALL[path])).events
    assert list(map(content, client.merged(ours))) == list(map(content, client.merged(theirs)))
    assert len(warnings(fixed)) == before + 1


def content(event: dict[str, Any]) -> tuple[Any, ...]:
    """What an event says, whatever it calls its item and a part of reasoning."""
    kind = event["type"].replace("reasoning_part", "content_part")
    said = [event.get(key) for key in ("delta", "text", "arguments")]
    output = event.get("response", {}).get("output", [])
    return kind, *said, [item["type"] for item in output]


def test_a_fault_in_one_stream_is_none_in_the_next(fixed: VllmServer, path: ModelPath) -> None:
    from bed.judge import judge

    client.stream(fixed, case(CALL[path]), headers={"x-fault": "send:3"})
    assert judge(client.stream(fixed, case(CALL[path])).events) == []
    assert client.probe(fixed)["live_overlays"] == 0


BREAK_REGISTRATION = """
import wrapt

def fail(*args):
    raise RuntimeError

@wrapt.when_imported("vllm_stable_ids.patches.hook")
def broken(module):
    module.Hook.install = fail
"""


def test_a_registration_that_fails_leaves_a_stock_server(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(BREAK_REGISTRATION)
    search = [str(tmp_path), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(filter(None, search))
    with VllmServer("simple", env={"PYTHONPATH": path}) as broken:
        assert client.probe(broken)["patched"] == []
        log = broken.log_text()
        assert len(re.findall("stable_ids: not patched, vLLM's own ids are in force", log)) == 1
        stream = client.stream(broken, case("q-call"))
        assert stream.events[2]["item"]["id"].isalnum()
        assert stream.terminal["status"] == "completed"
