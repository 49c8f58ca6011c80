"""Real clients through a tool loop, and that nothing of them goes unnoticed.

The clients that take seconds are driven here, against the servers of the session; `make clients`
drives all of them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bed.judge import ADDED
from clients import page, run
from clients.cases import CALLING, FIRST, first
from clients.entry import SIDES, Entry, calls, differences
from clients.install import HERE, LOCKS
from clients.register import CLIENTS, QUICK
from clients.relay import Turn
from clients.replay import page as replay_page
from clients.rows import Row, cell, start
from clients.verdict import LONGEST, OK, OTHER_IDS, UNPAIRED, judge, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bed.models import ModelPath
    from bed.proxied import Proxy
    from bed.server import VllmServer
    from clients.entry import Side

AT_ONCE = 2
NOBODY = "http://127.0.0.1:9"
AS_IT_COMES = Entry("A client", "a", "folder", "python", "mode", "as it comes")


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    """Drives some clients at once."""
    with ThreadPoolExecutor(AT_ONCE) as started:
        yield started


@pytest.mark.parametrize("entry", QUICK, ids=lambda entry: entry.key)
def test_a_client(  # noqa: PLR0913, PLR0917 - fixtures
    entry: Entry,
    path: ModelPath,
    stock: VllmServer,
    fixed: VllmServer,
    proxy: Proxy,
    pool: ThreadPoolExecutor,
) -> None:
    if entry.language == "node" and shutil.which("npm") is None:
        pytest.skip("there is no npm here")
    urls: dict[Side, str] = {"stock": stock.url, "plugin": fixed.url, "proxy": proxy.url}
    row = start(entry, path, urls, pool)()
    assert list(row.differences) == []
    # What `make clients` wrote is what one gets.
    assert page.line(row) in page.PAGE.read_text().splitlines()


def test_every_client_is_on_the_page() -> None:
    text, _, _ = page.PAGE.read_text().partition(replay_page.TITLE)
    lines = [line.split(" | ") for line in text.splitlines()]
    rows = [(line[0].removeprefix("| "), line[2], line[3]) for line in lines if len(line) > 4]
    wanted = [(entry.name, entry.how, path) for entry in CLIENTS for path in FIRST]
    assert rows[1:] == wanted


def test_every_client_is_locked() -> None:
    for entry in CLIENTS:
        lock = (HERE / entry.folder / LOCKS[entry.language]).read_text()
        assert entry.package in lock, entry.key
        if entry.language == "python":
            assert all("==" in line for line in lock.splitlines())
    assert len({entry.key for entry in CLIENTS}) == len(CLIENTS)


def test_what_does_not_work_has_a_reason() -> None:
    for entry in CLIENTS:
        kept = any(entry.expected(side, path) for side in SIDES[1:] for path in FIRST)
        assert bool(entry.why) == kept, entry.key


@pytest.fixture
def driver(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Runs a driver of a few lines on a server that is not there."""

    def drive(lines: str) -> dict[str, str]:
        script = tmp_path / "drive.py"
        script.write_text(f"import json, os, subprocess, sys, time\n{lines}")
        command = [sys.executable, str(script)]
        return run.drive(command, AS_IT_COMES, NOBODY, "simple", "client-of-a-test")

    return drive


SAYS = 'print(json.dumps({"case": "text", "text": "It is sunny."}), flush=True)\n'


def test_a_driver_that_hangs_is_killed_with_what_it_started(
    driver: Callable[[str], dict[str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(run, "LIMIT_S", 5.0)
    child = tmp_path / "child"
    found = driver(
        f"{SAYS}started = subprocess.Popen(['sleep', '1000'])\n"
        f"open({str(child)!r}, 'w').write(str(started.pid))\n"
        "time.sleep(1000)\n"
    )
    assert found.pop("text") == OK
    assert set(found.values()) == {"killed after 5 s, see client-of-a-test.log"}
    assert set(found) == set(CALLING)
    assert not alive(int(child.read_text()))


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_driver_that_dies(driver: Callable[[str], dict[str, str]]) -> None:
    found = driver(f"{SAYS}os._exit(3)")
    assert found.pop("text") == OK
    assert set(found.values()) == {"ended with status 3, see client-of-a-test.log"}


def test_what_a_driver_prints_besides(driver: Callable[[str], dict[str, str]]) -> None:
    found = driver(
        f"print('{{', flush=True)\nprint('[1]', flush=True)\n{SAYS}raise ValueError('x')"
    )
    assert found.pop("text") == OK
    assert set(found.values()) == {"ended with status 1, see client-of-a-test.log"}
    assert "ValueError: x" in (run.LOGS / "client-of-a-test.log").read_text()


def test_a_driver_does_not_see_the_machines_habits(
    driver: Callable[[str], dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "http_proxy", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "http://nobody.invalid")
    found = driver(
        "kept = [name for name, value in os.environ.items() if 'nobody' in value]\n"
        "print(json.dumps({'case': 'text', 'text': str(kept)}))"
    )
    assert found["text"] == "the final text is '[]'"
    assert os.environ["http_proxy"]


def call(call_id: str) -> dict[str, str]:
    return {"type": "function_call", "call_id": call_id}


def output(call_id: str) -> dict[str, str]:
    return {"type": "function_call_output", "call_id": call_id, "output": "sunny"}


def announcing(*call_ids: str) -> Turn:
    """A first turn."""
    events = [{"type": ADDED, "item": call(call_id)} for call_id in call_ids]
    frames = b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)
    return Turn({"input": "What is the weather in Paris?"}, 200, frames)


def answering(*items: dict[str, str], **fields: Any) -> Turn:
    """A second turn."""
    return Turn({"input": [*items], **fields}, 200)


def verdict(*turns: Turn, text: str = "It is sunny.") -> str:
    """What is said of the turns of a case, where the server has stored a call `a`."""
    said = {"case": "call", "text": text}
    return judge("call", said, "", turns, lambda known: {"a"} if known == "resp_1" else set())


def test_turns_that_are_well() -> None:
    assert verdict(announcing("a"), answering(call("a"), output("a"))) == OK
    assert verdict(announcing("a"), answering(output("a"), previous_response_id="resp_1")) == OK
    assert (
        verdict(announcing("a"), answering(call("a"), output("a")), text="\n\nIt is sunny.") == OK
    )


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        ([announcing("a")], "no second turn: the tool's output was not sent"),
        ([announcing("b"), answering(output("b"), previous_response_id="resp_1")], UNPAIRED),
        ([announcing("a"), answering(output("a"), previous_response_id="resp_2")], UNPAIRED),
        ([announcing("a"), answering(output("a"))], UNPAIRED),
        ([announcing("a", "b"), answering(call("a"), output("a"))], "of 2 calls 1 were answered"),
        ([announcing("b"), answering(call("a"), output("a"))], OTHER_IDS),
        (
            [
                announcing("a"),
                Turn({"input": [output("a")]}, 400, b'{"error": {"message": "No."}}'),
            ],
            "400 No.",
        ),
        ([announcing("a"), Turn({"input": [output("a")]}, 502, b"Bad.")], "502 Bad."),
        (
            [announcing("a"), Turn({"input": [output("a")]}, 200, cut="ReadError")],
            "the server's answer broke off (ReadError)",
        ),
    ],
)
def test_turns_that_are_not(turns: list[Turn], said: str) -> None:
    assert verdict(*turns) == said


def test_a_client_may_add_to_the_id_that_it_was_told() -> None:
    assert verdict(announcing("a"), answering(call("a_fc"), output("a_fc"))) == OK
    assert verdict(announcing("a"), answering(call("ab"), output("ab"))) == OTHER_IDS


def test_a_client_with_tools_of_its_own_is_made_to_call_those(path: ModelPath) -> None:
    for name in FIRST[path]:
        usual, said = (first(path, name, tool).output for tool in (None, ("exec", '{"c": "d"}')))
        assert said.count('{"c": "d"}') == said.count("exec") == usual.count('"city"')
        assert "get_weather" not in said
        assert "city" not in said


def test_a_client_that_gets_another_text() -> None:
    turns = announcing("a"), answering(call("a"), output("a"))
    assert verdict(*turns, text="It rains.") == "the final text is 'It rains.'"


def test_a_message_has_no_ids_and_an_end() -> None:
    said = (
        "No call for call_951f53b107639ed7\n of resp_a65c45d0fc94de27, chatcmpl-tool-87d4ef4d81ef90"
    )
    assert plain(said) == "No call for call_… of resp_…, chatcmpl-tool-…"
    assert plain("the default of agent_framework is a facade") == (
        "the default of agent_framework is a facade"
    )
    assert len(plain("x" * 1000)) == LONGEST


def test_better_than_expected_is_a_difference_too() -> None:
    assert differences({"text": OK, "call": "400 No."}, calls("400")) == []
    assert differences({"text": OK, "call": OK}, calls("400")) != []
    assert differences({"text": OK, "call": "400 No."}, {}) != []


def test_a_difference_says_which_run_it_was() -> None:
    bad = {"text": OK, "call": "400 No.", "two-calls": OK}
    row = Row(
        AS_IT_COMES, "simple", "1.0", {side: {"text": OK} for side in SIDES} | {"plugin": bad}
    )
    assert list(row.differences) == [
        "A client 1.0, as it comes, simple, plugin: call: '400 No.', where 'ok' is expected "
        "(its log is client-folder-mode-simple-plugin.log)"
    ]
    assert page.line(row) == "| A client | 1.0 | as it comes | simple | ok | call: 400 No. | ok |"


def test_a_cell_that_is_as_stock_is_short() -> None:
    row = Row(AS_IT_COMES, "simple", "1.0", {side: {"text": "400 No."} for side in SIDES})
    assert row.cells[-3:] == ["400 No.", "as stock", "as stock"]
    row = Row(AS_IT_COMES, "simple", "1.0", {side: {"text": OK} for side in SIDES})
    assert row.cells[-3:] == [OK, OK, OK]


def test_a_cell_is_short() -> None:
    assert cell({"text": OK, "call": "400 No. Never.", "two-calls": "400 No."}) == "calls: 400 No."
    assert cell({"text": "b", "call": "a", "two-calls": "c"}) == "a"
    assert cell({"text": "b", "call": OK, "two-calls": "c"}) == "text, two-calls: b"
