"""What is redacted: says nothing any more, and is judged the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from bed.client import parse
from vllm_stable_ids.check import Verdict, judge
from vllm_stable_ids.check.redact import Redactor
from vllm_stable_ids.cli import app

if TYPE_CHECKING:
    from collections.abc import Iterator

CAPTURES = Path(__file__).parent / "captures"
NAMES = ["simple-0.29.sse", "harmony-0.29.sse", "kept.sse"]
STREAMS = [parse((CAPTURES / name).read_bytes()) for name in NAMES]


# The arguments of a call that was cut, and the markup as which it comes back.
CUT = ['{"city": "Paris', '<tool_call>\n{"arguments": {"city": "Paris\n']


def run(*arguments: object, given: bytes = b"") -> tuple[int, str, str]:
    """The command's exit status, and what it writes to where."""
    done = CliRunner().invoke(app, ["check", *map(str, arguments)], input=given)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def framed(events: list[dict[str, Any]]) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def essence(verdict: Verdict) -> object:
    """What must be the same: all but names, which are others."""
    if verdict.stream is None:
        return verdict.status
    breaches = [
        (breach.rule, breach.breach, breach.event, breach.times, breach.output_index, breach.field)
        for breach in verdict.stream.breaches
    ]
    return verdict.status, breaches, verdict.stream.origin, verdict.stream.end


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(data=st.data(), events=st.sampled_from(STREAMS))
def test_a_redacted_stream_is_judged_the_same(data: st.DataObject, events: list[Any]) -> None:
    places = st.integers(0, len(events) - 1)
    order = list(range(len(events)))
    for _ in range(data.draw(st.integers(0, 3))):
        order.insert(data.draw(places), order[data.draw(places)])
        del order[data.draw(places)]
    texts = st.sampled_from(["", " ", "Paris", "Paris.", "Überall, oft", *CUT])
    raw = framed([with_texts(events[place], data.draw(st.lists(texts))) for place in order])
    redactor = Redactor()
    cut = data.draw(st.integers(0, len(raw)))
    redacted = redactor.feed(raw[:cut]) + redactor.feed(raw[cut:]) + redactor.finish()
    assert essence(judge([redacted], "")) == essence(judge([raw], ""))
    assert b"Paris" not in redacted


@settings(deadline=None, max_examples=60)
@given(events=st.sampled_from(STREAMS), at=st.integers(0, 1 << 16), lines=st.booleans())
def test_a_stream_that_was_cut_is_too(events: list[Any], at: int, *, lines: bool) -> None:
    raw = framed(events)
    if lines:
        raw = raw.replace(b"\n\n", b"\n").replace(b"data: ", b"")
    raw = raw[: at % len(raw)]
    redactor = Redactor()
    pieces: list[bytes] = []
    verdict = judge([raw], "", lambda framed: pieces.append(redactor.feed(framed)))
    redacted = b"".join([*pieces, redactor.finish()])
    assert judge([redacted], "").status == verdict.status
    assert essence(judge([redacted], "")) == essence(verdict)


def with_texts(value: Any, texts: list[str]) -> Any:
    """The same with other texts, in the order in which they stand."""
    if isinstance(value, list):
        return [with_texts(entry, texts) for entry in value]
    if not isinstance(value, dict):
        return value
    said = {"text", "arguments", "delta"}
    return {
        name: texts.pop() if name in said and texts else with_texts(inner, texts)
        for name, inner in value.items()
    }


def test_the_markup_of_a_cut_call_still_ends_with_its_arguments() -> None:
    arguments, markup = CUT
    added = {"type": "function_call", "id": "f", "call_id": "c", "name": "x", "arguments": ""}
    message = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": markup}]}
    response: dict[str, Any] = {"id": "r", "output": [message]}
    raw = framed(
        [
            {"type": "response.created", "response": {"id": "r", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": added},
            {
                "type": "response.output_item.done",
                "output_index": 0,
                "item": {**added, "arguments": arguments},
            },
            {"type": "response.incomplete", "response": response},
        ]
    )
    verdict = judge([raw], "")
    assert verdict.stream is not None
    assert [rule.rule for rule in verdict.stream.rules] == ["C4"]
    assert essence(judge([Redactor().stream(raw)], "")) == essence(verdict)


SECRET = "Hush"
LEAKS = [
    {"type": "response.created", "response": {"id": "r", "instructions": SECRET, "model": SECRET}},
    {"type": "response.created", "response": {"metadata": {SECRET: SECRET}, "user": SECRET}},
    {"type": "response.created", "response": {"tools": [{"type": "function", "name": SECRET}]}},
    {"type": "response.created", "response": {"tools": [{"parameters": {SECRET: 1}}]}},
    {"type": "response.created", "response": {"tool_choice": {"name": SECRET}}},
    {"type": "response.created", "response": {"text": {"format": {"schema": {SECRET: {}}}}}},
    {"type": "response.failed", "response": {"error": {"code": f"{SECRET} !", "message": SECRET}}},
    {"type": "response.output_item.done", "item": {"type": "x", "action": {SECRET: SECRET}}},
    {"type": "response.output_item.done", "item": {"type": "x", "results": [SECRET]}},
    {"type": "response.output_item.done", "item": {"type": "x", "name": f"{SECRET}.{SECRET}"}},
    {"type": "response.output_text.delta", "delta": SECRET, "logprobs": [{"token": SECRET}]},
    {"type": "response.output_text.delta", "delta": {SECRET: SECRET}, "logprobs": [[SECRET]]},
    {"type": "response.output_text.done", "text": SECRET, "status": f"{SECRET} {SECRET}"},
    {"error": {"message": SECRET, "param": SECRET}},
]


@pytest.mark.parametrize("event", LEAKS)
def test_nothing_that_was_said_is_left(event: dict[str, Any]) -> None:
    redacted = Redactor().stream(framed([event]))
    assert SECRET.encode() not in redacted
    assert json.loads(redacted[6:]).keys() == event.keys()


@pytest.mark.parametrize(
    "line",
    [
        *(b": Hush", b"Set-Cookie: Hush", b"id: Hush", b"event: Hush Hush", b"data: Hush"),
        *(b'data: "Hush"', b'data: ["Hush"]', b"Hush", b'data: {"type": "response.created", Hush'),
    ],
)
def test_nothing_is_left_beside_the_events(line: bytes) -> None:
    raw = framed(STREAMS[0])
    redacted = Redactor().stream(line + b"\n\n" + raw + line)
    assert b"Hush" not in redacted
    assert judge([redacted], "").status == "broken"


def test_what_is_no_content_stays() -> None:
    for events in STREAMS:
        redacted = parse(Redactor().stream(framed(events)))
        ids: dict[str, str] = {}
        for before, after in zip(events, redacted, strict=True):
            assert list(before) == list(after)
            for name in ("type", "output_index", "content_index", "sequence_number"):
                assert before.get(name) == after.get(name)
            for name in ("type", "status", "role"):
                assert before.get("item", {}).get(name) == after.get("item", {}).get(name)
            usage = (before.get("response") or {}).get("usage")
            assert usage == (after.get("response") or {}).get("usage")
            for was, now in ids_of(before, after):
                assert ids.setdefault(was, now) == now
            delta = before.get("delta")
            if delta is not None:
                assert len(after["delta"]) == len(delta)
        assert len(set(ids.values())) == len(ids)
        for was, now in ids.items():
            assert shape(was) == shape(now)
            assert was != now


def ids_of(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The ids in an event, as they were and as they are."""
    names = ("id", "item_id", "call_id")
    inside = [(before.get(at, {}), after.get(at, {})) for at in ("item", "response")]
    for one, other in ((before, after), *inside):
        yield from ((one[name], other[name]) for name in names if isinstance(one.get(name), str))


def shape(value: str) -> str:
    """An id with its prefix, and what is behind that by its kind."""
    prefix, _, rest = value.rpartition("_")
    return f"{prefix}_{'hex' if re.fullmatch('[0-9a-f]+', rest) else 'other'} {len(rest)}"


def test_an_id_that_is_made_of_a_name_does_not_have_it() -> None:
    call = {"type": "function_call", "call_id": "functions.forecast:0", "name": "forecast"}
    kept = Redactor().stream(framed([{"type": "x", "item": call}, {"type": "y", "item": call}]))
    first, second = (event["item"] for event in parse(kept))
    assert first == second
    assert re.fullmatch(r"functions\.[a-z]{8}:[0-9a-f]", first["call_id"])
    assert b"forecast" not in kept


def test_two_redactions_differ() -> None:
    raw = framed(STREAMS[0])
    assert Redactor().stream(raw) != Redactor().stream(raw)


def test_a_file_has_a_redacted_copy(tmp_path: Path) -> None:
    file = CAPTURES / "harmony-0.29.sse"
    status, plain, _ = run(file)
    again, out, err = run(file, "--save", tmp_path, "--redact")
    assert status == again
    assert plain.splitlines()[0] == out.splitlines()[0]
    copy = tmp_path / "harmony-0.29.redacted.sse"
    assert err == f"vllm-stable-ids: {copy} is redacted, and judged the same\n"
    assert run(copy)[1].splitlines()[1:] == out.splitlines()[1:]
    status, _, err = run(file, "--save", tmp_path, "--redact")
    assert status == 2
    assert f"{copy} is there already, and nothing is overwritten" in err


def test_standard_input_and_lines_of_json_have_one_too(tmp_path: Path) -> None:
    raw = (CAPTURES / "kept.jsonl").read_bytes()
    assert run("--save", tmp_path, "--redact", given=raw)[0] == 0
    assert run(tmp_path / "stdin.redacted.sse")[0] == 0


def test_what_is_no_stream_has_no_copy(tmp_path: Path) -> None:
    status, _, err = run(CAPTURES / "error.json", "--save", tmp_path, "--redact")
    assert (status, err) == (2, "vllm-stable-ids: there is no stream to redact\n")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    status, _, err = run(CAPTURES / "kept.sse", "--save", tmp_path / "file", "--redact")
    assert status == 2
    assert f"cannot make the folder {tmp_path / 'file'}" in err
    assert run(CAPTURES / "kept.sse", "--save", tmp_path)[0] == 2
