"""Gives the output of a built-in tool the `call_id` of its call.

With `VLLM_USE_EXPERIMENTAL_PARSER_CONTEXT=1` vLLM runs the built-in tools of text models itself.
It keeps the call and a `function_call_output` in the response's messages, from which the prompt of
the next turn is made. vLLM before 0.32 gives the output a random `call_id`, so that chat templates
find no call for it.
"""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from vllm_stable_ids.log import fail_open
from vllm_stable_ids.patches.patch import HookSpec, Patch
from vllm_stable_ids.vllm_names import CONTEXT_CLASS

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from vllm_stable_ids.patches.call import Call
    from vllm_stable_ids.settings import Settings

METHOD = "append_tool_output"

CALLS = ("call_python_tool", "call_search_tool", "call_container_tool")
ARGUMENTS = '{"code": "", "query": "", "cmd": []}'
PROBED = "call_probe"


def needed(module: Any) -> bool:
    """Whether vLLM gives the output of a call another `call_id`.

    Its methods are tried on a call and a tool made up here. A vLLM in which they differ from
    those tested is left alone.

    Args:
        module: A module of vLLM's that has the class.
    """
    try:
        owner = getattr(module, CONTEXT_CLASS)
        if "output" not in inspect.signature(vars(owner)[METHOD]).parameters:
            return False
        answers = [_answer(owner, name) for name in CALLS]
    except Exception:  # noqa: BLE001 - whatever it is, this is no vLLM we know
        return False
    return any(answer.call_id != PROBED for answer in answers)


def _append(call: Call) -> Any:
    """Called in place of `append_tool_output(output)`."""
    try:
        _join(call.instance, call.arguments["output"])
    except Exception as error:  # noqa: BLE001 - the answer matters more than its id
        fail_open("stable_ids: a tool's answer has vLLM's own call_id", error)
    return call.proceed()


def _join(context: Any, output: Any) -> None:
    """Give each output in `output` the `call_id` of the call before it, the last message."""
    # vLLM before 0.25 has its messages in the parser.
    keeper = context if hasattr(context, "response_messages") else context.parser
    call = keeper.response_messages[-1]
    if call.type != "function_call":
        return
    for item in output:
        if getattr(item, "type", None) == "function_call_output":
            item.call_id = call.call_id


def _answer(owner: Any, name: str) -> Any:
    """The `function_call_output` that one of vLLM's methods makes for a call."""

    async def call_tool(_name: str, _arguments: Any) -> Any:
        return SimpleNamespace(content=[SimpleNamespace(text="")])

    context = object.__new__(owner)
    context.called_tools = set()
    call = SimpleNamespace(call_id=PROBED, name="", arguments=ARGUMENTS)
    made = getattr(context, name)(SimpleNamespace(call_tool=call_tool), call)
    (answer,) = _run(made)
    return answer


def _run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that waits for nothing; no event loop is needed."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    finally:
        coroutine.close()
    raise RuntimeError


def _not_needed(serving: Any, _settings: Settings) -> str | None:
    return None if needed(serving) else "this vLLM answers a call under the call's own id"


PATCH = Patch(
    name="tool_output",
    what="Gives the output of a built-in tool the `call_id` of the call it answers.",
    why=(
        "With `VLLM_USE_EXPERIMENTAL_PARSER_CONTEXT=1` the output has a random `call_id`, in the "
        "prompt of the next turn, too."
    ),
    upstream=("#55592",),
    needed_since="0.15",
    needed_until="0.31",
    delete_when="support of vLLM 0.31 ends",
    not_needed=_not_needed,
    hooks=(
        HookSpec(
            owner=CONTEXT_CLASS,
            name=METHOD,
            kind=inspect.isfunction,
            parameters=("output",),
            make_wrapper=lambda _setup, _original: _append,
        ),
    ),
)
