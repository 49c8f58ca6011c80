"""The checker as a command: what it says of each kind of input, and how it ends."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import pytest
from rich.console import Console
from typer.testing import CliRunner

from vllm_stable_ids._core import Checker
from vllm_stable_ids.check import judge
from vllm_stable_ids.check.junit import as_junit
from vllm_stable_ids.check.table import show
from vllm_stable_ids.cli import app
from vllm_stable_ids.rewriter import SseRewriter

CAPTURES = Path(__file__).parent / "captures"
COMMAND = str(Path(sys.executable).with_name("vllm-stable-ids"))
KEPT = (CAPTURES / "kept.sse").read_bytes()
BROKEN = (CAPTURES / "simple-0.29.sse").read_bytes()
END = KEPT.index(b"event: response.completed")


def run(*arguments: object, given: bytes = b"") -> tuple[int, str]:
    """The command's exit status and what it writes."""
    done = CliRunner().invoke(app, ["check", *map(str, arguments)], input=given)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout


def report(*arguments: object, given: bytes = b"") -> dict[str, Any]:
    """The command's JSON."""
    _, out = run("--json", *arguments, given=given)
    read: dict[str, Any] = json.loads(out)
    return read


def parsed(document: bytes) -> Element:
    return fromstring(document)  # noqa: S314 - it was written just now


def rewritten(raw: bytes) -> bytes:
    rewriter = SseRewriter()
    return rewriter.feed(raw) + rewriter.finish()


def test_the_stream_of_the_report_gives_its_table_and_verdict() -> None:
    status, out = run(CAPTURES / "simple-0.29.sse")
    assert status == 1
    lines = [line.split() for line in out.splitlines()]
    assert lines[0][1:] == ["15", "events,", "probably", "vLLM,", "simple", "path"]
    assert lines[2:9] == [
        ["index", "told", "in", "type", "id", "call_id"],
        ["0", "added", "reasoning", "89d3c2a7e9e2f1cd"],
        ["done", "reasoning", "89d3c2a7e9e2f1cd"],
        ["completed", "reasoning", "rs_b540917d7602e6c3", "*"],
        ["1", "added", "function_call", "86c1dbf1a8fefbcf", "call_951f53b107639ed7"],
        ["done", "function_call", "86c1dbf1a8fefbcf", "call_951f53b107639ed7"],
        [
            *("completed", "function_call", "fc_bebd3a7f583cf8e4", "*"),
            *("chatcmpl-tool-878dd447ef4d81ef", "*"),
        ],
    ]
    sentence = (
        "Item 1 (function_call) was announced with call_id call_951f53b107639ed7, "
        "but the final response has chatcmpl-tool-878dd447ef4d81ef."
    )
    assert f"C1    event 15, response.completed: {sentence}" in out
    assert out.count("\nC1    event ") == 3
    assert "\nC1    an item keeps the identity it was announced under: 3 times\n" in out
    assert "\nBROKEN: 3 breaches of C1\n" in out
    assert "pip install vllm-stable-ids" in out.splitlines()[-1]


def test_what_the_rewriter_made_is_kept() -> None:
    for name in ("simple-0.29.sse", "harmony-0.29.sse"):
        raw = (CAPTURES / name).read_bytes()
        assert run(given=raw)[0] == 1
        status, out = run(given=rewritten(raw))
        assert status == 0
        assert "KEPT" in out


@pytest.mark.parametrize(
    ("name", "path"), [("simple-0.29.sse", "simple"), ("harmony-0.29.sse", "harmony")]
)
def test_the_path_is_guessed(name: str, path: str) -> None:
    origin = report(CAPTURES / name)["stream"]["origin"]
    assert (origin["server"], origin["path"]) == ("vllm", path)
    assert origin["because"]


@pytest.mark.parametrize("name", ["kept.sse", "kept.jsonl"])
def test_a_stream_without_fault_is_kept(name: str) -> None:
    status, out = run(CAPTURES / name)
    assert status == 0
    assert "*" not in out
    assert "KEPT: every item keeps its identity" in out
    read = report(CAPTURES / name)
    assert (read["status"], read["exit_status"], read["reason"]) == ("kept", 0, None)
    assert read["format"] == name.rpartition(".")[2]
    assert read["bytes"] == (CAPTURES / name).stat().st_size
    assert read["stream"]["breaches"] == []


def test_standard_input_is_read() -> None:
    for arguments in ([], ["-"]):
        done = subprocess.run(
            [COMMAND, "check", *arguments], input=KEPT, capture_output=True, check=True
        )
        assert done.stdout.startswith(b"standard input: 15 events")
        assert done.stderr == b""


def headed(status: str, body: bytes) -> bytes:
    """A response that was recorded with its headers."""
    return f"HTTP/1.1 {status}\r\ncontent-type: x\r\n\r\n".encode() + body


def test_headers_line_ends_and_missing_blank_lines_make_no_difference() -> None:
    wanted = report(given=BROKEN)["stream"]
    for raw in (
        headed("200 OK", BROKEN),
        b"\xef\xbb\xbf" + BROKEN,
        BROKEN.replace(b"\n", b"\r\n"),
        BROKEN.replace(b"\n\n", b"\n"),
        b"".join(line[6:] for line in BROKEN.splitlines(keepends=True) if line[:4] == b"data"),
    ):
        assert report(given=raw)["stream"] == wanted


INPUTS = [
    ("empty", b"", "nothing in it"),
    ("empty", b" \n\n", "nothing in it"),
    ("compressed", gzip.compress(KEPT), "gzip"),
    ("compressed", b"\x28\xb5\x2f\xfd" + bytes(50), "zstd"),
    ("utf16", b"\xff\xfe" + KEPT.decode().encode("utf-16-le"), "PowerShell"),
    ("binary", b"\x1b\x00\x04" + bytes(range(200)), "not text"),
    ("binary", bytes(range(128, 256)), "not text"),
    ("html", (CAPTURES / "page.html").read_bytes(), "HTML"),
    ("error_body", (CAPTURES / "error.json").read_bytes(), "The model `m` does not exist."),
    ("error_body", b'{"object":"error","message":"no","code":400}', "no"),
    ("error_body", b'{"detail":"Not Found"}', "Not Found"),
    ("error_body", headed("503 Busy", b"later"), "HTTP status 503"),
    ("error_body", headed("404 No", b'{"detail":"Not Found"}'), "Not Found"),
    ("error_body", b'data: {"error":{"message":"gone"}}\n\ndata: [DONE]\n\n', "gone"),
    ("chat_completions", (CAPTURES / "chat-completions.sse").read_bytes(), "chat/completions"),
    ("chat_completions", b'{"object":"chat.completion","choices":[]}', "chat/completions"),
    ("other_stream", b'event: ping\ndata: {"type": "ping"}\n\n', "but ping"),
    ("other_stream", b"data: hello\n\n", "no event of the Responses API"),
    ("other_stream", b'{"type":"a"}\n{"type":"b"}\n', "but a, b"),
    ("response_body", (CAPTURES / "not-streamed.json").read_bytes(), "not streamed"),
    ("json", b'[{"type": "response.created"}]', "one event a line"),
    ("json", b'{"a": 1}', "no event of the Responses API"),
    ("text", b"curl: (7) Failed to connect\n", "text"),
]


@pytest.mark.parametrize(("code", "raw", "message"), INPUTS)
def test_what_is_no_stream_gets_a_message_of_its_own(code: str, raw: bytes, message: str) -> None:
    status, out = run(given=raw)
    assert status == 2
    assert message in out
    assert "NOT JUDGED" in out
    read = report(given=raw)
    assert (read["status"], read["exit_status"]) == ("not_judged", 2)
    assert read["reason"]["code"] == code
    assert message in read["reason"]["message"]
    assert read["advice"]
    assert read["stream"] is None


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for file in (tmp_path / "missing.sse", tmp_path):
        status, out = run(file)
        assert status == 2
        assert out.startswith(f"NOT JUDGED: {file}: It cannot be read")
        assert report(file)["reason"]["code"] == "unreadable"


def test_a_stream_that_stops_is_not_judged_where_nothing_is_wrong_yet() -> None:
    for cut in (KEPT[:END], KEPT[: END + 60], KEPT[:-100]):
        status, out = run(given=cut)
        assert status == 2
        assert "stops before its end" in out
        read = report(given=cut)
        assert read["reason"]["code"] == "cut"
        assert read["stream"]["cut"]
        # What was found so far is told all the same.
        assert "call_951f53b107639ed7" in out


def test_a_breach_before_it_stops_is_certain() -> None:
    wrong = KEPT.replace(b'"item_id":"rs_89d3c2a7e9e2f1cd"', b'"item_id":"x"')
    status, out = run(given=wrong[:END])
    assert status == 1
    assert "item_id" in out
    assert "stops before the end" in out


def test_a_server_that_breaks_off_is_a_breach() -> None:
    raw = KEPT[:END] + b'data: {"error":{"message":"died"}}\n\n'
    read = report(given=raw)
    assert read["exit_status"] == 1
    assert [rule["rule"] for rule in read["stream"]["rules"]] == ["end", "frame"]
    assert "only the server can mend" in read["advice"]


def test_notes_do_not_change_the_verdict() -> None:
    raw = rewritten(BROKEN)
    read = report(given=raw)
    assert read["exit_status"] == 0
    notes = [note["note"] for note in read["stream"]["notes"]]
    assert notes == ["prefix", "vocabulary"]
    assert "response.reasoning_part" in read["advice"]


def test_the_json_has_the_members_that_are_documented() -> None:
    read = report(CAPTURES / "simple-0.29.sse")
    documented = (Path(__file__).parents[1] / "docs" / "check.md").read_text()
    documented = documented.partition("## JSON")[2]
    assert read["schema"] == 1
    breach = read["stream"]["breaches"][0]
    item = read["stream"]["items"][0]
    for members in (read, read["stream"], breach, item, item["added"], read["stream"]["rules"][0]):
        for member in members:
            assert f"`{member}`" in documented or f'"{member}"' in documented, member
    assert breach["sentence"].endswith("but the final response has rs_b540917d7602e6c3.")
    assert (breach["rule"], breach["breach"], breach["field"]) == ("C1", "identity", "id")
    assert (breach["event"], breach["sequence_number"], breach["times"]) == (15, 14, 1)
    assert item["terminal"]["differs"] == ["id"]


def test_junit_has_a_case_for_each_rule(tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    assert run(CAPTURES / "simple-0.29.sse", "--junit", file)[0] == 1
    suite = parsed(file.read_bytes())[0]
    assert {key: suite.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "12",
        "failures": "1",
        "errors": "0",
    }
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failed == ["C1"]
    assert "call_951f53b107639ed7" in (suite.findtext("testcase/failure") or "")
    assert run("--junit", file, given=b"<html>")[0] == 2
    suite = parsed(file.read_bytes())[0]
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
    assert run(CAPTURES / "kept.sse", "--junit", file)[0] == 0
    assert parsed(file.read_bytes())[0].get("failures") == "0"


def test_a_junit_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    target = tmp_path / "missing" / "report.xml"
    done = CliRunner().invoke(app, ["check", str(CAPTURES / "kept.sse"), "--junit", str(target)])
    assert done.exit_code == 2
    assert f"cannot write {target}: No such file or directory" in done.stderr


def test_a_wrong_index_or_name_has_a_column() -> None:
    raw = BROKEN.replace(b'"output_index":1', b'"output_index":3')
    raw = raw[:-900] + raw[-900:].replace(b'"name":"get_weather"', b'"name":"other"')
    _, out = run(given=raw)
    rows = [line.split() for line in out.splitlines()]
    assert rows[2][-2:] == ["output_index", "name"]
    assert rows[6][-3:] == ["3", "*", "get_weather"]
    assert rows[8][-2:] == ["other", "*"]


def test_nothing_of_a_stream_steers_the_terminal() -> None:
    raw = BROKEN.replace(b"rs_b540917d7602e6c3", b"\\u001b[31m\\u0000\\n\xc2\x9bx")
    _, out = run(given=raw)
    assert not any(character in out for character in "\x1b\x00\x9b")
    assert "\\x1b[31m\\x00\\n\\x9bx *" in out
    parsed(as_junit(judge([raw], "\x1b")))


def test_what_an_item_says_is_not_in_the_report() -> None:
    for text in (run(given=BROKEN)[1], json.dumps(report(given=BROKEN))):
        assert "Paris" not in text
        assert "weather." not in text


def test_many_items_and_breaches_are_shortened() -> None:
    added = (
        'data: {{"type":"response.output_item.added","output_index":9,'
        '"item":{{"type":"message","id":"m{}"}}}}\n\n'
    )
    created = b'data: {"type":"response.created","response":{"id":"r"}}\n\n'
    raw = created + "".join(added.format(number) for number in range(1200)).encode()
    _, out = run(given=raw)
    assert len(out.splitlines()) < 300
    assert "and 1,150 more items" in out
    assert "more breaches; --json lists up to 1,000" in out
    stream = report(given=raw)["stream"]
    assert (len(stream["items"]), stream["more_items"]) == (1000, 200)
    assert len(stream["breaches"]) == 1000
    listed = sum(breach["times"] for breach in stream["breaches"])
    assert listed + stream["more_breaches"] == sum(rule["count"] for rule in stream["rules"])


def test_a_terminal_has_colours_and_a_narrow_one_loses_nothing() -> None:
    verdict = judge([BROKEN], "s.sse")
    out = io.StringIO()
    show(verdict, Console(file=out, force_terminal=True, width=60, color_system="standard"))
    assert "\x1b[1;31m" in out.getvalue()
    plain = io.StringIO()
    show(verdict, Console(file=plain, width=60))
    assert "chatcmpl-tool-878dd447ef4d81ef" in "".join(plain.getvalue().split())


def test_a_terminal_without_unicode_is_no_traceback() -> None:
    raw = BROKEN.replace(b"rs_b540917d7602e6c3", "é…".encode())
    done = subprocess.run(
        [COMMAND, "check"],
        input=raw,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert done.returncode == 1
    assert done.stderr == b""
    assert b"\\xe9\\u2026 *" in done.stdout


def test_a_checker_judges_one_stream() -> None:
    checker = Checker()
    checker.feed(KEPT)
    assert json.loads(checker.finish())["outcome"] == "kept"
    for again in (checker.finish, lambda: checker.feed(KEPT)):
        with pytest.raises(ValueError, match="has ended"):
            again()
