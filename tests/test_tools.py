"""Tools that vLLM runs itself: a browser call is one item, an answer belongs to its call."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bed import client
from bed.judge import judge, judge_store
from bed.server import VllmServer
from bed.tokens import STOPS, decode, encode
from bed.tool_server import MARKER, ToolServers, tool_servers
from vllm_stable_ids.log import failed_open
from vllm_stable_ids.patches import browser, tool_output
from vllm_stable_ids.vllm_names import SERVING_MODULE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence
    from pathlib import Path

    from bed.models import ModelPath

Event = Any

SEARCH = ("search", '{"query":"weather"}')
OPEN = ("open", '{"cursor":1}')

WEB_SEARCH = {"type": "web_search_preview"}
CODE_INTERPRETER = {"type": "code_interpreter", "container": {"type": "auto"}}

THINK = "<|channel|>analysis<|message|>Think.<|end|><|start|>assistant"
FINAL = "<|channel|>final<|message|>It is sunny.<|return|>"
QWEN_CALL = (
    '<tool_call>\n{"name": "code_interpreter", "arguments": {"code": "print(1)"}}\n</tool_call>'
    "<|im_end|>"
)
QWEN_FINAL = "<think>\nHm.\n</think>\n\nIt is sunny.<|im_end|>"

# A template as of models that find the call of an answer by its id.
TEMPLATE = """\
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' }}
{%- if message.content is string %}{{ message.content }}{% endif %}
{%- for call in message.tool_calls or [] %}{{ '[calls ' + call.id + ']' }}{% endfor %}
{%- if message.tool_call_id %}{{ '[answers ' + message.tool_call_id + ']' }}{% endif %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{{- '<|im_start|>assistant\\n' }}
"""

WEB_SEARCH_CALL = [
    "response.output_item.added",
    "response.web_search_call.in_progress",
    "response.web_search_call.searching",
    "response.web_search_call.completed",
    "response.output_item.done",
]


def numbered(events: list[Event]) -> list[Event]:
    """The events with the numbers vLLM would give them."""
    for number, event in enumerate(events):
        event.sequence_number = number
    return events


def told_twice(name: str, arguments: str, index: int) -> tuple[list[Event], list[Event]]:
    """A browser call as vLLM tells of it: the `mcp_call`, then the `web_search_call`."""
    made = importlib.import_module("vllm.entrypoints.openai.responses.streaming_events")
    state = made.StreamingState(current_output_index=index)
    recipient = f"browser.{name}"
    first = [
        event
        for delta in (arguments[:3], arguments[3:])
        for event in made.emit_mcp_delta_events(delta, state, recipient)
    ]
    first += made.emit_mcp_completion_events(recipient, arguments, state)
    message = SimpleNamespace(recipient=recipient, content=[SimpleNamespace(text=arguments)])
    return first, made.emit_browser_tool_events(message, state)


class Upstream:
    """A stream of these events, which ends with an exception if one is among them."""

    def __init__(self, events: Sequence[Event | BaseException]) -> None:
        """Start before the first."""
        self.given = 0
        self.closed = False
        self._events = events

    async def stream(self) -> AsyncGenerator[Event]:
        """The stream."""
        try:
            for event in self._events:
                self.given += 1
                if isinstance(event, BaseException):
                    raise event
                yield event
        finally:
            self.closed = True


async def drain(stream: AsyncGenerator[Event], out: list[Event]) -> None:
    """Read a stream to its end; what came before an exception is in `out`."""
    async for event in stream:
        out.append(event)  # noqa: PERF401 - one by one, for what may come next


def never(_: int) -> bool:
    """Nothing may be left out."""
    pytest.fail("an event is to be left out")


async def passed(events: Sequence[Event | BaseException]) -> tuple[list[Event], int]:
    """What comes out for these events, and how many were reported as dropped."""
    upstream = Upstream(events)
    counts: list[int] = []
    out: list[Event] = []

    def dropped(count: int) -> bool:
        counts.append(count)
        return True

    await drain(browser.one_lifecycle(upstream.stream(), dropped, browser.Held()), out)
    assert upstream.closed
    return out, sum(counts)


@pytest.mark.parametrize("call", [SEARCH, OPEN], ids=lambda call: call[0])
async def test_the_web_search_call_stands(call: tuple[str, str]) -> None:
    first, second = told_twice(*call, 0)
    events = numbered(first + second)
    twice = judge([event.model_dump() for event in events])
    assert "output_index 0 announced twice" in [breach.text for breach in twice]
    assert await passed(events) == (second, len(first))
    once = judge([event.model_dump() for event in second], first_sequence=None)
    assert {breach.rule for breach in once} == {"END"}


async def test_two_calls_in_a_row_are_two_items() -> None:
    search, searched = told_twice(*SEARCH, 0)
    again, opened = told_twice(*OPEN, 1)
    out = await passed([*search, *searched, *again, *opened])
    assert out == ([*searched, *opened], len(search) + len(again))


async def test_a_call_that_is_told_once_stands_as_it_is() -> None:
    first, _ = told_twice(*SEARCH, 0)
    _, elsewhere = told_twice(*OPEN, 1)
    plain = SimpleNamespace(type="response.completed")
    for after in ([], [plain], elsewhere):
        assert await passed([*first, *after]) == ([*first, *after], 0)


async def test_a_call_cut_short_by_the_next_is_kept() -> None:
    cut = told_twice(*SEARCH, 0)[0][:3]
    again, opened = told_twice(*OPEN, 1)
    assert await passed([*cut, *again, *opened]) == ([*cut, *opened], len(again))


async def test_what_came_before_an_exception_is_sent() -> None:
    first, _ = told_twice(*SEARCH, 0)
    upstream = Upstream([*first, ValueError("not JSON")])
    out: list[Event] = []
    with pytest.raises(ValueError, match="not JSON"):
        await drain(browser.one_lifecycle(upstream.stream(), never, browser.Held()), out)
    assert out == first
    assert upstream.closed


async def test_other_events_are_not_held_back() -> None:
    """A tool server that is no browser, a message: each event goes out before the next comes."""
    others, _ = told_twice(*SEARCH, 0)
    others[0].item.name = "repo_browser.list"
    upstream = Upstream(others)
    stream = browser.one_lifecycle(upstream.stream(), never, browser.Held())
    for count, event in enumerate(others, 1):
        assert await anext(stream) is event
        assert upstream.given == count
    await stream.aclose()


async def test_hanging_up_closes_upstream() -> None:
    first, second = told_twice(*SEARCH, 0)
    upstream = Upstream([first[0], *second])
    stream = browser.one_lifecycle(upstream.stream(), lambda _: True, browser.Held())
    await anext(stream)
    assert not upstream.closed
    await stream.aclose()
    assert upstream.closed


async def test_a_cancelled_stream_sends_nothing_more() -> None:
    first, _ = told_twice(*SEARCH, 0)
    upstream = Upstream([*first, asyncio.CancelledError()])
    out: list[Event] = []
    with pytest.raises(asyncio.CancelledError):
        await drain(browser.one_lifecycle(upstream.stream(), never, browser.Held()), out)
    assert out == []
    assert upstream.closed


async def test_a_fault_of_ours_leaves_the_stream_as_it_came() -> None:
    def fail(_: int) -> bool:
        raise RuntimeError

    first, second = told_twice(*SEARCH, 0)
    before = failed_open["RuntimeError"]
    stream = browser.one_lifecycle(Upstream([*first, *second]).stream(), fail, browser.Held())
    assert [event async for event in stream] == [*first, *second]
    assert failed_open["RuntimeError"] == before + 1


def serving(has_tool: Any) -> SimpleNamespace:
    """A serving object with a tool server."""
    return SimpleNamespace(tool_server=SimpleNamespace(has_tool=has_tool))


@pytest.mark.parametrize(
    ("instance", "expected"),
    [
        (serving("browser".__eq__), True),
        (serving("python".__eq__), False),
        (serving(None), False),
        (SimpleNamespace(tool_server=None), False),
        (SimpleNamespace(), False),
    ],
    ids=["browser", "python", "broken", "none", "unknown"],
)
def test_only_a_browser_tool_is_told_twice(instance: Any, *, expected: bool) -> None:
    assert browser.applies(instance) is expected


@pytest.fixture
def serving_module() -> Any:
    """vLLM's serving module, which has the class that runs tools."""
    return importlib.import_module(SERVING_MODULE)


def test_it_is_needed_where_vllm_makes_up_a_call_id(serving_module: Any) -> None:
    source = inspect.getsource(serving_module.ParsableContext.call_python_tool)
    assert tool_output.needed(serving_module) is ("call_id=last_msg.call_id" not in source)


async def agree(_self: Any, _session: Any, call: Any) -> Any:
    """Answer as vLLM 0.32 does."""
    return [SimpleNamespace(call_id=call.call_id)]


def test_it_is_not_needed_where_vllm_agrees_or_is_not_as_known(
    serving_module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in tool_output.CALLS:
        monkeypatch.setattr(serving_module.ParsableContext, name, agree)
    assert not tool_output.needed(serving_module)
    monkeypatch.undo()
    monkeypatch.delattr(serving_module.ParsableContext, "call_search_tool")
    assert not tool_output.needed(serving_module)
    assert not tool_output.needed(SimpleNamespace())


# Real servers with tool servers


def turns(path: ModelPath, *outputs: str) -> dict[str, Any]:
    """Scripts for a response of several turns, as request fields: a tool answers in between."""
    names = ["script", *(f"script_{turn}" for turn in range(2, len(outputs) + 1))]
    scripts = {name: encode(path, text) for name, text in zip(names, outputs, strict=True)}
    marker = encode(path, MARKER + STOPS[path][0])[:-1]
    return {"vllm_xargs": scripts | {"marker": marker}}


def browse(name: str, arguments: str) -> str:
    """What gpt-oss says to use the browser."""
    return f"{THINK}<|channel|>commentary to=browser.{name} code<|message|>{arguments}<|call|>"


@pytest.fixture(scope="module")
def tools() -> Iterator[ToolServers]:
    """The tool servers of the tests here."""
    with tool_servers() as running:
        yield running


@pytest.fixture(scope="module")
def harmony(tools: ToolServers) -> Iterator[VllmServer]:
    """A gpt-oss with a browser and a python."""
    with VllmServer("harmony", extra_args=("--tool-server", tools.addresses)) as server:
        yield server


@pytest.fixture(scope="module")
def text(tools: ToolServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    """A text model whose tools vLLM runs, under a template that shows ids."""
    template: Path = tmp_path_factory.mktemp("template") / "ids.jinja"
    template.write_text(TEMPLATE)
    arguments = ("--tool-server", tools.addresses, "--chat-template", str(template))
    flag = {"VLLM_USE_EXPERIMENTAL_PARSER_CONTEXT": "1"}
    with VllmServer("simple", extra_args=arguments, env=flag) as server:
        yield server


def types_of_items(events: list[dict[str, Any]]) -> list[str]:
    """The items in order of announcement."""
    added = [event for event in events if event["type"] == "response.output_item.added"]
    return [event["item"]["type"] for event in added]


@pytest.mark.parametrize("call", [SEARCH, OPEN], ids=lambda call: call[0])
def test_a_browser_call_is_streamed_once(
    harmony: VllmServer, tools: ToolServers, call: tuple[str, str]
) -> None:
    tools.asked.clear()
    scripts = turns("harmony", browse(*call), FINAL)
    stream = client.stream(harmony, None, tools=[WEB_SEARCH], **scripts)
    events = stream.events
    assert judge(events) == []
    assert types_of_items(events) == ["reasoning", "web_search_call", "message"]
    assert [event["type"] for event in events if event.get("output_index") == 1] == WEB_SEARCH_CALL
    assert judge_store(events, client.retrieve(harmony, stream.terminal["id"])) == []
    assert tools.asked == [(call[0], json.loads(call[1]))]


def test_two_browser_calls_in_a_row(harmony: VllmServer) -> None:
    scripts = turns("harmony", browse(*SEARCH), browse(*OPEN), FINAL)
    stream = client.stream(harmony, None, tools=[WEB_SEARCH], **scripts)
    assert judge(stream.events) == []
    calls = ["reasoning", "web_search_call"]
    assert types_of_items(stream.events) == [*calls, *calls, "message"]
    output = stream.terminal["output"]
    assert [output[at]["action"]["type"] for at in (1, 3)] == ["search", "open_page"]


def test_the_turn_after_a_browser_call(harmony: VllmServer) -> None:
    scripts = turns("harmony", browse(*SEARCH), FINAL)
    first = client.stream(harmony, None, tools=[WEB_SEARCH], **scripts)
    second = client.stream(
        harmony, encode("harmony", FINAL), previous_response_id=first.terminal["id"]
    )
    assert judge(second.events) == []
    assert types_of_items(second.events) == ["message"]


def test_a_replayed_browser_call_is_numbered_without_a_gap(harmony: VllmServer) -> None:
    scripts = turns("harmony", browse(*SEARCH), FINAL)
    stream = client.stream(harmony, None, tools=[WEB_SEARCH], background=True, **scripts)
    assert judge(stream.events) == []
    for number in (7, 9, 12):
        rest = client.replay(harmony, stream.terminal["id"], starting_after=number)
        assert rest.events == stream.events[number + 1 :]


@pytest.mark.parametrize(
    ("arguments", "limit"),
    [('{"query":"weat', 400), ('{"query":"weather in Paris and Rome and Berlin"}', 20)],
    ids=["broken JSON", "truncated"],
)
def test_a_browser_call_that_cannot_be_read_is_not_lost(
    harmony: VllmServer, tools: ToolServers, arguments: str, limit: int
) -> None:
    """VLLM ends with an exception there; what it had streamed is all there is of the call."""
    tools.asked.clear()
    scripts = turns("harmony", browse("search", arguments))
    events = client.stream(
        harmony, None, tools=[WEB_SEARCH], max_output_tokens=limit, **scripts
    ).events
    assert judge(events) == []
    assert types_of_items(events) == ["reasoning", "mcp_call"]
    said = "".join(event["delta"] for event in events if event["type"].endswith("arguments.delta"))
    assert said
    assert arguments.startswith(said)
    assert tools.asked == []


def test_a_call_of_python_is_one_item(harmony: VllmServer, tools: ToolServers) -> None:
    tools.asked.clear()
    code = f"{THINK}<|channel|>analysis to=python code<|message|>print(1+1)<|call|>"
    scripts = turns("harmony", code, FINAL)
    stream = client.stream(harmony, None, tools=[CODE_INTERPRETER], **scripts)
    assert judge(stream.events) == []
    assert types_of_items(stream.events) == ["reasoning", "code_interpreter_call", "message"]
    assert judge_store(stream.events, client.retrieve(harmony, stream.terminal["id"])) == []
    assert tools.asked == [("python", {"code": "print(1+1)"})]


def test_an_answer_has_the_id_of_its_call(text: VllmServer, tools: ToolServers) -> None:
    """In the prompt of the turn after the tool's answer."""
    tools.asked.clear()
    response = client.create(
        text,
        None,
        tools=[CODE_INTERPRETER],
        enable_response_messages=True,
        **turns("simple", QWEN_CALL, QWEN_FINAL),
    )
    assert tools.asked == [("python", {"code": "print(1)"})]
    _, prompt, _ = response["output_messages"]
    said = decode("simple", prompt["tokens"])
    calls, answers = re.findall(r"\[calls (.*?)\]", said), re.findall(r"\[answers (.*?)\]", said)
    assert len(calls) == 1
    assert answers == calls
    assert [item["type"] for item in response["output"]] == ["mcp_call", "reasoning", "message"]
