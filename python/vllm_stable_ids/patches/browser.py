"""A browser call of gpt-oss is one item of the stream.

Where vLLM's tool server has a `browser`, vLLM streams a call of `browser.search`, `browser.open`
or `browser.find` twice under one `output_index`: first as an `mcp_call`, delta by delta, and again
as a `web_search_call` when it is complete. The terminal output has only the `web_search_call`. The
events of the first are held until it is known whether the second follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vllm_stable_ids.log import fail_open
from vllm_stable_ids.patches.patch import Patch

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from vllm_stable_ids.events import Event

ADDED = "response.output_item.added"
BROWSER = "browser"


def applies(serving: Any) -> bool:
    """Whether streams of `serving` announce browser calls twice.

    Args:
        serving: vLLM's `OpenAIServingResponses`. It does so only with a browser tool; without
            one, an `mcp_call` named `browser.…` is all there is, and stands.
    """
    try:
        server = serving.tool_server
        return server is not None and bool(server.has_tool(BROWSER))
    except Exception as error:  # noqa: BLE001 - the stream must go on
        fail_open("stable_ids: browser calls may be announced twice", error)
        return False


async def one_lifecycle(
    upstream: AsyncIterator[Event], dropped: Callable[[int], bool], held: Held
) -> AsyncGenerator[Event]:
    """The events of `upstream`, with one lifecycle for each browser call.

    The `mcp_call` of a browser call is held back. It is dropped when the `web_search_call` is
    announced in its place. When anything else comes instead, even an exception, it is sent as it
    came: a call that was cut off, or whose arguments vLLM cannot parse, has no other lifecycle.

    Args:
        upstream: vLLM's stream. It is closed when this one is.
        held: Holds the events; the code that makes the end of the stream takes them from it.
        dropped: Reports that so many events are left out, and returns whether they may be.
    """
    try:
        try:
            async for event in upstream:
                for sent in held.take(event, dropped):
                    yield sent
        except Exception:
            # Not where the task is cancelled: nobody reads on then.
            for sent in held.release():
                yield sent
            raise
        for sent in held.release():
            yield sent
    finally:
        if (aclose := getattr(upstream, "aclose", None)) is not None:
            await aclose()


class Held:
    """The events of a browser call that vLLM may announce a second time."""

    __slots__ = ("_events",)

    def __init__(self) -> None:
        """Start without events."""
        self._events: list[Event] = []

    def take(self, event: Event, dropped: Callable[[int], bool]) -> list[Event]:
        """The events to send after `event`."""
        try:
            return self._decide(event, dropped)
        except Exception as error:  # noqa: BLE001 - the stream must go on
            fail_open("stable_ids: a browser call may be announced twice", error)
            return [*self.release(), event]

    def release(self) -> list[Event]:
        """The held events; nothing is held afterwards."""
        events, self._events = self._events, []
        return events

    def _decide(self, event: Event, dropped: Callable[[int], bool]) -> list[Event]:
        announced = event.item if event.type == ADDED else None
        if self._events:
            first = self._events[0]
            same_place = getattr(event, "output_index", None) == first.output_index
            if announced is None and same_place:
                self._events.append(event)
                return []
            if announced is not None and same_place and announced.type == "web_search_call":
                if dropped(len(self._events)):
                    self._events = []
                return [*self.release(), event]
        if announced is not None and _is_browser_call(announced):
            sent = self.release()
            self._events = [event]
            return sent
        return [*self.release(), event]


def _is_browser_call(item: Any) -> bool:
    """Whether an item is a browser call in its first announcement."""
    return item.type == "mcp_call" and str(item.name).startswith(f"{BROWSER}.")


PATCH = Patch(
    name="browser",
    what="Streams a browser call of gpt-oss once, as the `web_search_call` it ends as.",
    why=(
        "With a browser tool server one `output_index` is announced twice: as an `mcp_call`, and "
        "when that is complete as a `web_search_call`."
    ),
    upstream=(),
    needed_since="0.25",
    delete_when="vLLM announces a browser call once",
)
