"""The checker on servers that fail, and what it says of each failure."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bed.checking import BROKEN, CAPTURES, KEPT, report, run
from bed.pretender import (
    MODELS,
    Asked,
    Pretender,
    PretendVllm,
    Reply,
    reply_error,
    reply_json,
    reply_stream,
    self_signed,
)
from vllm_stable_ids.check.live.failure import FATAL, OPTIONAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


COMMAND = str(Path(sys.executable).with_name("vllm-stable-ids"))


FAILURES = [
    ("unauthorised", reply_error(401, "Unauthorized"), "--api-key"),
    ("unauthorised", Reply([b'{"error":"Unauthorized"}'], 403), "(403): Unauthorized"),
    ("no_route", reply_json({"detail": "Not Found"}, 404), "no POST /v1/responses at this address"),
    ("no_route", reply_json({"detail": "Method Not Allowed"}, 405), "Method Not Allowed"),
    ("model", reply_error(404, "The model `m` does not exist."), "The model `m` does not exist."),
    ("refused", reply_error(400, "'input' is too long"), "(400): 'input' is too long"),
    ("refused", reply_json({"detail": [{"msg": "bad"}]}, 422), 'bad"}]'),
    ("refused", reply_error(429, "Slow down"), "(429): Slow down"),
    ("server_error", reply_error(500, "EngineCore died"), "failed (500): EngineCore died"),
    (
        "server_error",
        Reply([b"<html><title>502 Bad Gateway</title></html>"], 502, "text/html"),
        "(502): 502 Bad Gateway",
    ),
    ("not_a_stream", Reply([b"<html>Hello"], content_type="text/html"), "text/html"),
    ("not_a_stream", reply_json({"object": "response"}), "with application/json, not"),
    ("redirect", Reply(status=307, headers={"location": "https://a/v1/responses"}), "https://a/"),
    ("empty", reply_stream([b""]), "nothing in it"),
    ("cut", reply_stream([KEPT[:900]]), "stops before its end"),
]


@pytest.mark.parametrize(("code", "reply", "message"), FAILURES)
def test_each_failure_has_its_own_message(code: str, reply: Reply, message: str) -> None:
    with Pretender(lambda asked: reply_json(MODELS) if asked.method == "GET" else reply) as server:
        status, out = run(server.url)
        read = report(server.url)
    assert status == 2
    assert "NOT JUDGED" in out
    assert message in out
    assert "Traceback" not in out
    assert (read["reason"]["code"], read["exit_status"]) == (code, 2)
    assert message in read["reason"]["message"] + read["advice"]


ADDRESSES = [
    ("dns", "http://no-such-host.invalid:8000", "no host of the name no-such-host.invalid."),
    ("refused_connection", "http://127.0.0.1:1", "connection refused"),
    ("url", "ftp://127.0.0.1", "it begins with ftp://"),
    ("url", "http://", "it has no host"),
    ("url", "http://h:99999", "Port out of range"),
    ("url", "http://h/ x", "that no address has"),
    ("url", "http://a..b", "its host is no name"),
    ("url", "http://user:secret@h?key=secret", "a user, a query or a fragment"),
]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply([b"[" * 50_000]), "not_json"),
        (Reply([b"no gzip at all"], headers={"content-encoding": "gzip"}), "compressed"),
    ],
)
def test_a_list_of_models_that_cannot_be_read_is_named(reply: Reply, code: str) -> None:
    with Pretender(lambda _asked: reply) as server:
        assert report(server.url)["reason"]["code"] == code


def test_a_model_can_have_any_name() -> None:
    odd = "\ud800"
    with Pretender(lambda _asked: reply_stream([KEPT])) as server:
        assert report(server.url, "--model", odd)["requests"][0]["status"] == "kept"
    assert server.asked[0].body["model"] == odd


@pytest.mark.parametrize(("code", "url", "message"), ADDRESSES)
def test_an_address_that_leads_nowhere_is_named(code: str, url: str, message: str) -> None:
    status, out = run(url)
    assert status == 2
    assert message in out
    assert "secret" not in out
    assert report(url)["reason"]["code"] == code


def test_a_server_without_its_scheme_is_recognised() -> None:
    status, out = run("localhost:8000")
    assert status == 2
    assert "A server is named as http://localhost:8000." in out


@pytest.mark.parametrize("given", ["no colon", "X Y: z", "X: a\nb", "X: é"])
def test_a_header_that_is_none_is_refused_before_anything_is_sent(given: str) -> None:
    read = report("http://127.0.0.1:1", "--header", given)
    assert read["reason"]["code"] == "header"
    read = report("http://127.0.0.1:1", "--api-key", "a\nb")
    assert read["reason"]["code"] == "header"


@pytest.mark.parametrize(
    "given",
    [
        *("Content-Length: 5", "content-length: 0", "Host: example.org", "HOST:", "Expect: 100"),
        *("Transfer-Encoding: chunked", "Transfer-Encoding: gzip", "Connection: close"),
        *("Accept-Encoding: gzip", "Content-Type: text/plain", "Upgrade: h2c", "TE: trailers"),
        *("X-Name: a\r\nInjected: b", "X\0: a", ": a", "X: \x7f"),
    ],
)
def test_a_header_that_would_make_the_request_wrong_is_refused(given: str) -> None:
    with Pretender(PretendVllm(KEPT)) as server:
        status, out = run(server.url, "--header", given)
        assert server.asked == []
    assert status == 2
    assert len(out.splitlines()) == 2
    assert out.startswith(f"NOT JUDGED: {server.url}: --header ")


def test_a_certificate_that_is_not_trusted_is_named(tmp_path: Path) -> None:
    with Pretender(PretendVllm(KEPT), tls=self_signed(tmp_path)) as server:
        read = report(server.url)
        assert read["reason"]["code"] == "tls"
        assert "not trusted: self" in read["reason"]["message"]
        assert "--insecure" in read["advice"]
        assert run(server.url, "--insecure")[0] == 0
    with Pretender(PretendVllm(KEPT)) as server:
        read = report(server.url.replace("http", "https"))
        assert read["reason"]["code"] == "tls"
        assert "ask for http://" in read["advice"]


def test_a_server_that_sends_nothing_runs_out_of_time() -> None:
    over = threading.Event()

    def hang(asked: Asked) -> Reply:
        def pieces() -> Iterator[bytes]:
            yield KEPT[:900]
            over.wait()

        if asked.method == "GET":
            return reply_json(MODELS)
        return reply_stream(pieces())

    with Pretender(hang) as server:
        read = report(server.url, "--timeout", "0.2")
        over.set()
    assert read["reason"]["code"] == "timeout"
    assert read["reason"]["message"] == "The server sent nothing for 0.2 s."
    # Nor is it asked again.
    assert [asked.method for asked in server.asked] == ["GET", "POST"]


def test_a_background_stream_that_stays_open_ends_with_its_response() -> None:
    over = threading.Event()

    class Open(PretendVllm):
        def posted(self, body: Mapping[str, Any]) -> Reply:
            """Return the reply to a request for a response."""
            return self.left_open(self.raw) if body.get("background") else super().posted(body)

        def rejoined(self, after: int) -> Reply:
            """Return the rest of a stream."""
            return self.left_open(b"".join(super().rejoined(after).body))

        @staticmethod
        def left_open(raw: bytes) -> Reply:
            """Return a stream after which nothing comes."""

            def pieces() -> Iterator[bytes]:
                yield raw
                over.wait()

            return reply_stream(pieces())

    with Pretender(Open(KEPT)) as server:
        assert run(server.url, "--timeout", "30")[0] == 0
        over.set()


def test_the_model_must_be_named_where_there_are_more() -> None:
    def several(asked: Asked) -> Reply:
        if asked.method == "GET":
            return reply_json({"data": [{"id": "a"}, {"id": "b"}]})
        return reply_error(404, f"The model `{asked.body['model']}` does not exist.")

    with Pretender(several) as server:
        read = report(server.url)
        assert read["reason"] == {"code": "model", "message": "The server has the models a, b."}
        assert "--model" in read["advice"]
        read = report(server.url, "--model", "c")
        assert "The model `c` does not exist." in read["reason"]["message"]
        assert "It has the models a, b." in read["reason"]["message"]


def test_options_that_do_not_fit_are_refused() -> None:
    for arguments, said in (
        ((CAPTURES / "kept.sse", "--model", "m"), "--model goes with the URL of a server"),
        ((CAPTURES / "kept.sse", "--insecure"), "--insecure goes with the URL"),
        (("http://127.0.0.1:1", "--html", "a.html"), "--html goes with a FILE"),
        (("http://127.0.0.1:1", "--redact"), "--redact needs --save"),
    ):
        status, out = run(*arguments)
        assert status == 2
        assert said in out


# What is started in the background by a shell ignores SIGINT, as do its children.
HEEDING = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL);"
    "os.execv(sys.argv[1], sys.argv[1:])"
)


def test_ctrl_c_ends_it_without_a_traceback() -> None:
    over = threading.Event()
    came = threading.Event()

    def hang(asked: Asked) -> Reply:
        if asked.method == "GET":
            return reply_json(MODELS)
        came.set()
        over.wait()
        return reply_stream([KEPT])

    with (
        Pretender(hang) as server,
        subprocess.Popen(
            [sys.executable, "-c", HEEDING, COMMAND, "check", server.url],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        assert came.wait(60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        over.set()
    assert (process.returncode, out, err) == (130, b"", b"vllm-stable-ids: stopped\n")


def test_the_json_has_the_members_and_codes_that_are_documented() -> None:
    documented = (Path(__file__).parents[1] / "docs" / "check.md").read_text()
    documented = documented.partition("## JSON")[2]
    with Pretender(PretendVllm(BROKEN)) as server:
        read = report(server.url)
    for member in (*read, *read["requests"][0]):
        assert f"`{member}`" in documented, member
    for code in FATAL | OPTIONAL | {code for code, _, _ in (*FAILURES, *ADDRESSES)}:
        assert f"`{code}`" in documented, code
