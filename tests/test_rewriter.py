"""The wire rewriter from Python and as a command, on streams of a real stock vLLM."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bed import client
from bed.cases import Case, cases_of
from bed.judge import judge
from bed.random_outputs import random_case
from vllm_stable_ids.rewriter import SseRewriter

if TYPE_CHECKING:
    from bed.models import ModelPath
    from bed.server import VllmServer
    from conftest import Servers

COMMAND = str(Path(sys.executable).with_name("vllm-stable-ids"))
PAYLOAD = ("delta", "text", "arguments", "code", "input")

CREATED = (
    b'event: response.created\ndata: {"type":"response.created","sequence_number":0,'
    b'"response":{"id":"resp_1","output":[]}}\n\n'
)
ADDED = (
    b'event: response.output_item.added\ndata: {"type":"response.output_item.added",'
    b'"sequence_number":1,"output_index":0,"item":{"type":"message","id":"msg_1","content":[]}}\n\n'
)
COMPLETED = (
    b'event: response.completed\ndata: {"type":"response.completed","sequence_number":2,'
    b'"response":{"id":"resp_1","output":[{"type":"message","id":"msg_9","content":[]}]}}\n\n'
)


def rewritten(raw: bytes, chunk: int = 1 << 16) -> bytes:
    """A stream as the rewriter sends it on, fed in pieces."""
    rewriter = SseRewriter()
    pieces = [rewriter.feed(raw[at : at + chunk]) for at in range(0, len(raw), chunk)]
    return b"".join(pieces) + rewriter.finish()


def payload(raw: bytes) -> list[Any]:
    """Every piece of payload in the events of a stream, in order."""
    return [event[key] for event in client.parse(raw) for key in PAYLOAD if key in event]


def check(raw: bytes) -> None:
    """What must hold of every stream: the contract, the payload, and that once is enough."""
    sent = rewritten(raw)
    assert judge(client.parse(sent)) == []
    rest = iter(payload(sent))
    assert all(piece in rest for piece in payload(raw))
    assert rewritten(raw, 7) == sent
    assert rewritten(sent) == sent


@pytest.mark.parametrize(
    "scripted", [*cases_of("simple"), *cases_of("harmony")], ids=lambda scripted: scripted.name
)
def test_a_stock_stream_keeps_the_contract_once_rewritten(servers: Servers, scripted: Case) -> None:
    raw = client.stream(servers.get(scripted.path, fixed=False), scripted).raw
    assert judge(client.parse(raw)) != []
    check(raw)


async def test_random_stock_streams_too(stock: VllmServer, path: ModelPath) -> None:
    async with client.async_client(stock) as connection:
        streams = await asyncio.gather(
            *(client.astream(connection, random_case(path, seed)) for seed in range(2000, 2040))
        )
    for stream in streams:
        check(stream.raw)


def test_a_fixed_stream_is_left_as_it_is(fixed: VllmServer, path: ModelPath) -> None:
    for scripted in cases_of(path):
        raw = client.stream(fixed, scripted).raw
        assert rewritten(raw, 1400) == raw


def test_the_report_counts_what_was_changed() -> None:
    rewriter = SseRewriter()
    sent = rewriter.feed(CREATED + ADDED + COMPLETED) + rewriter.finish()
    assert b"msg_9" not in sent
    report = rewriter.report()
    assert report["changes"]["identity_kept"] == 1
    assert report["changes"]["closed_late"] == 1
    assert report["gave_up"] is None


@pytest.mark.parametrize(
    ("limits", "reason"),
    [({"max_items": 0}, "more output items"), ({"max_frame_bytes": 20}, "frame")],
)
def test_beyond_a_limit_the_stream_passes_and_the_report_says_why(
    limits: dict[str, Any], reason: str
) -> None:
    rewriter = SseRewriter(**limits)
    raw = CREATED + ADDED + COMPLETED
    assert rewriter.feed(raw) + rewriter.finish() == raw
    assert reason in str(rewriter.report()["gave_up"])


def peak() -> int:
    """The most memory this process has held so far, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_memory_is_bounded_over_ten_million_deltas() -> None:
    frame = (
        b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta",'
        b'"output_index":0,"item_id":"msg_2","content_index":0,"delta":" word"}\n\n'
    )
    chunk = frame * 500
    # What an open item has said is kept up to this limit, and given up beyond.
    rewriter = SseRewriter(max_held_bytes=1 << 20)
    rewriter.feed(CREATED + ADDED)
    assert b"msg_1" in rewriter.feed(chunk)
    before = peak()
    for _ in range(10_000_000 // 500):
        rewriter.feed(chunk)
    assert peak() - before < 4096


def test_the_command_passes_frames_on_as_they_come() -> None:
    with subprocess.Popen(
        [COMMAND, "rewrite"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(CREATED)
        assert process.stdout.read(len(CREATED)) == CREATED
        process.stdin.write(ADDED + COMPLETED)
        process.stdin.close()
        rest = process.stdout.read()
    assert process.returncode == 0
    assert CREATED + rest == rewritten(CREATED + ADDED + COMPLETED)


def test_the_command_reads_a_file(tmp_path: Path) -> None:
    recorded = tmp_path / "stream.sse"
    recorded.write_bytes(CREATED + ADDED + COMPLETED)
    done = subprocess.run([COMMAND, "rewrite", recorded], capture_output=True, check=True)
    assert done.stdout == rewritten(CREATED + ADDED + COMPLETED)
    assert done.stderr == b""


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing.sse"
    done = subprocess.run(
        [COMMAND, "rewrite", missing], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == f"vllm-stable-ids: cannot read {missing}: No such file or directory\n"


def test_a_reader_that_leaves_is_no_traceback() -> None:
    command = f"yes 'data: {{}}' | {COMMAND} rewrite | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "data: {}\n"
    assert done.stderr == ""
