"""The register: what is put in, what is left out and why, on the vLLM that is installed."""

from __future__ import annotations

import importlib
import inspect
import logging
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bed import patches_page
from vllm_stable_ids import patches
from vllm_stable_ids.patches import replay, vocabulary
from vllm_stable_ids.patches.seam import Call, Method, MisfitError, Seam
from vllm_stable_ids.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator
    from types import ModuleType


@pytest.fixture
def serving() -> Iterator[ModuleType]:
    """vLLM's serving module, unpatched afterwards."""
    yield importlib.import_module("vllm.entrypoints.openai.responses.serving")
    patches._take_back()
    patches.outcome = patches.Outcome()


def test_the_page_of_the_documentation_is_the_register() -> None:
    assert patches_page.PAGE.read_text() == patches_page.render()


def test_the_start_up_line_lists_what_was_put_in(
    serving: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "vllm.plugins.stable_ids"):
        patches.apply(serving)
    (line,) = caplog.messages
    put, *left_out = line.split("patched: ")[1].split("; ")
    named = {name.split(" left out: ")[0] for name in left_out}
    assert named.isdisjoint(put.split(", "))
    assert named | set(put.split(", ")) == {patch.name for patch in patches.PATCHES}
    assert patches.active()


@pytest.mark.parametrize("name", ["vocabulary", "item_reference"])
def test_what_a_switch_turns_off_is_left_out(
    serving: ModuleType, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    variable = f"VLLM_STABLE_IDS_{name.upper()}"
    monkeypatch.setenv(variable, "0")
    patches.apply(serving)
    assert (name, f"{variable} is off") in patches.outcome.left_out


class Other:
    """A class of a vLLM that does not exist."""

    async def generator(self, context: Any) -> AsyncGenerator[Any]:
        """As expected."""
        yield context

    async def coroutine(self, context: Any) -> Any:
        """Another kind."""
        return context


METHOD = replay.METHOD


@pytest.mark.parametrize(
    ("name", "parameters", "told"),
    [
        ("gone", (), "it has no Other.gone"),
        ("coroutine", (), "its Other.coroutine is of another kind than up to vLLM 0.33"),
        ("generator", ("request",), "its Other.generator has no parameter 'request'"),
    ],
)
def test_a_misfit_says_in_what(name: str, parameters: tuple[str, ...], told: str) -> None:
    method = Method("Other", name, parameters, METHOD.fits, METHOD.wrapper)
    with pytest.raises(MisfitError, match="^" + told.replace(".", r"\.")):
        Seam.find(SimpleNamespace(Other=Other, __name__="other"), method)


def test_a_class_that_is_gone_is_named() -> None:
    method = Method("Gone", "generator", (), METHOD.fits, METHOD.wrapper)
    with pytest.raises(MisfitError, match=r"^its module other has no class Gone$"):
        Seam.find(SimpleNamespace(__name__="other"), method)


def test_an_optional_method_that_does_not_fit_is_left_out_alone(
    serving: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving.OpenAIServingResponses, METHOD.name, lambda _self: None)
    patches.apply(serving)
    assert patches.active()
    left_out = dict(patches.outcome.left_out)
    assert left_out["replay"] == (
        "not as known, its OpenAIServingResponses.responses_background_stream_generator is of "
        "another kind than up to vLLM 0.33"
    )


class Ends:
    """A vLLM whose replay ends as it should."""

    async def responses_background_stream_generator(self) -> AsyncGenerator[Any]:
        """Ends at every terminal event."""
        event = SimpleNamespace(type="response.failed")
        yield event
        if event.type in ("response.completed", "response.failed", "response.incomplete"):
            return


def test_a_replay_that_ends_by_itself_is_left_alone(serving: ModuleType) -> None:
    reason = replay.not_needed(SimpleNamespace(OpenAIServingResponses=Ends), Settings())
    assert reason == "this vLLM ends a replay at every terminal event"
    assert replay.not_needed(serving, Settings()) is None


@pytest.mark.parametrize("end", ["response.completed", "response.incomplete", "response.failed"])
async def test_a_replay_ends_at_the_terminal_event_and_closes_vllms(end: str) -> None:
    closed = []

    async def upstream() -> AsyncGenerator[Any]:
        try:
            yield SimpleNamespace(type="response.created")
            yield SimpleNamespace(type=end)
            yield SimpleNamespace(type="never")
        finally:
            closed.append(True)

    sent = [event.type async for event in METHOD.wrapper(Call(None, {}, upstream))]
    assert sent == ["response.created", end]
    assert closed == [True]


def test_withdrawing_restores_vllm_and_warns_once(
    serving: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    def methods() -> dict[str, int]:
        return {name: id(value) for name, value in vars(serving.OpenAIServingResponses).items()}

    own = methods()
    patches.apply(serving)
    assert methods() != own
    for _ in range(2):
        patches.withdraw("its streams are made of dict, not of events")
    assert methods() == own
    assert not patches.active()
    (line,) = [record.getMessage() for record in caplog.records if record.levelno > logging.INFO]
    assert "its streams are made of dict" in line
    assert "look for a newer vllm-stable-ids" in line


@pytest.mark.parametrize(
    ("own_names", "switch", "openais"),
    [(True, True, True), (True, False, False), (False, True, True), (False, False, True)],
)
def test_a_vllm_without_names_of_its_own_gets_openais(
    monkeypatch: pytest.MonkeyPatch, *, own_names: bool, switch: bool, openais: bool
) -> None:
    monkeypatch.setattr(vocabulary, "_has_own_names", lambda: own_names)
    assert vocabulary.is_openais(Settings(vocabulary=switch)) == openais


@pytest.mark.parametrize(
    "declared",
    [
        lambda a, b, c=3: (a, b, c),
        lambda a, *, b, c=3: (a, b, c),
        lambda a, *b, c=3: (a, b, c),
        lambda a, /, b, **c: (a, b, c),
    ],
    ids=["plain", "by name only", "any number", "by place only"],
)
@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((1, 2), {}),
        ((1, 2, 3), {}),
        ((1, 2, 3, 4), {}),
        ((1,), {"b": 2}),
        ((1,), {"b": 2, "c": 4}),
        ((1, 2), {"b": 2}),
        ((1, 2), {"d": 2}),
        ((), {"a": 1, "b": 2}),
        ((1,), {}),
    ],
)
def test_arguments_are_found_as_python_binds_them(
    declared: Any, args: tuple[int, ...], kwargs: dict[str, int]
) -> None:
    asked: list[Call] = []
    module = SimpleNamespace(method=declared, __name__="module")
    method = Method("module", "method", (), callable, asked.append)
    Seam(module, method).put()
    signature = inspect.signature(declared)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        with pytest.raises(TypeError):
            module.method(*args, **kwargs)
        assert asked == []
        return
    module.method(*args, **kwargs)
    (call,) = asked
    assert call.proceed() == declared(*args, **kwargs)
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if name not in bound.arguments:
            with pytest.raises(LookupError):
                call.arguments[name]
            continue
        assert call.arguments[name] == bound.arguments[name]
        if parameter.kind is not parameter.POSITIONAL_ONLY:
            bound.arguments[name] = 9
            assert call.proceed(**{name: 9}) == declared(*bound.args, **bound.kwargs)
            bound = signature.bind(*args, **kwargs)
