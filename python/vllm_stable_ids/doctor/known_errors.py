"""Errors that clients and servers show where identities differ: the cause, and what helps.

`vllm-stable-ids doctor --explain` searches here, and `docs/troubleshooting.md` is made of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from vllm_stable_ids.versions import NEWEST_TESTED_VLLM as NEWEST

PLUGIN = "Run `pip install vllm-stable-ids` beside vLLM, and restart it"
PROXY = "where that is not possible, put [`vllm-stable-ids proxy`](proxy.md) in front of the server"


@dataclass(frozen=True, slots=True)
class KnownError:
    """An error as people see it.

    Attributes:
        name: What to call it, as a heading.
        texts: What it says; `…` stands for what differs each time.
        seen_in: Who says so, with the version in which the texts were found.
        cause: Why.
        remedy: What helps.
    """

    name: str
    texts: tuple[str, ...]
    seen_in: str
    cause: str
    remedy: str


KNOWN_ERRORS = (
    KnownError(
        name="The client says that an item changed its identity",
        texts=(
            "responses_output_identity_conflict",
            "Responses stream changed output item identity",
            "Responses stream repeated a terminal tool-call identity",
        ),
        seen_in="OpenClaw 2026.9.6",
        cause=(
            "For each `output_index` OpenClaw compares the type, and the `call_id` where there is "
            "one, of `response.output_item.added`, of `.done` and of the final response. vLLM up "
            "to 0.31 makes the final response anew, with other call_ids, and on the simple path at "
            "times with another item at that place; later versions still do so for some items of "
            "gpt-oss. The tool is not run."
        ),
        remedy=f"{PLUGIN}; {PROXY}.",
    ),
    KnownError(
        name="The server does not know the call that is answered",
        texts=("No call message found for …",),
        seen_in=(
            f"vLLM 0.20 to {NEWEST} with gpt-oss, as HTTP status 400; shown by every client that "
            "sends `previous_response_id` with a `function_call_output`"
        ),
        cause=(
            "The client answers the `call_id` that was streamed, and the stored response has "
            "another one. It also comes where the call belongs to an earlier response than the "
            "one named by `previous_response_id`."
        ),
        remedy=(
            f"{PLUGIN}. The proxy cannot mend this: what the server stores is out of its reach. "
            "Without the plugin, answer with the `call_id` of the final response, or send the "
            "whole conversation as `input`."
        ),
    ),
    KnownError(
        name="The server does not know an item that is referred to",
        texts=(
            "Unknown input type: item_reference",
            "input[…] refers to item '…', which is in no response stored on this server.",
        ),
        seen_in=(
            f"vLLM 0.20 to {NEWEST} with gpt-oss, as HTTP status 400, where other models have "
            "status 500 and `'role'`; shown by the AI SDK in its default mode. The second text is "
            "this plugin's"
        ),
        cause=(
            "The client sends `item_reference` in the place of an item that the server is to have "
            "stored. vLLM does not know that type. With this plugin the item is looked up in "
            "vLLM's store, and is not there: the store is off, the response was created with "
            "`store` set to false, has not ended, or was made before a restart or by another of "
            "several API servers."
        ),
        remedy=(
            f"{PLUGIN}, with VLLM_ENABLE_RESPONSES_API_STORE=1; or let the client send whole items "
            "(AI SDK: `providerOptions: {openai: {store: false}}`)."
        ),
    ),
    KnownError(
        name="The client stops at an event that it does not know",
        texts=("Unhandled response stream event: …",),
        seen_in="openai-node 7.59, `responses.stream()`",
        cause=(
            "vLLM up to 0.31 sends `response.reasoning_part.added` and `.done`, which the API does "
            "not have, for every item of reasoning."
        ),
        remedy=(
            f"{PLUGIN}; {PROXY}. Both send `response.content_part.*` in their place, unless "
            "`VLLM_STABLE_IDS_VOCABULARY` is off or the proxy has `--keep-vocabulary`. vLLM 0.32 "
            "and newer do so themselves. `responses.create({stream: true})` does not stop at them."
        ),
    ),
    KnownError(
        name="An event names another item than was announced",
        texts=(
            "expected output item id …, got …",
            "expected output item call_id …, got …",
            "expected item_id …, got …",
            "Completed output item identity changed.",
            "Completed response output identity changed.",
            "Response snapshot has conflicting output identities.",
        ),
        seen_in="openai-node 7.59 and openai-python 3.57, `responses.stream()`",
        cause=(
            "An `item_id`, or the `id` or `call_id` of `response.output_item.done`, is not the one "
            "of `response.output_item.added`. vLLM up to 0.23 does so where one step of a busy "
            "server brings the end of one item and the start of the next."
        ),
        remedy=f"{PLUGIN}; {PROXY}. vLLM 0.25 and newer place their events right.",
    ),
    KnownError(
        name="A part of a message or of reasoning is not found",
        texts=("text part … not found", "reasoning part … not found"),
        seen_in="AI SDK 6.0 (`ai` 6.0.326 with `@ai-sdk/openai` 3.0.141)",
        cause=(
            "The AI SDK begins a part under the `id` of `response.output_item.added`, and a delta "
            "or `response.output_item.done` comes under another one."
        ),
        remedy=f"{PLUGIN}; {PROXY}.",
    ),
    KnownError(
        name="Two items at one index",
        texts=("Duplicate response output index …",),
        seen_in="openai-node 7.59 and openai-python 3.57, `responses.stream()`",
        cause=(
            "Two items were announced under one `output_index`. With gpt-oss and a browser tool "
            f"server, vLLM 0.25 to {NEWEST} announces every browser call twice, as an `mcp_call` "
            "and as a `web_search_call`."
        ),
        remedy=f"{PLUGIN}; {PROXY}.",
    ),
    KnownError(
        name="Content before its item",
        texts=(
            "Received a content event for output index … before receiving its output item",
            "missing output at index …",
            "missing content at index …",
        ),
        seen_in="openai-python 3.57 and openai-node 7.59, `responses.stream()`",
        cause=(
            "An event is of an item, or of a part of it, that was never announced. vLLM before "
            "0.25 leaves announcements out where one step of a busy server brings several tokens."
        ),
        remedy=f"{PLUGIN}; {PROXY}. Both announce the item first.",
    ),
    KnownError(
        name="The stream ends without its final response",
        texts=(
            "Didn't receive a `response.completed` event.",
            "OpenAI Responses stream ended before a terminal response event",
        ),
        seen_in="openai-python 3.57 and OpenClaw 2026.9.6",
        cause=(
            f"The connection ended before `response.completed`. vLLM 0.15 to {NEWEST} drops it "
            "where a generation fails midway; otherwise the server died or something between cut "
            "it off. openai-python says so of `response.incomplete` and `response.failed`, too."
        ),
        remedy=(
            f"{PLUGIN}: a generation that fails then ends with `error` and `response.failed`, "
            "which say why. Look into the server's log, and at time limits of proxies between."
        ),
    ),
    KnownError(
        name="The response changes its id",
        texts=("Lifecycle response identity changed.",),
        seen_in="openai-node 7.59 and openai-python 3.57, `responses.stream()`",
        cause=(
            "`response.id` is not the same in all events. vLLM keeps it; a gateway between the "
            "client and vLLM that makes ids of its own may not."
        ),
        remedy=(
            "Nothing here replaces a `response.id`, since the server must know it. Ask vLLM "
            "without the gateway: `vllm-stable-ids check` says whether it is there, too."
        ),
    ),
    KnownError(
        name="The stream begins in the middle",
        texts=(
            "Expected to have received `response.created` before …",
            "When snapshot hasn't been set yet, expected 'response.created' event, got …",
        ),
        seen_in="openai-python 3.57 and openai-node 7.59, `responses.stream()`",
        cause=(
            "The first event is not `response.created`: the stream was joined with "
            "`starting_after`, or something between swallowed the first event."
        ),
        remedy=(
            "Identities are not concerned. Join a stream from its start, or read the events one "
            "by one instead of with `responses.stream()`."
        ),
    ),
    KnownError(
        name="The server does not know the response",
        texts=(
            "Response with id '…' not found.",
            "This vLLM engine does not support `store=True` and therefore does not support the "
            "background mode.",
        ),
        seen_in=f"vLLM 0.20 to {NEWEST}, as HTTP status 404 and 400",
        cause=(
            "vLLM stores responses only with `VLLM_ENABLE_RESPONSES_API_STORE=1`, in the memory of "
            "one API server, until it ends. `store: true` is ignored without it."
        ),
        remedy=(
            "Start vLLM with `VLLM_ENABLE_RESPONSES_API_STORE=1` and one API server, or send the "
            "whole conversation as `input` instead of `previous_response_id`."
        ),
    ),
    KnownError(
        name="vLLM warns of the variables of this plugin",
        texts=("Unknown vLLM environment variable detected: VLLM_STABLE_IDS",),
        seen_in=f"vLLM 0.20 to {NEWEST}, in the log at its start",
        cause="vLLM does not know variables of plugins, and warns of all that begin with `VLLM_`.",
        remedy=(
            "It does no harm, except under `--fail-on-environ-validation`. Leave the variable "
            "away where it says what is the default anyway."
        ),
    ),
    KnownError(
        name="The plugin does not act",
        texts=(
            "stable_ids: vLLM … is not patched",
            "stable_ids: not patched, vLLM's own ids are in force",
            "stable_ids: vLLM … serves HTTP by its Rust frontend, which no plugin reaches",
        ),
        seen_in="this plugin, in vLLM's log",
        cause="This vLLM is not as the plugin knows it, or does not serve HTTP with Python.",
        remedy=(
            "Look for a newer vllm-stable-ids. Until then the wire rewriter is in force where the "
            f"line says so; {PROXY}."
        ),
    ),
)
