"""The register: what is installed, what is left out and why, on the vLLM that is there."""

from __future__ import annotations

import ast
import importlib
import inspect
import logging
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bed import patches_page
from bed.documents import ROOT
from vllm_stable_ids import patches
from vllm_stable_ids.events import EventClasses
from vllm_stable_ids.patches import replay, vocabulary
from vllm_stable_ids.patches.call import Call
from vllm_stable_ids.patches.hook import Hook
from vllm_stable_ids.patches.installer import Installer
from vllm_stable_ids.patches.patch import HookSpec, IncompatibleError, Setup
from vllm_stable_ids.settings import Settings
from vllm_stable_ids.versions import NEWEST_TESTED_VLLM
from vllm_stable_ids.vllm_names import SERVING_CLASS, SERVING_MODULE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator
    from types import ModuleType


SETUP = Setup(Settings(), EventClasses(), is_in_force=lambda _: False, uninstall=pytest.fail)


@pytest.fixture
def serving() -> ModuleType:
    """vLLM's serving module."""
    return importlib.import_module(SERVING_MODULE)


@pytest.fixture
def installer() -> Iterator[Installer]:
    """An installer of the patches that are there; they are uninstalled afterwards."""
    installer = Installer(patches.PATCHES)
    yield installer
    installer.uninstall("the test has ended")


def test_the_page_of_the_documentation_is_the_register() -> None:
    assert patches_page.PAGE.read_text() == patches_page.render()


def test_only_one_file_names_modules_of_vllm_and_openai() -> None:
    naming = re.compile(r"(vllm|openai)(\.\w+)+")
    found = {
        (path.name, node.value)
        for path in (ROOT / "python").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and naming.fullmatch(str(node.value))
    }
    elsewhere = {value for name, value in found if name != "vllm_names.py"}
    assert elsewhere == {"vllm.plugins.stable_ids"}, "the logger, and no module"


def test_the_newest_tested_vllm_is_the_newest_of_the_matrix() -> None:
    (versions,) = re.findall(r"^MATRIX \?= (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert versions.split()[-1].rpartition(".")[0] == NEWEST_TESTED_VLLM


def test_the_start_up_line_lists_the_installed_patches(
    serving: ModuleType, installer: Installer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "vllm.plugins.stable_ids"):
        installer.install(serving)
    (line,) = caplog.messages
    installed, *left_out = line.split("patched: ")[1].split("; ")
    named = {name.split(" left out: ")[0] for name in left_out}
    assert named == installer.left_out.keys()
    assert named.isdisjoint(installed.split(", "))
    assert named | set(installed.split(", ")) == {patch.name for patch in patches.PATCHES}
    assert installer.active


@pytest.mark.parametrize("name", ["vocabulary", "item_reference"])
def test_what_a_switch_turns_off_is_left_out(
    serving: ModuleType, installer: Installer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    variable = f"VLLM_STABLE_IDS_{name.upper()}"
    monkeypatch.setenv(variable, "0")
    assert installer.would_leave_out(serving)[name] == f"{variable} is off"
    installer.install(serving)
    assert installer.left_out[name] == f"{variable} is off"
    assert not installer.is_in_force(name)
    assert installer.is_in_force("stream")


class Other:
    """A class of a vLLM that does not exist."""

    async def generator(self, context: Any) -> AsyncGenerator[Any]:
        """As expected."""
        yield context

    async def coroutine(self, context: Any) -> Any:
        """Another kind."""
        return context


(REPLAY,) = replay.PATCH.hooks
UNEXPECTED = f"has an unexpected signature (tested up to vLLM {NEWEST_TESTED_VLLM})"


@pytest.mark.parametrize(
    ("name", "parameters", "told"),
    [
        ("gone", (), "it has no Other.gone"),
        ("coroutine", (), f"its Other.coroutine {UNEXPECTED}"),
        ("generator", ("request",), "its Other.generator has no parameter 'request'"),
    ],
)
def test_an_incompatible_method_is_named(name: str, parameters: tuple[str, ...], told: str) -> None:
    spec = replace(REPLAY, owner="Other", name=name, parameters=parameters)
    with pytest.raises(IncompatibleError, match=f"^{re.escape(told)}$"):
        Hook(SimpleNamespace(Other=Other, __name__="other"), spec, SETUP)


def test_a_class_that_is_gone_is_named() -> None:
    spec = replace(REPLAY, owner="Gone")
    with pytest.raises(IncompatibleError, match=r"^its module other has no class Gone$"):
        Hook(SimpleNamespace(__name__="other"), spec, SETUP)


def test_a_method_is_found_under_its_old_name(monkeypatch: pytest.MonkeyPatch) -> None:
    own = vars(Other)["generator"]
    monkeypatch.setattr(Other, "generator", own)
    spec = replace(REPLAY, owner="Other", name="new", old_name="generator")
    hook = Hook(SimpleNamespace(Other=Other, __name__="other"), spec, SETUP)
    hook.install()
    assert vars(Other)["generator"].__wrapped__ is own
    assert not hasattr(Other, "new")
    hook.uninstall()
    assert vars(Other)["generator"] is own


def test_an_optional_method_that_does_not_fit_is_left_out_alone(
    serving: ModuleType, installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving.OpenAIServingResponses, REPLAY.name, lambda _self: None)
    installer.install(serving)
    assert installer.active
    assert installer.left_out["replay"] == f"its {REPLAY.path} {UNEXPECTED}"


def test_a_required_method_that_does_not_fit_is_the_reason_why_nothing_is_patched(
    serving: ModuleType, installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "responses_full_generator"
    monkeypatch.setattr(serving.OpenAIServingResponses, name, lambda _self: None)
    before = dict(vars(serving.OpenAIServingResponses))
    installer.install(serving)
    assert dict(vars(serving.OpenAIServingResponses)) == before
    assert not installer.active
    assert installer.reason == f"its {SERVING_CLASS}.{name} {UNEXPECTED}"
    assert installer.would_leave_out(serving)["terminal"] == installer.reason


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

    wrapper = REPLAY.make_wrapper(SETUP, None)
    sent = [event.type async for event in wrapper(Call(None, {}, upstream))]
    assert sent == ["response.created", end]
    assert closed == [True]


def test_uninstalling_restores_vllm_and_warns_once(
    serving: ModuleType, installer: Installer, caplog: pytest.LogCaptureFixture
) -> None:
    def methods() -> dict[str, int]:
        return {name: id(value) for name, value in vars(serving.OpenAIServingResponses).items()}

    own = methods()
    installer.install(serving)
    assert methods() != own
    for _ in range(2):
        installer.uninstall("its streams are made of dict, not of events")
    assert methods() == own
    assert not installer.active
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
    assert vocabulary.has_openai_names(Settings(vocabulary=switch)) == openais


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
    spec = HookSpec(
        module="module",
        owner=None,
        name="method",
        kind=callable,
        make_wrapper=lambda _setup, _original: asked.append,
    )
    Hook(module, spec, SETUP).install()
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
