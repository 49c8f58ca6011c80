"""No secret survives redaction, wherever it stands, and the verdict stays the same."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from bed.corpus import encode, faulty, numbered, recorded
from bed.corpus.sound import SOUND
from vllm_stable_ids.check import frames, judge, redact
from vllm_stable_ids.check.redact import Redactor
from vllm_stable_ids.cli import app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from vllm_stable_ids.check import Verdict

CAPTURES = Path(__file__).parent / "captures"

SECRETS = {
    "key": "sk-proj-AbC123dEf456GhI789jKl",
    "dotted": "alices.private_thing",
    "word": "Hippopotamus",
    "e-mail": "alice.liddell@example.org",
    "path": "/home/alice/.ssh/id_ed25519",
    "hexadecimal": "5f2b9c04d17e8a36b0c4d5e6f7a81923",
    "base64": "c2VjcmV0LXBhc3N3b3JkLTEyMw==",
    "number": "4111111111111111",
    "not ASCII": "Überraschungsgrößé, 秘密の鍵です、誰にも",
    "JSON": '{"password": "hunter2!hunter2!"}',
}
SEEN = 8
"""How much of a secret must not be seen in one piece."""

STREAMS: dict[str, bytes] = {
    **{f"sound, {name}": encode(numbered(events)) for name, events in SOUND.items()},
    **{f"faulty, {name}": raw for name, raw in faulty().items()},
    **{f"recorded, {name}": raw for name, raw in recorded().items()},
    **{path.name: path.read_bytes() for path in sorted(CAPTURES.glob("*-0.29.sse"))},
    "kept.sse": (CAPTURES / "kept.sse").read_bytes(),
}
Place = tuple[str | int, ...]


def events_of(raw: bytes) -> list[Any]:
    """The events of a stream that can be read."""

    def loaded(line: bytes) -> Any:
        with contextlib.suppress(ValueError):
            return json.loads(line[6:])
        return None

    lines = [line for line in raw.splitlines() if line.startswith(b"data: {")]
    return [event for event in map(loaded, lines) if event is not None]


EVENTS = {name: events_of(raw) for name, raw in STREAMS.items()}


def leaks(secret: str, *outputs: bytes | str) -> list[str]:
    """The pieces of a secret that can be read in what is written."""
    seen = []
    for output in outputs:
        text = output if isinstance(output, str) else output.decode(errors="replace")
        # As it stands, and as whoever reads the JSON or the page sees it.
        unescaped = re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text)
        seen += [text, unescaped.replace('\\"', '"'), unescaped.replace("&quot;", '"')]
    pieces = {secret[at : at + SEEN] for at in range(max(len(secret) - SEEN, 0) + 1)}
    return sorted(piece for piece in pieces for text in seen if piece in text)


def with_strings(value: Any, string: str, kept: str = "") -> Any:
    """The same with all strings replaced, but those of the key `kept`."""
    if isinstance(value, str):
        return string
    if isinstance(value, list):
        return [with_strings(entry, string, kept) for entry in value]
    if isinstance(value, dict):
        return {
            name: inner if name == kept else with_strings(inner, string, kept)
            for name, inner in value.items()
        }
    return value


def places(value: Any, at: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value in an event, with where it is."""
    yield at, value
    inside = enumerate(value) if isinstance(value, list) else ()
    for name, inner in value.items() if isinstance(value, dict) else inside:
        yield from places(inner, (*at, name))


def put(event: Any, at: Place, value: Any) -> Any:
    """The event with another value in a place."""
    changed = copy.deepcopy(event)
    inner = changed
    for name in at[:-1]:
        inner = inner[name]
    inner[at[-1]] = value
    return changed


def all_places() -> list[tuple[Any, Place, Any]]:
    """Each place of each kind of event in all streams, once.

    Returns:
        The event, the place, and what is there.
    """
    found: dict[object, tuple[Any, Place, Any]] = {}
    for event in itertools.chain.from_iterable(EVENTS.values()):
        kind = event.get("type"), event.get("item", {}).get("type")
        for at, value in places(event):
            if at:
                found.setdefault((kind, at), (event, at, value))
    return list(found.values())


PLACES = all_places()


def framed(*events: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def essence(verdict: Verdict) -> object:
    """What must be the same: all but names, and sentences that have them."""
    stream = verdict.stream
    if stream is None:
        return verdict.status, verdict.reason and verdict.reason.code
    return (
        *(verdict.status, stream.end, stream.origin, stream.events, stream.responses),
        *(stream.joined, stream.cut, stream.limit, stream.rules),
        [
            (one.rule, one.breach, one.event, one.times, one.response, one.output_index, one.field)
            for one in stream.breaches
        ],
        [(note.note, note.event, note.times) for note in stream.notes],
        [
            [told and (told.event, told.differs) for told in (item.added, item.done, item.terminal)]
            for item in stream.items
        ],
    )


def redacted(raw: bytes, redactor: Redactor | None = None) -> bytes:
    """A stream without its content, which is judged as it is with it."""
    out = (redactor or Redactor()).stream(raw)
    assert essence(judge([out], "")) == essence(judge([raw], ""))
    return out


@pytest.mark.parametrize("name", STREAMS)
def test_every_stream_is_judged_the_same(name: str) -> None:
    redacted(STREAMS[name])


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_in_every_string_of_every_stream(kind: str) -> None:
    secret = SECRETS[kind]
    redactor = Redactor()
    for events in EVENTS.values():
        for kept in ("type", ""):
            raw = framed(*with_strings(events, secret, kept))
            assert leaks(secret, redacted(raw, redactor)) == []


def test_a_secret_in_one_place_at_a_time() -> None:
    redactor = Redactor()
    for (event, at, value), secret in itertools.product(PLACES, SECRETS.values()):
        if isinstance(value, str):
            out = redactor.stream(framed(put(event, at, secret)))
            assert leaks(secret, out) == [], (event["type"], at)


def test_a_secret_as_a_key_anywhere() -> None:
    redactor = Redactor()
    for (event, at, value), secret in itertools.product(PLACES, SECRETS.values()):
        if isinstance(value, dict):
            out = redactor.stream(framed(put(event, at, {**value, secret: 1})))
            assert leaks(secret, out) == [], (event["type"], at)


TOKENS = list(b"Curiouser and curiouser!")


def test_a_list_of_token_numbers_anywhere() -> None:
    redactor = Redactor()
    pair = f"{TOKENS[0]},{TOKENS[1]}".encode()
    for event, at, value in PLACES:
        if "usage" in at:
            continue  # lists in there are counts by turn
        for tokens in (TOKENS, {"bytes": TOKENS}, [TOKENS], [{"token": "x", "bytes": TOKENS}]):
            changed = put(event, at, tokens)
            assert pair not in redactor.stream(framed(changed)), (event["type"], at)
            if isinstance(value, dict):
                changed = put(event, at, {**value, "token_ids": tokens})
                assert pair not in redactor.stream(framed(changed)), (event["type"], at)


@pytest.mark.parametrize(
    "event",
    [
        {
            "type": "response.output_item.done",
            "item": {"type": "code_interpreter_call", "code": word, "status": word, "role": word},
        }
        for word in SECRETS.values()
    ]
    + [
        {"type": "response.code_interpreter_call_code.done", "code": SECRETS["word"]},
        {"type": "response.code_interpreter_call_code.done", "code": "server_error"},
        {"type": "x", "item": {"type": "y", "reason": SECRETS["word"], "code": "completed"}},
        {"type": "x", "object": SECRETS["word"], "truncation": "auto", "reason": "content_filter"},
    ],
)
def test_a_word_stays_only_where_it_belongs(event: dict[str, Any]) -> None:
    out = Redactor().stream(framed(event))
    for word in (*SECRETS.values(), "server_error", "completed", "auto", "content_filter"):
        assert json.dumps(word).encode() not in out
        assert leaks(word, out) == []


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_beside_the_events(kind: str) -> None:
    secret = SECRETS[kind].encode()
    raw = (
        b"HTTP/1.1 200 OK\r\nX-Secret: %b\r\nevent: %b\r\n\r\n" % (secret, secret)
        + STREAMS["simple-0.29.sse"]
        + b": %b\nid: %b\nretry: %b\n%b\nevent: %b\n\n" % ((secret,) * 5)
        + b"event: response.%b.delta\ndata: {}\n\ndata: %b\n\nid: %b" % ((secret,) * 3)
    )
    assert leaks(SECRETS[kind], redacted(raw)) == []


@pytest.mark.parametrize("name", STREAMS)
def test_deltas_still_make_the_text_that_they_made(name: str) -> None:
    before = EVENTS[name]
    after = events_of(Redactor().stream(framed(*before)))
    assert len(before) == len(after)
    joined: dict[object, list[str]] = {}
    for one, other in zip(before, after, strict=True):
        place = one.get("output_index"), one.get("content_index")
        subject, _, verb = one.get("type", "").rpartition(".")
        if verb == "delta":
            texts = joined.setdefault((subject, place), ["", ""])
            texts[0] += one["delta"]
            texts[1] += other["delta"]
        for whole in ("text", "arguments", "input", "code"):
            if verb == "done" and [one.get(whole)] == joined.get((subject, place), [])[:1]:
                assert other[whole] == joined[subject, place][1]


def test_texts_that_differ_differ_and_those_that_begin_alike_do() -> None:
    texts = ["", " ", "Paris", "Paris.", "Paris!", "paris", "Par", *SECRETS.values()]
    texts += [text + end for text in SECRETS.values() for end in ("a", "b", "é", "\0", "\ud800")]
    parts = [{"type": "output_text", "text": text} for text in texts]
    event = {"type": "response.output_item.done", "item": {"type": "message", "content": parts}}
    for _ in range(20):
        (out,) = events_of(Redactor().stream(framed(event)))
        masked = [part["text"] for part in out["item"]["content"]]
        for (one, other), (before, after) in itertools.product(
            [*zip(texts, masked, strict=True)], repeat=2
        ):
            assert (one == before) == (other == after)
            assert not before.startswith(one) or after.startswith(other)
            assert len(one) == len(other)


def changed_data(change: Callable[[bytes], bytes]) -> bytes:
    return b"".join(
        b"data: " + change(json.dumps(event).encode()) + b"\n\n" for event in EVENTS["kept.sse"]
    )


UNUSUAL: dict[str, bytes] = {
    "CR": STREAMS["kept.sse"].replace(b"\n", b"\r"),
    "CRLF": STREAMS["kept.sse"].replace(b"\n", b"\r\n"),
    "LF and CRLF": STREAMS["kept.sse"].replace(b"\n\n", b"\n\r\n"),
    "a byte order mark": b"\xef\xbb\xbf" + STREAMS["kept.sse"],
    "data in lines": STREAMS["kept.sse"].replace(b'"item"', b'\ndata: "item"'),
    "no space": STREAMS["kept.sse"].replace(b"data: ", b"data:"),
    "keys twice": changed_data(lambda data: data.replace(b'"id":', b'"id":"x","id":')),
    "keys in escapes": changed_data(lambda data: data.replace(b'"id"', b'"\\u0069d"')),
    "half a surrogate pair": changed_data(lambda data: data.replace(b'"rs_', b'"\\ud800rs_')),
    "no UTF-8": changed_data(lambda data: data.replace(b'"rs_', b'"\xff\xfers_')),
    "ids that are numbers": changed_data(lambda data: re.sub(rb'"rs_[0-9a-f]*"', b"7", data)),
    "a long number": changed_data(lambda data: data[:-1] + b',"n":' + b"9" * 5000 + b"}"),
    "no number": changed_data(lambda data: data[:-1] + b',"output_index":NaN}'),
    "a float": changed_data(lambda data: data[:-1] + b',"output_index":1.0}'),
    "deep": changed_data(lambda data: data[:-1] + b',"n":' + b"[" * 400 + b"]" * 400 + b"}"),
    "deeper": changed_data(lambda data: data[:-1] + b',"n":' + b"[" * 9000 + b"]" * 9000 + b"}"),
    "no JSON": changed_data(lambda data: data[:-1]),
    "long names": changed_data(lambda data: data.replace(b'"get_', b'"%b' % (b"x" * 8192))),
    "longer ids": changed_data(lambda data: data.replace(b'"rs_', b'"%b' % (b"\xc3\xa9" * 5000))),
    "an unknown type of call": STREAMS["kept.sse"].replace(b"function_call", b"gadget_call"),
    "unknown types": STREAMS["kept.sse"].replace(b"function_call", b"gadget").replace(b".r", b".x"),
    "an announcement without an item": STREAMS["kept.sse"].replace(
        b'"item":{', b'"item":[1],"x":{'
    ),
    "[DONE]": STREAMS["kept.sse"][:-200] + b"\n\ndata: [DONE]\n\n",
}


@pytest.mark.parametrize("kind", UNUSUAL)
@pytest.mark.parametrize("size", [1 << 20, 7])
def test_an_unusual_stream_is_judged_the_same(kind: str, size: int) -> None:
    raw = UNUSUAL[kind]
    redactor = Redactor()
    pieces = [redactor.feed(raw[at : at + size]) for at in range(0, len(raw), size)]
    out = b"".join([*pieces, redactor.finish()])
    assert essence(judge([out], "")) == essence(judge([raw], ""))


def test_a_frame_beyond_the_checkers_limit_ends_the_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MAX_FRAME_BYTES", 100)
    monkeypatch.setattr(redact.redactor, "MAX_FRAME_BYTES", 100)
    before = b'data: {"type":"response.created"}\n\n'
    for size in (1, 10, 1000):
        raw = before + b"data: " + b"secret" * 100 + b"\n\n" + before
        redactor = Redactor()
        pieces = [redactor.feed(raw[at : at + size]) for at in range(0, len(raw), size)]
        assert b"".join([*pieces, redactor.finish()]) == before + b"data: " + b"x" * 100 + b"\n\n"


def work(names: int) -> int:
    """How many calls redacting so many tools with names of their own takes."""
    tools = [{"type": "function", "name": f"tool_{number}"} for number in range(names)]
    calls = [
        {"type": "function_call", "call_id": f"functions.tool_{n}:{n}", "name": f"tool_{n}"}
        for n in range(names)
    ]
    response = {"id": "resp_1", "tools": tools, "output": calls}
    raw = framed({"type": "response.created", "response": response})
    redactor = Redactor()
    redactor.stream(framed({"type": "response.in_progress"}))
    calls_made = itertools.count()
    sys.setprofile(lambda *_: next(calls_made))
    try:
        out = redactor.stream(raw)
    finally:
        sys.setprofile(None)
    assert out.count(b'"name":"name_') == 2 * names
    assert b"tool_" not in out
    return next(calls_made)


def test_the_work_grows_with_the_names_not_with_their_square() -> None:
    assert work(2000) < 2.5 * work(1000)


def run(*arguments: object) -> str:
    """All that the command writes."""
    done = CliRunner().invoke(app, ["check", *map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.output


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("kept", ["type", "id", ""])
def test_no_report_has_the_secret_either(kind: str, kept: str, tmp_path: Path) -> None:
    secret = SECRETS[kind]
    events = [
        # The ids at the end are others, so there is something to report.
        with_strings(event, secret + ("2" if event["type"].endswith("completed") else ""), kept)
        for event in EVENTS["simple-0.29.sse"]
    ]
    file = tmp_path / "given.sse"
    file.write_bytes(framed(*events))
    files = tmp_path / "x.html", tmp_path / "x.xml"
    options = (file, "--redact", "--html", files[0], "--junit", files[1])
    said = [
        run(*options, "--save", tmp_path / "one"),
        run(*options, "--save", tmp_path / "two", "--json"),
    ]
    saved = [path.read_bytes() for path in tmp_path.glob("*/*.redacted.sse")]
    written = [path.read_bytes() for path in files]
    assert leaks(secret, *said, *saved, *written) == []


@pytest.mark.parametrize(
    "content",
    [
        '{"error": {"message": "SECRET", "code": 404}}',
        'data: {"error": {"message": "SECRET"}}\n\n',
        'data: {"type": "SECRET"}\n\n',
        "HTTP/1.1 500 Oh\n\n{}",
    ],
)
@pytest.mark.parametrize("kind", SECRETS)
def test_nor_has_what_is_said_of_no_stream(kind: str, content: str, tmp_path: Path) -> None:
    file = tmp_path / "given"
    file.write_text(content.replace("SECRET", json.dumps(SECRETS[kind])[1:-1]))
    files = tmp_path / "x.html", tmp_path / "x.xml"
    options = (file, "--save", tmp_path / "saved", "--redact")
    said = run(*options, "--html", files[0], "--junit", files[1]), run(*options, "--json")
    assert leaks(SECRETS[kind], *said, *(path.read_bytes() for path in files)) == []
    assert list((tmp_path / "saved").iterdir()) == []
