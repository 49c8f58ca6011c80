"""The checker on servers that send without an end, too slowly, or more than they seem to."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from bed.checking import BROKEN, KEPT, report, run
from bed.pretender import MODELS, Asked, Pretender, Reply, reply_json, reply_stream, self_signed

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from bed.pretender import Answering

BEGUN = b"".join(
    b"data: %b\n\n" % json.dumps(event).encode()
    for event in (
        {"type": "response.created", "response": {"id": "resp_1", "output": []}},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {"type": "message", "id": "msg_1", "content": []},
        },
        {
            "type": "response.content_part.added",
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
            "part": {"type": "output_text", "text": ""},
        },
    )
)
DELTA = (
    b'data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":0,'
    b'"content_index":0,"delta":"and so on "}\n\n'
)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


def forever(*first: bytes, piece: bytes = DELTA) -> Iterator[bytes]:
    """Pieces of a body without an end."""
    yield from first
    while True:
        yield piece


def streams(pieces: Callable[[], Iterable[bytes]]) -> Answering:
    """A server that lists a model, and streams what it is given."""

    def answer(asked: Asked) -> Reply:
        return reply_json(MODELS) if asked.method == "GET" else reply_stream(pieces())

    return answer


@pytest.mark.parametrize(
    "pieces",
    [
        lambda: forever(BEGUN),
        # All is said, and the server does not stop.
        lambda: forever(KEPT, piece=b": alive\n\n"),
        lambda: forever(BEGUN, piece=b"\n\n"),
        lambda: forever(BEGUN, b"data: ", piece=b"x" * 1000),
        lambda: [BEGUN, b"data: " + b"x" * 500_000],
        lambda: forever(piece=b": nothing\n"),
    ],
    ids=["deltas", "comments", "blank-lines", "line", "piece", "no-events"],
)
def test_a_stream_without_an_end_is_read_up_to_the_limit(
    pieces: Callable[[], Iterable[bytes]],
) -> None:
    with Pretender(streams(pieces)) as server:
        read = report(server.url, "--max-bytes", 100_000)
        status, out = run(server.url, "--max-bytes", 100_000)
    assert (status, read["exit_status"], read["reason"]["code"]) == (2, 2, "max_bytes")
    assert read["reason"]["message"].endswith(" has more than 100,000 bytes (--max-bytes).")
    assert f"NOT JUDGED: {server.url}: The answer to POST /v1/responses has more" in out
    # Nor is it asked again.
    assert [asked.method for asked in server.asked] == ["GET", "POST"] * 2


def test_what_was_broken_before_the_limit_is_broken() -> None:
    with Pretender(streams(lambda: forever(BROKEN))) as server:
        read = report(server.url, "--max-bytes", 100_000)
        status, out = run(server.url, "--max-bytes", 100_000)
    assert (status, read["status"]) == (1, "broken")
    assert "\nNothing more was asked: The answer to POST /v1/responses has more than" in out


def test_a_limit_that_is_just_kept_is_kept() -> None:
    with Pretender(streams(lambda: [KEPT])) as server:
        assert report(server.url, "--max-bytes", len(KEPT))["requests"][0]["status"] == "kept"
        read = report(server.url, "--max-bytes", len(KEPT) - 1)
    assert read["reason"]["code"] == "max_bytes"


def test_other_answers_have_the_limit_too() -> None:
    with Pretender(lambda _asked: Reply(forever(b"{"))) as server:
        read = report(server.url, "--max-bytes", 100_000)
    assert read["reason"]["code"] == "max_bytes"
    assert "GET /v1/models" in read["reason"]["message"]
    with Pretender(lambda _asked: Reply(forever(piece=b"Oh "), 500)) as server:
        read = report(server.url)
    assert read["reason"]["code"] == "server_error"
    assert len(read["reason"]["message"]) < 500


def test_a_name_of_a_model_is_not_shown_at_any_length() -> None:
    models = {"data": [{"id": letter * 1000} for letter in "abcdefghijklmnopq"]}
    with Pretender(lambda _asked: reply_json(models)) as server:
        assert len(run(server.url)[1]) < 2000


@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip", "x-made-up"])
@pytest.mark.parametrize("path", ["/v1/models", "/v1/responses", "/v1/responses/x"])
def test_what_is_compressed_is_not_unpacked(encoding: str, path: str) -> None:
    packed = gzip.compress(KEPT + b"\0" * (1 << 24))

    def answer(asked: Asked) -> Reply:
        if asked.target == path or (path.endswith("x") and "resp_" in asked.target):
            kind = "application/json" if asked.method == "GET" else "text/event-stream"
            return Reply([packed], content_type=kind, headers={"content-encoding": encoding})
        return reply_json(MODELS) if asked.method == "GET" else reply_stream([KEPT])

    with Pretender(answer) as server:
        status, out = run(server.url)
        read = report(server.url)
        assert {asked.headers["accept-encoding"] for asked in server.asked} == {"identity"}
    assert (status, read["reason"]["code"]) == (2, "compressed")
    assert f"is compressed, which was not asked for ({encoding})" in out
    assert "Turn compression off" in read["advice"]


def test_an_error_that_is_compressed_is_an_error() -> None:
    headers = {"content-encoding": "gzip"}
    with Pretender(lambda _asked: Reply([gzip.compress(b"Oh")], 503, headers=headers)) as server:
        read = report(server.url)
    assert read["reason"]["message"] == "The server failed (503)."


@contextlib.contextmanager
def raw_server(
    say: Callable[[socket.socket, threading.Event], None], tls: ssl.SSLContext | None = None
) -> Iterator[str]:
    """A server that lists a model, and then says what is given; its URL."""
    over = threading.Event()
    listing = json.dumps(MODELS).encode()
    listed = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b"

    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            if tls is not None:
                connection = tls.wrap_socket(connection, server_side=True)
            with connection:
                if connection.recv(1 << 16).startswith(b"GET"):
                    connection.sendall(listed % (len(listing), listing))
                else:
                    say(connection, over)

    def accept(listener: socket.socket) -> None:
        while not over.is_set():
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, args=(listener,))
        thread.start()
        port = listener.getsockname()[1]
        try:
            yield f"{'http' if tls is None else 'https'}://127.0.0.1:{port}"
        finally:
            over.set()
            socket.create_connection(("127.0.0.1", port)).close()
            thread.join()


def trickle(first: bytes, piece: bytes) -> Callable[[socket.socket, threading.Event], None]:
    """Send something, and then a little now and then."""

    def say(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(first)
        while not over.wait(0.02):
            connection.sendall(piece)

    return say


TRICKLES = {
    "headers": trickle(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
    "a status": trickle(b"HTTP/1.1 2", b"0"),
    "informational": trickle(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "deltas": trickle(HEAD + BEGUN, DELTA),
    "a delta": trickle(HEAD + BEGUN + b"data: ", b"x"),
    "chunks": trickle(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"1\r\nx\r\n",
    ),
}


@pytest.mark.parametrize("what", TRICKLES)
@pytest.mark.parametrize("secure", [False, True])
def test_a_server_that_never_falls_silent_runs_out_of_time(
    what: str, tmp_path: Path, *, secure: bool
) -> None:
    with raw_server(TRICKLES[what], self_signed(tmp_path) if secure else None) as url:
        read = report(url, "--insecure", "--max-time", "1", "--timeout", "100")
        status, out = run(url, "--insecure", "--max-time", "1", "--timeout", "100")
    assert (status, read["exit_status"]) == (2, 2)
    message = "The check took longer than 1 s (--max-time)."
    assert read["reason"] == {"code": "max_time", "message": message}
    assert f"NOT JUDGED: {url}: The check took longer than 1 s (--max-time)." in out


def test_what_was_broken_before_the_time_was_over_is_broken() -> None:
    with raw_server(trickle(HEAD + BROKEN, b": alive\n\n")) as url:
        status, out = run(url, "--max-time", "2")
    assert status == 1
    assert "\nNothing more was asked: The check took longer than 2 s (--max-time).\n" in out


def test_headers_without_an_end_are_named() -> None:
    def say(connection: socket.socket, _over: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(b"X-Name: value\r\n" * 1000)

    with raw_server(say) as url:
        read = report(url)
    assert read["reason"]["code"] == "connection"
    assert "sent headers that are too long" in read["reason"]["message"]


def test_a_stream_that_ends_without_being_complete_is_judged_to_there() -> None:
    def say(connection: socket.socket, _over: threading.Event) -> None:
        connection.sendall(HEAD.replace(b"\r\n\r\n", b"\r\nContent-Length: 99999\r\n\r\n"))
        connection.sendall(BROKEN)

    with raw_server(say) as url:
        assert report(url)["requests"][0]["status"] == "broken"


@pytest.mark.parametrize("option", ["--timeout", "--max-time"])
@pytest.mark.parametrize("value", ["nan", "inf", "0", "-1", "1e300"])
def test_a_time_that_is_none_is_refused(option: str, value: str) -> None:
    assert run("http://127.0.0.1:1", option, value)[0] == 2
