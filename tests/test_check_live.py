"""The checker on running servers: what it asks, how it judges, what it saves."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import fromstring

import pytest

from bed.cases import Case, case
from bed.checking import BROKEN, KEPT, report, run, statuses
from bed.pretender import (
    MODELS,
    Asked,
    Pretender,
    PretendVllm,
    Reply,
    reply_error,
    reply_json,
    reply_stream,
)
from bed.prompting import Prompting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bed.models import ModelPath
    from bed.server import VllmServer

COMMAND = str(Path(sys.executable).with_name("vllm-stable-ids"))
FRAMES = KEPT.split(b"\n\n")
STREAMS = ["text", "call", "calls", "answer", "background"]

SAYS: dict[ModelPath, tuple[Case, Case, Case]] = {
    "simple": (case("q-text"), case("q-named"), case("q-two-calls")),
    "harmony": (case("h-final-only"), case("h-call"), case("h-preamble-final")),
}


def rules(read: Mapping[str, Any], request: str) -> list[str]:
    (one,) = [one for one in read["requests"] if one["request"] == request]
    return [rule["rule"] for rule in one["stream"]["rules"]]


def test_a_server_that_keeps_all_is_kept() -> None:
    with Pretender(PretendVllm(KEPT)) as server:
        status, out = run(server.url)
        read = report(f"{server.url}/v1/")
    assert status == 0
    assert "\nKEPT: every item keeps its identity\n" in out
    assert read["exit_status"] == 0
    assert (read["model"], read["source"]) == ("m", server.url)
    assert set(statuses(read).values()) == {"kept"}
    assert [one["request"] for one in read["requests"] if one["of"] is None] == STREAMS
    later = [one["request"] for one in read["requests"] if one["of"] is not None]
    assert later == [*(f"{name}.stored" for name in STREAMS), "background.rejoined"]
    bodies = [asked.body for asked in server.asked if asked.method == "POST"][:5]
    assert all(body["stream"] and body["store"] and body["model"] == "m" for body in bodies)
    assert bodies[1]["tool_choice"] == {"type": "function", "name": "get_weather"}
    assert bodies[3]["previous_response_id"] == "resp_b609c184db04c498"
    assert bodies[3]["input"][0]["call_id"] == "call_951f53b107639ed7"
    assert bodies[4]["background"]


def test_the_broken_ones_are_shown_with_their_breaches() -> None:
    with Pretender(PretendVllm(BROKEN)) as server:
        status, out = run(server.url)
    assert status == 1
    lines = [line.split() for line in out.splitlines()]
    assert lines[0][1:] == ["model", "m,", "probably", "vLLM,", "simple", "path"]
    assert ["plain", "text", "BROKEN", "C1", "(3)"] in lines
    assert ["stored", "BROKEN", "C8", "(3)"] in lines
    assert ["0", "added", "reasoning", "89d3c2a7e9e2f1cd"] in lines
    said = "text, stored: what was wrong in the final response is stored, 3 breaches of C8"
    assert said in out.splitlines()
    assert out.count("note  ") == 2
    assert "\nBROKEN: 10 of 11 answers, by C1, C8\n" in out
    assert out.splitlines()[-1].startswith("Install vllm-stable-ids beside vLLM")
    # What the server first said it says again, wrong or not.
    assert ["joined", "again", "after", "7", "kept"] in [line[:5] for line in lines]


def test_without_a_store_the_streams_are_judged_all_the_same() -> None:
    with Pretender(PretendVllm(KEPT, stores=False)) as server:
        status, out = run(server.url)
        read = report(server.url)
    assert status == 0
    assert out.count("The server does not store (set VLLM_ENABLE_RESPONSES_API_STORE=1)") == 3
    assert "; 3 requests not judged\n" in out
    assert "start vLLM with VLLM_ENABLE_RESPONSES_API_STORE=1" in out
    left = {one["request"]: one["reason"] for one in read["requests"] if one["reason"]}
    assert list(left) == ["text.stored", "answer", "background"]
    assert {reason["code"] for reason in left.values()} == {"not_stored"}
    # It is not asked for what it cannot have.
    assert sum(asked.method == "GET" for asked in server.asked) == 4
    with Pretender(PretendVllm(BROKEN, stores=False)) as server:
        assert run(server.url)[0] == 1


class Forgetful(PretendVllm):
    """Stores other ids than it streamed, and starts a stream over instead of joining it."""

    def posted(self, body: Mapping[str, Any]) -> Reply:
        """Return the reply to a request for a response."""
        if "previous_response_id" in body:
            call_id = body["input"][0]["call_id"]
            return reply_error(400, f"No call message found for {call_id}")
        return super().posted(body)

    def stored(self) -> Reply:
        """Return a stored response."""
        output = [dict(item) for item in self.response["output"]]
        output[1]["call_id"] = "call_other"
        return reply_json({**self.response, "output": [output[1], output[0]]})

    def rejoined(self, after: int) -> Reply:
        """Return the rest of a stream."""
        raw = super().rejoined(after).body
        return reply_stream([b"".join(raw).replace(b'"rs_89d3c2a7e9e2f1cd"', b'"rs_other"')])


def test_what_the_server_says_later_must_be_what_it_streamed() -> None:
    with Pretender(Forgetful(KEPT)) as server:
        read = report(server.url)
        _, out = run(server.url)
    said = (
        "C8    Item 1 (function_call) was announced with call_id call_951f53b107639ed7, "
        "but the stored response has call_other."
    )
    assert said in out.splitlines()
    broken = [name for name, status in statuses(read).items() if status == "broken"]
    assert broken == [
        *("text.stored", "call.stored", "calls.stored", "answer"),
        *("background.stored", "background.rejoined"),
    ]
    assert all(rules(read, name) == ["C8"] for name in broken)
    stored = read["requests"][1]["stream"]["breaches"]
    assert {(breach["breach"], breach["said"]) for breach in stored} == {
        ("identity", "call_other"),
        ("position", "1"),
        ("position", "0"),
    }
    (answer,) = [one for one in read["requests"] if one["request"] == "answer"]
    (breach,) = answer["stream"]["breaches"]
    assert (breach["breach"], breach["announced"]) == ("unknown_call", "call_951f53b107639ed7")
    assert "No call message found for call_951f53b107639ed7" in breach["sentence"]
    assert "only be mended inside" in read["advice"]


@pytest.mark.parametrize(
    ("rest", "status"),
    [
        (FRAMES[8:], "kept"),
        (FRAMES, "broken"),
        # One that is not needed to understand the rest: only the numbers show that it is lost.
        (FRAMES[8:11] + FRAMES[12:], "broken"),
        ([], "not_judged"),
        (FRAMES[8:-2], "not_judged"),
    ],
)
def test_a_stream_joined_again_goes_on_where_it_was(rest: list[bytes], status: str) -> None:
    class Rejoined(PretendVllm):
        def rejoined(self, after: int) -> Reply:
            """Return what is given."""
            assert after == 7
            return reply_stream([b"\n\n".join(rest)])

    with Pretender(Rejoined(KEPT)) as server:
        read = report(server.url)
    found = statuses(read)
    assert found.pop("background.rejoined") == status
    assert set(found.values()) == {"kept"}
    assert read["status"] == status


def test_a_model_that_says_nothing_is_not_judged() -> None:
    response = {"id": "resp_1", "output": []}
    raw = b"".join(
        b'data: {"type":"response.%s","response":%s}\n\n' % (kind, json.dumps(response).encode())
        for kind in (b"created", b"completed")
    )
    with Pretender(PretendVllm(raw)) as server:
        read = report(server.url)
    assert (read["exit_status"], read["reason"]["code"]) == (2, "no_items")


def test_what_was_broken_before_the_server_went_is_told() -> None:
    class Dying(PretendVllm):
        def posted(self, body: Mapping[str, Any]) -> Reply:
            """Return the reply to a request for a response."""
            return reply_error(401, "Gone") if "tools" in body else super().posted(body)

    with Pretender(Dying(BROKEN)) as server:
        status, out = run(server.url)
    assert status == 1
    assert "\nNothing more was asked: The server does not let us in (401): Gone\n" in out


def test_tools_that_are_off_are_named_and_no_breach() -> None:
    said = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'

    class NoTools(PretendVllm):
        def posted(self, body: Mapping[str, Any]) -> Reply:
            """Return the reply to a request for a response."""
            return reply_error(400, said) if "tools" in body else super().posted(body)

    with Pretender(NoTools(KEPT)) as server:
        status, out = run(server.url)
    assert status == 0
    assert said in out
    assert "\nKEPT: every item keeps its identity; 3 requests not judged\n" in out
    assert "--tool-call-parser of the model" in out.splitlines()[-1]


def test_where_the_model_makes_no_call_there_is_none_to_answer() -> None:
    without = KEPT.replace(b'"type":"function_call"', b'"type":"custom_tool_call"')
    with Pretender(PretendVllm(without)) as server:
        read = report(server.url)
    (answer,) = [one for one in read["requests"] if one["request"] == "answer"]
    assert answer["reason"]["code"] == "no_call"
    assert len([asked for asked in server.asked if asked.method == "POST"]) == 4


def test_the_key_and_headers_are_sent_and_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with Pretender(PretendVllm(BROKEN)) as server:
        folder = tmp_path / "kept"
        _, out = run(server.url, "--header", "X-Tenant: secret-tenant", "--save", folder)
        _, told = run(server.url, "--header", "Authorization: Basic secret", "--json")
    assert server.asked[0].headers["authorization"] == "Bearer sk-secret"
    assert {asked.headers.get("x-tenant") for asked in server.asked} == {"secret-tenant", None}
    assert server.asked[-1].headers["authorization"] == "Basic secret"
    saved = "".join(file.read_text() for file in folder.iterdir())
    assert "secret" not in out + told + saved


def test_what_is_saved_can_be_checked_again_and_is_not_overwritten(tmp_path: Path) -> None:
    with Pretender(PretendVllm(BROKEN)) as server:
        status, _ = run(server.url, "--save", tmp_path / "kept")
        asked = len(server.asked)
        again = run(server.url, "--save", tmp_path / "kept")
        assert len(server.asked) == asked
    assert status == 1
    files = sorted(file.name for file in (tmp_path / "kept").iterdir())
    kinds = ["request.json", "sse", "stored.json"]
    assert files == sorted(
        [f"{name}.{kind}" for name in STREAMS for kind in kinds] + ["background.rejoined.sse"]
    )
    assert (tmp_path / "kept" / "call.sse").read_bytes() == BROKEN
    assert again[0] == 2
    assert "nothing is overwritten" in again[1]


def test_what_is_saved_redacted_says_nothing_and_is_judged_the_same(tmp_path: Path) -> None:
    with Pretender(PretendVllm(BROKEN)) as server:
        _, plain = run(server.url)
        _, out = run(server.url, "--save", tmp_path / "kept", "--redact")
        junit = tmp_path / "report.xml"
        told = run(server.url, "--save", tmp_path / "again", "--redact", "--json", "--junit", junit)
    assert "otherwise" not in out
    files = [*(tmp_path / "kept").iterdir(), *(tmp_path / "again").iterdir(), junit]
    for said in (out, told[1], *(file.read_text() for file in files)):
        for word in ("Paris", "weather", '"user"', "hello", "951f53b107639ed7", "model m,"):
            assert word not in said
    verdicts = [line.split() for line in plain.splitlines() if "BROKEN" in line]
    assert verdicts == [line.split() for line in out.splitlines() if "BROKEN" in line]
    assert run(tmp_path / "kept" / "call.sse")[0] == 1
    # What was equal in two files still is.
    stored = json.loads((tmp_path / "kept" / "call.stored.json").read_text())
    call_id = stored["output"][1]["call_id"]
    assert call_id.startswith("chatcmpl-tool-")
    assert call_id in (tmp_path / "kept" / "call.sse").read_text()
    announced = json.loads((tmp_path / "kept" / "answer.request.json").read_text())["input"][0]
    assert announced["call_id"].startswith("call_")
    assert announced["call_id"] in out


@pytest.mark.parametrize("status", [400, 401, 404, 422, 500])
def test_what_a_server_says_in_errors_is_not_shown_redacted(status: int, tmp_path: Path) -> None:
    secret = "Response Hippopotamus not found"

    def refuse(asked: Asked) -> Reply:
        return reply_json(MODELS) if asked.method == "GET" else reply_error(status, secret)

    with Pretender(refuse) as server:
        assert "Hippopotamus" in run(server.url)[1]
        junit = tmp_path / "report.xml"
        out = run(server.url, "--save", tmp_path / "a", "--redact", "--junit", junit)
        told = run(server.url, "--save", tmp_path / "b", "--redact", "--json")
    assert out[0] == told[0] == 2
    assert "Hippopotamus" not in out[1] + told[1] + junit.read_text()


def test_an_answer_that_is_refused_is_shown_redacted(tmp_path: Path) -> None:
    with Pretender(Forgetful(KEPT)) as server:
        read = report(server.url, "--save", tmp_path, "--redact")
    (answer,) = [one for one in read["requests"] if one["request"] == "answer"]
    (breach,) = answer["stream"]["breaches"]
    assert breach["breach"] == "unknown_call"
    sent = json.loads((tmp_path / "answer.request.json").read_text())["input"][0]["call_id"]
    assert breach["announced"] == sent
    assert "951f53b107639ed7" not in breach["sentence"]


def test_junit_has_a_suite_for_each_request(tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    with Pretender(PretendVllm(BROKEN, stores=False)) as server:
        assert run(server.url, "--junit", file)[0] == 1
    root = fromstring(file.read_bytes())  # noqa: S314 - it was written just now
    assert [suite.get("name") for suite in root] == [
        *("text", "text.stored", "call", "calls", "answer", "background")
    ]
    counts = {name: root.get(name) for name in ("failures", "errors", "skipped")}
    assert counts == {"failures": "3", "errors": "0", "skipped": "3"}
    assert run("http://127.0.0.1:1", "--junit", file)[0] == 2
    root = fromstring(file.read_bytes())  # noqa: S314 - it was written just now
    assert root.get("errors") == "1"
    assert "connection refused" in (root.findtext("testsuite/testcase/error") or "")


def test_progress_is_shown_on_a_terminal_only() -> None:
    ours, theirs = pty.openpty()
    with Pretender(PretendVllm(KEPT)) as server:
        command = [COMMAND, "check", server.url]
        quiet = subprocess.run(command, capture_output=True, check=True)
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"}
        ) as process:
            os.close(theirs)
            out, _ = process.communicate()
    shown = os.read(ours, 1 << 16)
    os.close(ours)
    assert b"asking" in shown
    assert b"asking" not in out
    assert quiet.stderr == b""


def test_whoever_reads_a_file_pays_for_no_client() -> None:
    code = "import sys, vllm_stable_ids.cli; print('httpx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"False\n"


def says(path: ModelPath, body: Mapping[str, Any]) -> Case:
    """What the model says to each of the standard requests."""
    text, forced, calls = SAYS[path]
    if "previous_response_id" in body or "tools" not in body:
        return text
    return forced if isinstance(body["tool_choice"], dict) else calls


def test_a_real_server_with_the_plugin_keeps_all(fixed: VllmServer, path: ModelPath) -> None:
    with Prompting(fixed, lambda body: says(path, body)) as server:
        read = report(server.url)
    assert [one for one in read["requests"] if one["status"] != "kept"] == []
    assert len(read["requests"]) == 11
    assert read["exit_status"] == 0


def test_a_real_server_without_it_breaks_the_rules(stock: VllmServer, path: ModelPath) -> None:
    with Prompting(stock, lambda body: says(path, body)) as server:
        read = report(server.url)
    assert read["exit_status"] == 1
    for name in ("text", "call", "calls", "background"):
        assert "C1" in rules(read, name)
        assert rules(read, f"{name}.stored") == ["C8"]
    answered = {"simple": "C1", "harmony": "C8"}
    assert answered[path] in rules(read, "answer")
