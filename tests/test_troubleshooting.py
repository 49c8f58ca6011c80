"""The known errors: found however they were copied, and the page that is made of them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bed import troubleshooting_page
from vllm_stable_ids.cli import app
from vllm_stable_ids.doctor.explain import UNKNOWN, explain
from vllm_stable_ids.doctor.known_errors import KNOWN_ERRORS, KnownError

SAMPLES = ("call_951f53b107639ed7", "15", '{"type":"response.reasoning_part.added"}', "msg_8a9c")
COPIED = [
    (
        "openai.BadRequestError: Error code: 400 - {'error': {'message': 'No call message found "
        "for call_898a083839b24e3d', 'type': 'BadRequestError', 'param': None, 'code': 400}}",
        "The server does not know the call that is answered",
    ),
    (
        "message found for call_898a083839b24e3d, call_1b2c",
        "The server does not know the call that is answered",
    ),
    (
        '{"error":{"code":"RESPONSES_OUTPUT_IDENTITY_CONFLICT"},"retrySafe":false}',
        "The client says that an item changed its identity",
    ),
    (
        "AI_APICallError: reasoning part rs_0a1b2c3d:0 not found",
        "A part of a message or of reasoning is not found",
    ),
    (
        "AI_APICallError: Unknown input type: item_reference",
        "The server does not know an item that is referred to",
    ),
    (
        "input[3] refers to item 'rs_0a1b', which is in no response stored on this server. A",
        "The server does not know an item that is referred to",
    ),
    (
        "OpenAIError: Unhandled response stream event: unknown\n    at assertNever (x.mjs:401:11)",
        "The client stops at an event that it does not know",
    ),
    (
        "RuntimeError: didn\N{RIGHT SINGLE QUOTATION MARK}t receive a response.completed event",
        "The stream ends without its final response",
    ),
    (
        "WARNING 11-30 02:00:00 [envs.py:2248] Unknown vLLM environment variable detected: "
        "VLLM_STABLE_IDS_VOCABULARY",
        "vLLM warns of the variables of this plugin",
    ),
    (
        "stable_ids: vLLM 0.34.0 is not patched, it has no OpenAIServingResponses.x; vLLM's own "
        "ids are in force; look for a newer vllm-stable-ids",
        "The plugin does not act",
    ),
]


@pytest.mark.parametrize("error", KNOWN_ERRORS, ids=lambda error: error.name)
@pytest.mark.parametrize("sample", SAMPLES)
def test_every_text_is_found_whatever_stands_in_it(error: KnownError, sample: str) -> None:
    for text in error.texts:
        for said in (text, text.upper(), f"Error: {text} (request 7f3a)"):
            assert explain(said.replace("…", sample)) == [error], said


@pytest.mark.parametrize(("text", "name"), COPIED)
def test_an_error_is_found_as_it_was_copied(text: str, name: str) -> None:
    assert [error.name for error in explain(text)] == [name]


@pytest.mark.parametrize(
    "text", ["", "…", "404 Not Found", "CUDA out of memory", "it is not what I want", "\x00" * 99]
)
def test_another_text_is_not_known_and_what_to_do_is_said(text: str) -> None:
    assert explain(text) == []
    done = CliRunner().invoke(app, ["doctor", "--explain", text])
    assert (done.exit_code, done.stdout) == (2, f"{UNKNOWN}\n")
    assert "vllm-stable-ids check" in UNKNOWN


def test_the_command_tells_cause_and_remedy() -> None:
    asked = ["doctor", "--explain", "No call message found for call_1"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0
    assert "the stored response has another one" in done.stdout
    assert "`" not in done.stdout
    assert "](" not in done.stdout
    read = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)
    assert [error["name"] for error in read["errors"]] == [
        "The server does not know the call that is answered"
    ]
    assert read["advice"] == read["errors"][0]["remedy"]


def test_the_page_is_the_one_that_is_made() -> None:
    assert troubleshooting_page.PAGE.read_text() == troubleshooting_page.render()


@pytest.mark.parametrize(
    "text",
    [
        "No call message found for ",
        "Response with id '",
        "This vLLM engine does not support `store=True` and ",
        "Unknown vLLM environment variable detected: ",
    ],
)
def test_the_texts_of_vllm_are_in_this_vllm(text: str) -> None:
    spec = importlib.util.find_spec("vllm")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    places = [folder / "envs.py", *(folder / "platforms").glob("*.py")]
    places += (folder / "entrypoints" / "openai" / "responses").glob("*.py")
    assert any(text in place.read_text() for place in places)
    assert any(known.startswith(text) for error in KNOWN_ERRORS for known in error.texts)
