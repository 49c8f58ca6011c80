"""The streams that are replayed: one without a fault, then one for each fault.

Servers of the Responses API were seen with each of these faults.
"""

from __future__ import annotations

from typing import Any

from clients.replay.streams import (
    ANSWER,
    ARGUMENTS,
    SCRIPT,
    THOUGHT,
    Call,
    Stream,
    added,
    arguments,
    arguments_done,
    call,
    done,
    message,
    reasoning,
    response,
    texts,
    whole_call,
    whole_message,
)

TEXT = "".join(ANSWER)
IN_MESSAGE: dict[str, Any] = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
SUMMARY: dict[str, Any] = {"type": "summary_text", "text": "".join(THOUGHT)}
REASONED: dict[str, Any] = {"type": "reasoning_text", "text": "".join(THOUGHT)}
CUSTOM: dict[str, Any] = {
    "type": "custom_tool_call",
    "id": "ctc_1",
    "call_id": "call_1",
    "name": "run_script",
    "input": "",
    "status": "in_progress",
}

SOUND = Stream(
    "sound",
    "no fault",
    response(
        *whole_message(),
        *whole_call(index=1),
        output=[message(TEXT), call(1, ARGUMENTS)],
    ),
    calls=(Call("call_1"),),
    text=TEXT,
)

OPEN_CALLS = (
    Stream(
        "call-open",
        "a call is never closed, and missing in the final output",
        response(added(call()), *arguments()),
        calls=(Call("call_1"),),
    ),
    Stream(
        "call-half-closed",
        "a call has `function_call_arguments.done`, but is never closed",
        response(added(call()), *arguments(), arguments_done()),
        calls=(Call("call_1"),),
    ),
    Stream(
        "call-open-incomplete",
        "a call is open when the response ends as incomplete",
        response(added(call()), *arguments(), end="incomplete"),
        calls=(Call("call_1"),),
        optional=True,
    ),
    Stream(
        "call-truncated",
        "a call has half of its arguments when the response ends as incomplete",
        response(added(call()), arguments()[0], end="incomplete"),
    ),
    Stream(
        "two-calls-open",
        "two calls are open at once, never closed, and missing in the final output",
        response(
            added(call()),
            added(call(2), 1),
            *(event for pair in zip(arguments(), arguments(2, 1), strict=True) for event in pair),
        ),
        calls=(Call("call_1"), Call("call_2")),
    ),
    Stream(
        "custom-call-open",
        "a call of a custom tool is never closed, and missing in the final output",
        response(
            added(CUSTOM),
            *(
                {
                    "type": "response.custom_tool_call_input.delta",
                    "item_id": "ctc_1",
                    "output_index": 0,
                    "delta": piece,
                }
                for piece in SCRIPT
            ),
        ),
        calls=(Call("call_1", "run_script", "".join(SCRIPT)),),
    ),
    Stream(
        "call-failed",
        "the response fails while a call is open",
        response(
            added(call()),
            *arguments(),
            {"type": "error", "code": "server_error", "message": "Out of memory.", "param": None},
            end="failed",
        ),
        fails=True,
    ),
    Stream(
        "call-cut-off",
        "the stream ends while a call is open, without a last event",
        response(added(call()), *arguments())[:-1],
        fails=True,
    ),
)

CALLS = (
    Stream(
        "call-id-late",
        "a call is announced with an empty `call_id`, and has one only when it is closed",
        response(
            added(call(call_id="")),
            *arguments(),
            arguments_done(),
            done(call(1, ARGUMENTS)),
            output=[call(1, ARGUMENTS)],
        ),
        calls=(Call("call_1"),),
    ),
    Stream(
        "call-named-late",
        "a call is announced without `call_id` and `name`, and has them only when it is closed",
        response(
            added({k: v for k, v in call().items() if k not in {"call_id", "name"}}),
            *arguments(),
            arguments_done(),
            done(call(1, ARGUMENTS)),
            output=[call(1, ARGUMENTS)],
        ),
        calls=(Call("call_1"),),
    ),
    Stream(
        "call-unannounced",
        "a call is never announced",
        response(
            *whole_message(),
            *whole_call(index=1)[1:],
            output=[message(TEXT), call(1, ARGUMENTS)],
        ),
        calls=(Call("call_1"),),
        text=TEXT,
    ),
    Stream(
        "call-announced-late",
        "a call's arguments come before its announcement",
        response(
            *arguments(),
            added(call()),
            arguments_done(),
            done(call(1, ARGUMENTS)),
            output=[call(1, ARGUMENTS)],
        ),
        calls=(Call("call_1"),),
    ),
    Stream(
        "call-twice",
        "one call is streamed twice, under one `call_id` and two item ids",
        response(
            *whole_call(),
            *whole_call(2, 1, call_id="call_1"),
            output=[call(2, ARGUMENTS, call_id="call_1")],
        ),
        calls=(Call("call_1"),),
    ),
)

TEXTS = (
    Stream(
        "text-alone",
        "events of a text without a message, and an empty final output",
        response(*texts("output_text", ANSWER, **IN_MESSAGE)),
        text=TEXT,
    ),
    Stream(
        "part-unopened",
        "`content_part.added` of a message is missing",
        response(*whole_message(parts=False), output=[message(TEXT)]),
        text=TEXT,
    ),
    Stream(
        "bare-deltas",
        "deltas name no item, while reasoning and a message are open",
        response(
            added(reasoning()),
            added(message(), 1),
            {"type": "response.reasoning_text.delta", "delta": "".join(THOUGHT)},
            *({"type": "response.output_text.delta", "delta": piece} for piece in ANSWER),
            done(reasoning(content=[REASONED])),
            done(message(TEXT), 1),
            output=[reasoning(content=[REASONED]), message(TEXT)],
        ),
        text=TEXT,
    ),
    Stream(
        "reasoning-parts",
        "each delta of reasoning has a `content_index` of its own, and no part is opened",
        response(
            added(reasoning()),
            *(
                {
                    "type": "response.reasoning_text.delta",
                    "item_id": "rs_1",
                    "output_index": 0,
                    "content_index": index,
                    "delta": piece,
                }
                for index, piece in enumerate(THOUGHT)
            ),
            done(reasoning(content=[REASONED])),
            *whole_message(1),
            output=[reasoning(content=[REASONED]), message(TEXT)],
        ),
        text=TEXT,
    ),
    Stream(
        "summary-unopened",
        "`reasoning_summary_part.added` is missing",
        response(
            added(reasoning()),
            *texts(
                "reasoning_summary_text", THOUGHT, item_id="rs_1", output_index=0, summary_index=0
            ),
            done(reasoning(summary=[SUMMARY])),
            *whole_message(1),
            output=[reasoning(summary=[SUMMARY]), message(TEXT)],
        ),
        text=TEXT,
    ),
    Stream(
        "reasoning-as-message",
        "reasoning comes under the index of a closed call and the id of a later message",
        response(
            *whole_call(),
            *texts(
                "reasoning_summary_text", THOUGHT, item_id="msg_1", output_index=0, summary_index=0
            )[:-1],
            *whole_message(1),
            output=[call(1, ARGUMENTS), message(TEXT)],
        ),
        calls=(Call("call_1"),),
        text=TEXT,
    ),
)

STREAMS = (SOUND, *OPEN_CALLS, *CALLS, *TEXTS)
