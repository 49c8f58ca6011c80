"""Where vLLM's function writes events in another way than those tested, they are left to it."""

from __future__ import annotations

import asyncio
import importlib
import inspect
from typing import TYPE_CHECKING, Any

import pytest

from bed.deltas import CLASSES, ROUTER, STOCK, event, frames, stream
from vllm_stable_ids import patches, plugin
from vllm_stable_ids.events import by_type
from vllm_stable_ids.patches import encode
from vllm_stable_ids.patches.installer import Installer
from vllm_stable_ids.patches.patch import IncompatibleError
from vllm_stable_ids.vllm_names import SERVING_MODULE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator
    from types import ModuleType

COMPLETED = by_type()["response.completed"]


def _writes(line: Callable[[Any], str]) -> Any:
    async def write(generator: Any) -> AsyncGenerator[str]:
        async for made in generator:
            yield line(made)

    return write


def _frame(made: Any, **how: Any) -> str:
    return f"event: {made.type}\ndata: {made.model_dump_json(by_alias=True, **how)}\n\n"


async def _ends_with_done(generator: Any) -> AsyncGenerator[str]:
    async for frame in STOCK(generator):
        yield frame
    yield "data: [DONE]\n\n"


async def _names_ends(generator: Any) -> AsyncGenerator[str]:
    async for made in generator:
        yield f"{'id: 1' if made.type == 'response.completed' else ''}{_frame(made)}"


async def _writes_ends_otherwise(generator: Any) -> AsyncGenerator[str]:
    async for made in generator:
        yield _frame(made, exclude_none=isinstance(made, COMPLETED))


async def _waits(generator: Any) -> AsyncGenerator[str]:
    async for frame in STOCK(generator):
        await asyncio.sleep(0)
        yield frame


async def _counts(generator: Any) -> AsyncGenerator[str]:
    number = 0
    async for frame in STOCK(generator):
        yield f"id: {number}\n{frame}"
        number += 1


def _wrapped(generator: Any) -> Any:
    return STOCK(generator)


_wrapped.__wrapped__ = STOCK  # type: ignore[attr-defined]

OTHERS: dict[str, tuple[Any, str]] = {
    "escaped": (_writes(lambda made: _frame(made, ensure_ascii=True)), "is written differently"),
    "no name": (_writes(lambda made: _frame(made)[7:]), "is written in another form"),
    "redacted": (
        _writes(lambda made: _frame(made.model_copy(update={"delta": "*"}))),
        "is written in another form",
    ),
    "redacted now and then": (
        _writes(lambda made: _frame(made).replace("é", "e")),
        "is written differently",
    ),
    "ended": (_ends_with_done, "as 33 frames"),
    "waiting": (_waits, "waits for more than events"),
    "counting": (_counts, "is written in another form"),
    "naming the end": (_names_ends, "does more than to write events"),
    "writing the end otherwise": (_writes_ends_otherwise, "does more than to write events"),
    "wrapped": (_wrapped, "is wrapped by another plugin"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_vllm_that_writes_otherwise_is_left_to_it(other: str) -> None:
    function, told = OTHERS[other]
    with pytest.raises(IncompatibleError, match=told.replace("33", str(len(CLASSES) * 4 + 1))):
        encode.FrameWriter(function)
    encode.FrameWriter(STOCK)


@pytest.fixture
def router(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """vLLM's router, the serving module patched, and nothing patched afterwards."""
    monkeypatch.setattr(ROUTER, encode.FUNCTION, STOCK)
    monkeypatch.setattr(patches, "INSTALLER", Installer(patches.PATCHES))
    patches.INSTALLER.install(importlib.import_module(SERVING_MODULE))
    yield ROUTER
    patches.INSTALLER.uninstall("the test has ended")
    assert vars(ROUTER)[encode.FUNCTION] is STOCK


async def test_it_is_installed_when_the_router_is_there_and_uninstalled_with_the_rest(
    router: ModuleType,
) -> None:
    for _ in range(2):
        plugin._install_late(router)
    assert inspect.unwrap(vars(router)[encode.FUNCTION]) is STOCK
    assert vars(router)[encode.FUNCTION].__wrapped__ is STOCK
    events = [event(CLASSES[0], f"{number}", number) for number in range(5)]
    written = router._convert_stream_to_sse_events(generator=stream(events))
    assert await frames(written) == await frames(STOCK(stream(events)))
    patches.INSTALLER.uninstall("its streams are made of dict, not of events")
    assert vars(router)[encode.FUNCTION] is STOCK


def test_an_incompatible_router_is_left_alone_and_that_is_logged(
    router: ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patched, caplog.at_level("INFO", "vllm.plugins.stable_ids"):
        patched.setattr(router, encode.FUNCTION, _waits)
        plugin._install_late(router)
        assert vars(router)[encode.FUNCTION] is _waits
    assert patches.active()
    reason = f"its {encode.FUNCTION} waits for more than events"
    assert patches.INSTALLER.left_out["encode"] == reason
    assert f"encode left out: {reason}" in caplog.text


def test_where_nothing_is_patched_the_router_is_not(
    router: ModuleType,
) -> None:
    patches.INSTALLER.uninstall("for a test")
    plugin._install_late(router)
    assert vars(router)[encode.FUNCTION] is STOCK
