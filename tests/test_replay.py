"""Faulty event streams break real clients, and no longer do so once they are rewritten."""

from __future__ import annotations

import functools
import shutil
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from clients import page as clients_page
from clients.replay import page
from clients.replay.clients import CLIENTS
from clients.replay.faulty import SOUND, STREAMS
from clients.replay.run import (
    ERROR,
    NOT_RUN,
    OTHER_ARGUMENTS,
    OTHER_CALL_ID,
    OTHER_TEXT,
    RUNS_EMPTY,
    RUNS_TOO_OFTEN,
    Result,
    evaluate,
    log_name,
    passes,
    replay,
    rewritten,
    streams_for,
)
from clients.replay.streams import Call
from clients.verdict import OK

if TYPE_CHECKING:
    from pathlib import Path

    from clients.replay.clients import Client
    from clients.replay.page import Results
    from clients.replay.streams import Stream

BY_NAME = {stream.name: stream for stream in STREAMS}
EACH_CLIENT = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.key)


@functools.cache
def replayed(key: str) -> Results:
    """Replay all streams to a client, once for all tests."""
    return replay(next(client for client in CLIENTS if client.key == key))


def results(client: Client) -> Results:
    """Return what a client did with the streams."""
    if client.language == "node" and shutil.which("npm") is None:
        pytest.skip("there is no npm here")
    return replayed(client.key)


@pytest.mark.parametrize(
    ("client", "stream"),
    [(client, stream) for client in CLIENTS for stream in streams_for(client)],
    ids=lambda value: getattr(value, "key", None) or value.name,
)
def test_a_client_takes_the_rewritten_stream(client: Client, stream: Stream) -> None:
    result = results(client)["rewritten", stream.name]
    assert passes(stream, result), f"{result} (its log is {log_name(client)}.log)"


@EACH_CLIENT
def test_a_client_takes_a_stream_without_a_fault(client: Client) -> None:
    assert results(client)["raw", SOUND.name].word == OK


@EACH_CLIENT
def test_faulty_streams_break_a_client(client: Client) -> None:
    broken = [
        stream.name
        for stream in streams_for(client)
        if not passes(stream, results(client)["raw", stream.name])
    ]
    # Each client loses the call, and none takes one call for two.
    assert {"call-open", "call-half-closed", "two-calls-open", "call-twice"} <= set(broken)


def test_the_page_shows_what_raw_streams_do() -> None:
    lines = clients_page.PAGE.read_text().splitlines()
    found = [results(client) for client in CLIENTS]
    assert [
        row for row in (page.row(stream, found) for stream in STREAMS) if row not in lines
    ] == []


def test_a_stream_without_a_fault_stays_as_it_is() -> None:
    assert rewritten(SOUND.raw) == SOUND.raw


CALL = asdict(Call("call_1"))


def word(name: str, *calls: dict[str, Any], **report: Any) -> str:
    """Return the word for what a client did with a stream."""
    return evaluate(BY_NAME[name], {"calls": list(calls), **report}, "").word


@pytest.mark.parametrize("given", [{}, "", None])
def test_a_call_that_runs_empty(given: Any) -> None:
    assert word("call-open", {**CALL, "given": given}, error="Stopped.") == RUNS_EMPTY
    assert word("call-failed", {**CALL, "given": given}) == RUNS_EMPTY


def test_a_call_that_runs_though_it_must_not() -> None:
    assert word("call-twice", CALL, CALL, error="Stopped.") == RUNS_TOO_OFTEN
    assert word("call-failed", CALL) == RUNS_TOO_OFTEN
    assert word("call-truncated", {**CALL, "given": {"path": "notes.txt"}}) == RUNS_TOO_OFTEN


def test_a_call_that_does_not_run() -> None:
    assert word("call-open") == NOT_RUN
    assert word("two-calls-open", CALL) == NOT_RUN
    assert word("call-open", error="Stopped.") == ERROR


def test_a_call_that_runs_otherwise() -> None:
    assert word("call-open", {**CALL, "given": {"path": "notes.txt"}}) == OTHER_ARGUMENTS
    assert word("call-open", {**CALL, "call_id": ""}) == OTHER_CALL_ID
    second = {**CALL, "call_id": "call_2"}
    assert word("two-calls-open", second, CALL) == OK


def test_a_text_that_is_not_right() -> None:
    assert word("text-alone", text="Two files.") == OK
    assert word("text-alone", text="Two ") == word("text-alone", text="") == OTHER_TEXT
    assert word("call-open", CALL, text="Two ") == OTHER_TEXT


def test_a_failed_response_may_be_an_error() -> None:
    assert word("call-failed", error="Out of memory.") == word("call-failed") == OK
    assert word("text-alone", text="Two files.", error="Stopped.") == ERROR


def test_a_program_that_says_nothing_of_a_stream() -> None:
    assert evaluate(SOUND, None, "ended with status 1") == Result(
        ERROR, error="ended with status 1"
    )


def test_a_call_of_an_incomplete_response_may_be_left_alone() -> None:
    incomplete = BY_NAME["call-open-incomplete"]
    assert passes(incomplete, Result(NOT_RUN))
    assert not passes(incomplete, Result(RUNS_EMPTY))
    assert not passes(BY_NAME["call-open"], Result(NOT_RUN))


def all_ok(word: str = OK, *, of: str = "") -> list[Results]:
    """Results in which clients are ok with every rewritten stream, except one if it is named."""
    return [
        {
            ("rewritten", stream.name): Result(word if stream.name == of else OK)
            for stream in STREAMS
        }
        for _ in CLIENTS
    ]


def test_the_page_when_all_is_right() -> None:
    assert page.outcome(all_ok()) == "Rewritten, all of them are **ok** with every client."
    idle = all_ok(NOT_RUN, of="call-open-incomplete")
    text = " ".join(page.outcome(idle).split())
    assert "run no call of an incomplete response: openai-python, final;" in text
    assert list(page.differences(idle)) == []


def test_the_page_when_something_is_not() -> None:
    bad = all_ok(RUNS_EMPTY, of="call-open")
    assert page.outcome(bad).count("\n- ") == 1
    assert f"final output: **{RUNS_EMPTY}** (openai-python," in page.outcome(bad)
    assert len(list(page.differences(bad))) == len(CLIENTS)


def test_the_section_is_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    written = tmp_path / "clients.md"
    monkeypatch.setattr(page, "PAGE", written)
    written.write_text("# Clients\n\n## Faulty streams\n\nOld.\n\n## Again\n\nText.\n")
    page.put("## Faulty streams\n\nNew.\n")
    assert written.read_text() == "# Clients\n\n## Faulty streams\n\nNew.\n\n## Again\n\nText.\n"
    written.write_text("# Clients\n")
    with pytest.raises(RuntimeError, match="has no section"):
        page.put("## Faulty streams\n")
