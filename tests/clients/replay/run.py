"""Replays the streams to a client and evaluates what it did with each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bed.fake_upstream import Answer, FakeUpstream
from clients.install import install
from clients.replay.faulty import STREAMS
from clients.replay.streams import Call
from clients.run import LOGS, execute
from clients.verdict import OK, plain
from vllm_stable_ids.rewriter import SseRewriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clients.replay.clients import Client
    from clients.replay.streams import Stream

Side = Literal["raw", "rewritten"]

RUNS_EMPTY = "runs empty"
RUNS_TOO_OFTEN = "runs too often"
ERROR = "error"
NOT_RUN = "not run"
OTHER_ARGUMENTS = "other arguments"
OTHER_CALL_ID = "other call_id"
OTHER_TEXT = "other text"


@dataclass(frozen=True)
class Result:
    """What a client did with a stream.

    Attributes:
        word: `ok`, or the worst that happened.
        calls: The tools that ran.
        text: The text that arrived.
        error: The client's error, in one line; empty where there is none.
    """

    word: str
    calls: tuple[Call, ...] = ()
    text: str = ""
    error: str = ""

    def __str__(self) -> str:
        """Return it in one line."""
        done = [f"{call.name}({json.dumps(call.given)}) as {call.call_id!r}" for call in self.calls]
        done += [f"text {self.text!r}"] if self.text else []
        done += [f"error {self.error!r}"] if self.error else []
        return f"{self.word}: {', '.join(done) or 'neither call nor text'}"


def rewritten(raw: bytes) -> bytes:
    """Rewrite a stream as the proxy does."""
    rewriter = SseRewriter(openai_vocabulary=True)
    return rewriter.feed(raw) + rewriter.finish()


def streams_for(client: Client) -> list[Stream]:
    """Return the streams that a client can be given."""
    return [stream for stream in STREAMS if client.custom_tools or not stream.custom]


def replay(client: Client) -> dict[tuple[Side, str], Result]:
    """Replay all streams to a client, raw and rewritten.

    Returns:
        The results, by side and name of the stream.

    Raises:
        RuntimeError: The client could not be installed.
    """
    command = install(client, "replay")
    streams = streams_for(client)
    urls = {}
    with FakeUpstream() as server:
        for stream in streams:
            for side, body in (("raw", stream.raw), ("rewritten", rewritten(stream.raw))):
                case = f"{side}/{stream.name}"
                server.answers["POST", f"/{case}/v1/responses"] = Answer([body])
                urls[case] = f"{server.url}/{case}/v1"
        task = json.dumps({"mode": client.mode, "urls": urls})
        LOGS.mkdir(parents=True, exist_ok=True)
        reports, ending = execute([*command, task], LOGS / f"{log_name(client)}.log")
    sides: tuple[Side, ...] = ("raw", "rewritten")
    return {
        (side, stream.name): evaluate(stream, reports.get(f"{side}/{stream.name}"), ending)
        for stream in streams
        for side in sides
    }


def log_name(client: Client) -> str:
    """Return the name of a client's log."""
    return f"replay-{client.key}"


def evaluate(stream: Stream, report: Mapping[str, Any] | None, ending: str) -> Result:
    """Compare what a client did with what it should do.

    Args:
        stream: The stream.
        report: What the client's program printed for it; None where it printed nothing.
        ending: How the program ended.
    """
    if report is None:
        return Result(ERROR, error=ending)
    calls = tuple(Call(**call) for call in report["calls"])
    text, error = report.get("text", ""), plain(report.get("error", ""))
    return Result(_word(stream, calls, text, error), calls, text, error)


def passes(stream: Stream, result: Result) -> bool:
    """Say whether a client may do this with a rewritten stream."""
    return result.word == OK or (stream.optional and result.word == NOT_RUN)


def _word(stream: Stream, calls: Sequence[Call], text: str, error: str) -> str:
    """Return the worst that happened: a wrong execution is worse than none."""
    wanted = stream.calls
    given, wanted_given = (_sorted(call.given for call in each) for each in (calls, wanted))
    ids, wanted_ids = (_sorted(call.call_id for call in each) for each in (calls, wanted))
    found = (
        (any(call.given in ({}, "", None) for call in calls), RUNS_EMPTY),
        (len(calls) > len(wanted), RUNS_TOO_OFTEN),
        (bool(error) and not stream.fails, ERROR),
        (len(calls) < len(wanted), NOT_RUN),
        (given != wanted_given, OTHER_ARGUMENTS),
        (ids != wanted_ids, OTHER_CALL_ID),
        (text != stream.text and not stream.fails, OTHER_TEXT),
    )
    return next((word for wrong, word in found if wrong), OK)


def _sorted(values: Iterable[Any]) -> list[str]:
    """Return values in an order that does not depend on which of two parallel calls ran first."""
    return sorted(json.dumps(value, sort_keys=True) for value in values)
