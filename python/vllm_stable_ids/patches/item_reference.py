"""Input items that only name an item of a stored response: `{"type": "item_reference", "id": …}`.

An announced id is a handle. Clients that leave the history to the server, such as the Vercel AI
SDK by default, send ids back in the place of items; the items are put there before vLLM reads the
input.
"""

from __future__ import annotations

import inspect
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from vllm_stable_ids.log import fail_open
from vllm_stable_ids.patches.seam import Call, Method, Patch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vllm_stable_ids.settings import Settings

DIRECTORY = "_stable_ids_directory"
"""The attribute of vLLM's serving object that says where its store has an item.

It lives as long as the store does, which is an attribute of the same object.
"""

REFERENCE = "item_reference"
FIELDS = frozenset(("type", "id"))
LONGEST_SHOWN = 100

_on = False


class Place(NamedTuple):
    """Where the store has an item."""

    response_id: str
    output_index: int


class UnresolvedError(Exception):
    """A reference that cannot be resolved; the message is for the client."""


def configure(*, on: bool) -> None:
    """Set whether references are resolved, and so whether places are kept."""
    global _on  # noqa: PLW0603 - one server, one configuration
    _on = on


def remember(serving: Any, response: Any, *, stored: bool | None) -> None:
    """Keep the places of a response's items.

    Args:
        serving: vLLM's serving object.
        response: What vLLM answers with: a complete response, or an error.
        stored: Whether vLLM's store has it.
    """
    if not _on or not stored or not hasattr(response, "output"):
        return
    try:
        directory = serving.__dict__.setdefault(DIRECTORY, {})
        for index, item in enumerate(response.output):
            directory[item.id] = Place(response.id, index)
    except Exception as error:  # noqa: BLE001 - the response matters more
        fail_open("stable_ids: items of a response cannot be referred to", error)


async def _create(call: Call) -> Any:
    request = call.arguments["request"]
    try:
        if isinstance(request.input, list):
            request.input = _resolved(call.instance, request.input)
    except UnresolvedError as problem:
        return call.instance.create_error_response(
            err_type="invalid_request_error",
            message=str(problem),
            status_code=HTTPStatus.BAD_REQUEST,
            param="input",
        )
    except Exception as error:  # noqa: BLE001 - vLLM then says what it says without us
        fail_open("stable_ids: references in an input are not resolved", error)
    return await call.proceed()


def _resolved(serving: Any, items: Sequence[Any]) -> list[Any]:
    """The input with the items in the place of references to them.

    Raises:
        UnresolvedError: There is no such item, or it is named twice. A small request that names a
            large item often would make a prompt without bounds.
    """
    named: set[str] = set()
    resolved = []
    for index, item in enumerate(items):
        name = _name(item)
        if name is None:
            resolved.append(item)
            continue
        if name in named:
            raise UnresolvedError(
                f"input[{index}] refers to item '{_shown(name)}', as an item before it does. "
                "Refer to an item once."
            )
        named.add(name)
        found = _find(serving, name)
        if found is None:
            raise UnresolvedError(
                f"input[{index}] refers to item '{_shown(name)}', which is in no response stored "
                f"on this server. {_remedy(serving)}"
            )
        resolved.append(found)
    return resolved


def _name(item: Any) -> str | None:
    """The id that an input item refers to; `None` for an item that is no reference.

    The API lets a reference go without its type; no other item consists of an id alone.
    """
    if not isinstance(item, dict) or not item.keys() <= FIELDS:
        return None
    if item.get("type", REFERENCE) not in (REFERENCE, None):
        return None
    name = item.get("id")
    return name if isinstance(name, str) else None


def _find(serving: Any, name: str) -> Any:
    """The item of that id as the store has it now; `None` where it has none."""
    place = serving.__dict__.get(DIRECTORY, {}).get(name)
    response = None if place is None else serving.response_store.get(place.response_id)
    if response is None or place.output_index >= len(response.output):
        return None
    item = response.output[place.output_index]
    return item if item.id == name else None


def _remedy(serving: Any) -> str:
    if not serving.enable_store:
        return (
            "The store is off: start vLLM with VLLM_ENABLE_RESPONSES_API_STORE=1, or send the item "
            "itself (many clients do with store set to false)."
        )
    return "A response is stored when it has ended, unless it was created with store set to false."


def _shown(name: str) -> str:
    return name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}…"


def _not_needed(_module: Any, settings: Settings) -> str | None:
    return None if settings.item_reference else "VLLM_STABLE_IDS_ITEM_REFERENCE is off"


PATCH = Patch(
    name="item_reference",
    what=(
        "Puts the item of a stored response where an input item of type `item_reference` names it "
        "by its id. An id that the store does not have gets 400 with the id."
    ),
    why=(
        "vLLM does not know `item_reference`: 500 `'role'` on the simple path, 400 `Unknown input "
        "type: item_reference` on gpt-oss. The Vercel AI SDK sends it from its second request on."
    ),
    upstream=(),
    versions="0.15 to 0.33",
    delete_when="vLLM resolves `item_reference`",
    not_needed=_not_needed,
    method=Method(
        owner="OpenAIServingResponses",
        name="create_responses",
        parameters=("request",),
        fits=inspect.iscoroutinefunction,
        wrapper=_create,
    ),
)
