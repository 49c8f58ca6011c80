"""What vLLM before 0.25 does beyond changing ids, on vLLM's own event classes.

Its gpt-oss path makes the events of one token for each output of the engine. When an output has
several tokens, as on a busy server, an item may be summed up and closed without an announcement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from openai.types.responses import (
    ResponseContentPartAddedEvent,
    ResponseContentPartDoneEvent,
    ResponseFunctionCallArgumentsDoneEvent,
    ResponseOutputText,
    ResponseTextDoneEvent,
)

from bed.judge import judge
from test_overlay import (
    added,
    arguments,
    call,
    collect,
    done,
    message,
    reasoning,
    text,
    thought,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def part_added(index: int, item_id: str, part: int) -> Any:
    return ResponseContentPartAddedEvent(
        type="response.content_part.added",
        sequence_number=-1,
        output_index=index,
        item_id=item_id,
        content_index=part,
        part=ResponseOutputText(type="output_text", text="", annotations=[]),
    )


def text_ends(index: int, item_id: str, part: int, said: str) -> Sequence[Any]:
    fields = {"sequence_number": -1, "output_index": index, "item_id": item_id}
    return [
        ResponseTextDoneEvent(
            type="response.output_text.done", content_index=part, text=said, logprobs=[], **fields
        ),
        ResponseContentPartDoneEvent(
            type="response.content_part.done",
            content_index=part,
            part=ResponseOutputText(type="output_text", text=said, annotations=[]),
            **fields,
        ),
    ]


def in_part(event: Any, part: int) -> Any:
    event.content_index = part
    return event


def arguments_end(index: int, item_id: str, said: str) -> Any:
    return ResponseFunctionCallArgumentsDoneEvent(
        type="response.function_call_arguments.done",
        sequence_number=-1,
        output_index=index,
        item_id=item_id,
        arguments=said,
        name="f",
    )


WHOLE_MESSAGE = [
    added(0, message("aa", "")),
    part_added(0, "aa", 0),
    text(0, "aa", "Hi"),
    *text_ends(0, "aa", 0, "Hi"),
    done(0, message("aa", "Hi")),
]


def copies(events: Sequence[Any]) -> list[Any]:
    return [event.model_copy(deep=True) for event in events]


async def test_a_call_that_is_only_summed_up_is_announced_with_what_its_close_says() -> None:
    events = [
        *copies(WHOLE_MESSAGE),
        arguments_end(1, "aa", "{}"),
        done(1, call("", "call_1")),
    ]
    sent = await collect(events, [message("msg_x", "Hi"), call("fc_x", "call_x")])
    assert judge(sent) == []
    announced = [event["item"] for event in sent if event["type"][-11:] == "_item.added"]
    assert [(item["type"], item.get("name")) for item in announced] == [
        ("message", None),
        ("function_call", "f"),
    ]
    assert announced[1]["call_id"] == "call_1"


@pytest.mark.parametrize("carried", [1, -1])
async def test_content_parts_count_from_0_in_each_item(carried: int) -> None:
    events = [
        *copies(WHOLE_MESSAGE),
        added(1, message("bb", "")),
        part_added(1, "bb", carried),
        in_part(text(1, "bb", "T"), carried),
        in_part(text(1, "bb", "here"), carried),
        *text_ends(1, "bb", carried, "There"),
        done(1, message("bb", "There")),
    ]
    sent = await collect(events, [message("msg_x", "Hi"), message("msg_y", "There")])
    assert judge(sent) == []
    assert {event["content_index"] for event in sent if "content_index" in event} == {0}


async def test_an_end_that_denies_its_text_says_what_was_streamed() -> None:
    events = [
        *copies(WHOLE_MESSAGE[:3]),
        *text_ends(0, "aa", 0, ""),
        done(0, message("aa", "")),
    ]
    sent = await collect(events, [message("msg_x", "Hi")])
    assert judge(sent) == []
    assert sent[-1]["response"]["output"][0]["content"][0]["text"] == "Hi"


async def test_reasoning_that_is_closed_as_a_message_stays_one_item() -> None:
    events = [
        added(0, thought("aa", "")),
        reasoning(0, "aa", "Hm."),
        *text_ends(0, "aa", 0, ""),
        done(0, message("aa", "")),
        added(1, call("bb", "call_1", "")),
        arguments(1, "bb", "{}"),
        arguments_end(1, "bb", "{}"),
        done(1, call("bb", "call_1")),
    ]
    sent = await collect(events, [thought("rs_x", "Hm."), call("fc_x", "call_x")])
    assert judge(sent) == []
    kinds = [event["item"]["type"] for event in sent if event["type"][-10:] == "_item.done"]
    assert sorted(kinds) == ["function_call", "reasoning"]


async def test_the_end_of_a_text_that_was_not_streamed_is_streamed_before_a_late_close() -> None:
    sent = await collect(copies(WHOLE_MESSAGE[:3]), [message("msg_x", "Hi there.")])
    assert judge(sent) == []
    assert [event["delta"] for event in sent if "delta" in event] == ["Hi", " there."]


async def test_an_item_left_open_is_summed_up_and_closed() -> None:
    sent = await collect(copies(WHOLE_MESSAGE[:3]), [message("msg_x", "Hi")])
    assert judge(sent) == []
    assert [event["type"] for event in sent[3:-1]] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
    ]


async def test_a_summed_up_item_left_open_is_closed_only() -> None:
    sent = await collect(copies(WHOLE_MESSAGE[:5]), [message("msg_x", "Hi")])
    assert judge(sent) == []
    assert len(sent) == len(WHOLE_MESSAGE) + 1


async def test_the_end_of_a_text_that_was_not_streamed_is_streamed_before_it_is_summed_up() -> None:
    events = [
        *copies(WHOLE_MESSAGE[:3]),
        *text_ends(0, "aa", 0, "Hi there."),
        done(0, message("aa", "Hi there.")),
        added(1, call("bb", "call_1", "")),
        arguments_end(1, "bb", "{}"),
        done(1, call("bb", "call_1")),
    ]
    sent = await collect(events, [message("msg_x", "Hi there."), call("fc_x", "call_x")])
    assert judge(sent) == []
    assert [event["delta"] for event in sent if "delta" in event] == ["Hi", " there.", "{}"]


async def test_the_sign_for_a_cut_character_is_no_text_to_stream() -> None:
    events = [
        *copies(WHOLE_MESSAGE[:3]),
        *text_ends(0, "aa", 0, "Hi\ufffd"),
        done(0, message("aa", "Hi\ufffd")),
    ]
    sent = await collect(events, [message("msg_x", "Hi\ufffd")])
    assert [event["delta"] for event in sent if "delta" in event] == ["Hi"]


async def test_a_call_left_open_at_the_end_keeps_what_it_said() -> None:
    events = [added(0, call("aa", "call_1", "")), arguments(0, "aa", '{"a')]
    sent = await collect(events, [])
    assert judge(sent) == []
    (item,) = sent[-1]["response"]["output"]
    assert (item["arguments"], item["call_id"]) == ('{"a', "call_1")


async def test_a_call_that_nobody_names_comes_last_as_far_as_it_is_known() -> None:
    events = [arguments_end(0, "bb", "{}"), *copies(WHOLE_MESSAGE)]
    sent = await collect(events, [message("msg_x", "Hi")])
    assert judge(sent) == []
    output = sent[-1]["response"]["output"]
    assert [(item["type"], item.get("name")) for item in output] == [
        ("message", None),
        ("function_call", "f"),
    ]
    assert output[1]["arguments"] == "{}"
