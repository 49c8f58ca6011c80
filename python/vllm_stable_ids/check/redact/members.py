"""Which members of which objects stay, and how the others are replaced.

An object's kind is given by its place: that of an event, of the item in an event, and so on. A key
or value that is not listed here for the kind is content.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

String = Literal["text", "name", "names", "id", "type", "event", "model"]
"""How a string is replaced: see `Pseudonyms` and `TextMask`."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What becomes of a member's value.

    Attributes:
        string: How a string is replaced.
        words: Strings that stay.
        number: Whether a number stays.
        numbers: Whether the numbers of a list stay.
        kind: The kind of an object, or of the objects in a list. Without one it is content: all
            keys and values in it are replaced.
    """

    string: String = "text"
    words: frozenset[str] = frozenset()
    number: bool = False
    numbers: bool = False
    kind: str | None = None


def _words(words: str, *, number: bool = False, kind: str | None = None) -> Rule:
    return Rule("name", frozenset(words.split()), number=number, kind=kind)


def _all(rule: Rule, names: str) -> dict[str, Rule]:
    return dict.fromkeys(names.split(), rule)


CONTENT = Rule()
ID = Rule("id")
NAME = Rule("names")
TYPE = Rule("type")
NUMBER = Rule(number=True)
COUNTS = Rule(numbers=True, number=True)

STATUS = _words(
    "calling cancelled completed failed generating in_progress incomplete interpreting queued "
    "searching"
)
ERROR_CODE = _words(
    "bad_request context_length_exceeded internal_error invalid_api_key invalid_prompt "
    "invalid_request_error model_not_found rate_limit_exceeded server_error unsupported_value "
    "vector_store_timeout",
    number=True,
)
ERROR_TYPE = _words(
    "BadRequestError GenerationError InternalServerError NotFoundError NotImplementedError "
    "api_error http_error invalid_request_error mcp_protocol_error mcp_tool_execution_error "
    "not_found_error server_error error"
)
EFFORT = _words("none minimal low medium high xhigh max auto concise detailed")

TYPES = _words(
    # Of events (what stands between the dots), items, parts, annotations, tools.
    "response created queued in_progress completed incomplete failed error "
    "output_item content_part reasoning_part reasoning_summary_part added done delta "
    "output_text refusal reasoning reasoning_text reasoning_summary reasoning_summary_text "
    "function_call_arguments custom_tool_call_input mcp_call_arguments "
    "code_interpreter_call_code shell_call_command shell_call_output_content "
    "searching interpreting generating compacting partial_image annotation audio transcript "
    "arguments input output code command content keepalive ping "
    "message function_call function_call_output custom_tool_call custom_tool_call_output "
    "web_search_call file_search_call code_interpreter_call image_generation_call "
    "computer_call computer_call_output local_shell_call local_shell_call_output shell_call "
    "shell_call_output apply_patch_call apply_patch_call_output mcp_call mcp_list_tools "
    "mcp_approval_request mcp_approval_response tool_search_call tool_search_output "
    "compaction item_reference "
    "input_text input_image input_file input_audio summary_text text image logs "
    "url_citation file_citation container_file_citation file_path "
    "function custom web_search web_search_preview file_search code_interpreter "
    "image_generation computer computer_use_preview mcp local_shell shell apply_patch "
    "tool_search namespace allowed_tools json_schema json_object"
).words
"""Types that stay."""

OWN_NAMES = frozenset({"browser", "python", "container", "functions", "code_interpreter"})
"""Names of vLLM's own tools: they show which kind of call it is."""

EVENT = "event"
ERROR_EVENT = "error"
RESPONSE = "response"

_IDENTITY = {
    "type": TYPE,
    "id": ID,
    "call_id": ID,
    "name": NAME,
    "namespace": NAME,
    "server_label": NAME,
}
_INDICES = _all(
    NUMBER,
    "sequence_number output_index content_index summary_index annotation_index command_index "
    "partial_image_index",
)
_USAGE = {
    **_all(
        NUMBER,
        "input_tokens output_tokens total_tokens prompt_tokens completion_tokens cached_tokens "
        "reasoning_tokens tool_output_tokens audio_tokens text_tokens image_tokens "
        "cache_write_tokens",
    ),
    **_all(
        COUNTS,
        "input_tokens_per_turn cached_tokens_per_turn output_tokens_per_turn "
        "tool_output_tokens_per_turn",
    ),
    **_all(
        Rule(kind="usage"),
        "input_tokens_details output_tokens_details prompt_tokens_details "
        "completion_tokens_details",
    ),
}


_EVENT = {
    **_all(
        CONTENT,
        "delta text refusal arguments input message param obfuscation logprobs "
        "partial_image_b64 code output action diff",
    ),
    **_INDICES,
    "type": Rule("event"),
    "item_id": ID,
    "call_id": ID,
    "response_id": ID,
    "name": NAME,
    "status": STATUS,
    "item": Rule(kind="item"),
    "part": Rule(kind="part"),
    "annotation": Rule(kind="annotation"),
    "response": Rule(kind=RESPONSE),
    "error": Rule(kind="error_object"),
}

KINDS: dict[str, dict[str, Rule]] = {
    EVENT: _EVENT,
    ERROR_EVENT: {**_EVENT, "code": ERROR_CODE, "status": NUMBER},
    "item": {
        **_all(
            CONTENT,
            "arguments input output code outputs action operation queries results result error "
            "encrypted_content fingerprint tools commands reason",
        ),
        **_INDICES,
        **_IDENTITY,
        "status": STATUS,
        "role": _words("assistant critic developer discriminator system tool unknown user"),
        "phase": _words("analysis commentary final final_answer"),
        "content": Rule(kind="part"),
        "summary": Rule(kind="part"),
        "container_id": ID,
        "approval_request_id": ID,
        "approve": CONTENT,
        "max_output_length": NUMBER,
    },
    "part": {
        **_all(
            CONTENT,
            "text refusal logprobs image_url file_url file_data filename input_audio detail",
        ),
        "type": TYPE,
        "file_id": ID,
        "annotations": Rule(kind="annotation"),
    },
    "annotation": {
        **_all(CONTENT, "url title filename"),
        **_all(NUMBER, "start_index end_index index"),
        "type": TYPE,
        "file_id": ID,
        "container_id": ID,
    },
    "error_object": {
        **_all(CONTENT, "message param content"),
        "type": ERROR_TYPE,
        "code": ERROR_CODE,
    },
    RESPONSE: {
        **_all(
            CONTENT,
            "metadata user safety_identifier prompt prompt_cache_key include "
            "input_messages output_messages kv_transfer_params ec_transfer_params output_text "
            "stream store background parallel_tool_calls stream_options",
        ),
        **_all(
            NUMBER,
            "created_at completed_at max_output_tokens max_tool_calls temperature top_p top_k "
            "top_logprobs presence_penalty frequency_penalty seed",
        ),
        "id": ID,
        "previous_response_id": ID,
        "conversation": Rule("id", kind="conversation"),
        "object": _words("response response.compaction"),
        "status": STATUS,
        "model": Rule("model"),
        "service_tier": _words("auto default flex priority scale"),
        "truncation": _words("auto disabled"),
        "prompt_cache_retention": _words("in_memory 24h"),
        "tool_choice": _words("none auto required", kind="tool"),
        "tools": Rule(kind="tool"),
        "output": Rule(kind="item"),
        "input": Rule(kind="item"),
        "instructions": Rule(kind="item"),
        "usage": Rule(kind="usage"),
        "error": Rule(kind="error_object"),
        "incomplete_details": Rule(kind="incomplete_details"),
        "reasoning": Rule(kind="reasoning"),
        "text": Rule(kind="text"),
    },
    "conversation": {"id": ID},
    "incomplete_details": {"reason": _words("content_filter max_messages max_output_tokens")},
    "reasoning": {"effort": EFFORT, "summary": EFFORT, "generate_summary": EFFORT},
    "text": {"verbosity": EFFORT, "format": Rule(kind="format")},
    "format": {
        **_all(CONTENT, "schema strict description"),
        "type": TYPE,
        "name": NAME,
    },
    "usage": _USAGE,
    # Of a tool, no more than its type and name concerns the checker.
    "tool": {name: _IDENTITY[name] for name in ("type", "name", "server_label")},
}
"""The members of each kind of object."""

CUT_SHORT = frozenset({"tool"})
"""Kinds whose other members are left out."""
