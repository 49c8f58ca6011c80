"""Resolves input items that name an item of a stored response.

Clients that leave the history to the server, such as the Vercel AI SDK by default, send
`{"type": "item_reference", "id": …}` instead of an item. Each is replaced by the stored item before
vLLM reads the input.
"""

from __future__ import annotations

import inspect
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from vllm_stable_ids.log import fail_open
from vllm_stable_ids.patches.patch import HookSpec, Patch

if TYPE_CHECKING:
    from vllm_stable_ids.patches.call import Call
    from vllm_stable_ids.patches.patch import Setup
    from vllm_stable_ids.settings import Settings

DIRECTORY = "_stable_ids_directory"
"""The attribute of vLLM's serving object that says where its store has an item.

It lives as long as the store does, which is an attribute of the same object.
"""

NAME = "item_reference"
REFERENCE = "item_reference"
FIELDS = frozenset(("type", "id"))
LONGEST_SHOWN = 100

RUN_BY_SERVER = frozenset(("code_interpreter_call", "mcp_call", "web_search_call"))
"""The calls that vLLM makes itself, and takes from no client as input."""


class Place(NamedTuple):
    """Where the store has an item."""

    response_id: str
    output_index: int


class _Directory:
    """Where the store has which item. It has the items that the store has, and no more."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._ids: dict[str, list[str]] = {}

    def take(self, response: Any) -> None:
        """Keep the places of a response's items, and forget those of one that had its id."""
        for gone in self._ids.pop(response.id, ()):
            self._places.pop(gone, None)
        self._ids[response.id] = [item.id for item in response.output]
        for index, item in enumerate(response.output):
            self._places[item.id] = Place(response.id, index)

    def place(self, name: str) -> Place | None:
        return self._places.get(name)


class UnresolvedError(Exception):
    """A reference that cannot be resolved; the message is for the client."""


def remember(setup: Setup, serving: Any, response: Any, *, stored: bool | None) -> None:
    """Keep the places of a response's items, where references are resolved.

    Args:
        setup: What the wrappers share.
        serving: vLLM's serving object.
        response: What vLLM answers with: a complete response, or an error.
        stored: Whether vLLM's store has it.
    """
    if not stored or not setup.is_in_force(NAME) or not hasattr(response, "output"):
        return
    try:
        directory = serving.__dict__.setdefault(DIRECTORY, _Directory())
        directory.take(response)
    except Exception as error:  # noqa: BLE001 - the response matters more
        fail_open("stable_ids: items of a response cannot be referred to", error)


async def _create(call: Call) -> Any:
    request = call.arguments["request"]
    try:
        if isinstance(request.input, list):
            request.input = _resolved(call.instance, request)
    except UnresolvedError as problem:
        return call.instance.create_error_response(
            err_type="invalid_request_error",
            message=str(problem),
            status_code=HTTPStatus.BAD_REQUEST,
            param="input",
        )
    except Exception as error:  # noqa: BLE001 - vLLM then answers as it does without us
        fail_open("stable_ids: references in an input are not resolved", error)
    return await call.proceed()


def _resolved(serving: Any, request: Any) -> list[Any]:
    """The input with each reference replaced by its item.

    Raises:
        UnresolvedError: There is no such item, or the input has it twice. A small request that
            names a large item often would make a prompt without bounds.
    """
    there = {item_id for item in request.input if (item_id := _id_of_whole(item)) is not None}
    resolved = []
    for index, item in enumerate(request.input):
        name = _name(item)
        if name is None:
            resolved.append(item)
            continue
        if name in there:
            raise UnresolvedError(
                f"input[{index}] refers to item '{_shown(name)}', which the input has "
                "elsewhere, too. Have an item in it once."
            )
        there.add(name)
        found, response_id = _find(serving, name)
        if found is None:
            raise UnresolvedError(
                f"input[{index}] refers to item '{_shown(name)}', which is in no response stored "
                f"on this server. {_remedy(serving)}"
            )
        is_before = response_id == request.previous_response_id
        if _can_be_input(found) and not (is_before and _is_brought_along(serving, found)):
            resolved.append(found)
    return resolved


def _id_of_whole(item: Any) -> str | None:
    """The id of an input item that is no reference; `None` if it has none."""
    if isinstance(item, dict):
        return None if _name(item) is not None else item.get("id")
    return getattr(item, "id", None)


def _name(item: Any) -> str | None:
    """The id that an input item refers to; `None` for an item that is no reference.

    The API lets a reference go without its type; no other item consists of an id alone.
    """
    if not isinstance(item, dict):
        return None
    kind = item.get("type")
    if kind != REFERENCE and (kind is not None or not item.keys() <= FIELDS):
        return None
    name = item.get("id")
    return name if isinstance(name, str) else None


def _find(serving: Any, name: str) -> tuple[Any, str | None]:
    """The stored item of that id and its response's id; `None` if the store has no such item."""
    directory = serving.__dict__.get(DIRECTORY)
    place = None if directory is None else directory.place(name)
    response = None if place is None else serving.response_store.get(place.response_id)
    if place is None or response is None or place.output_index >= len(response.output):
        return None, None
    item = response.output[place.output_index]
    return (item, response.id) if item.id == name else (None, None)


def _can_be_input(item: Any) -> bool:
    """Whether vLLM accepts an item as input; one that it does not accept fails the whole request.

    It does not accept calls of the server's own tools, and messages that were cut off before any
    text.
    """
    return item.type not in RUN_BY_SERVER and not (item.type == "message" and not item.content)


def _is_brought_along(serving: Any, item: Any) -> bool:
    """Whether `previous_response_id` by itself puts an item of that response into the prompt."""
    return bool(serving.use_harmony) or item.type == "message"


def _remedy(serving: Any) -> str:
    if not serving.enable_store:
        return (
            "The store is off: start vLLM with VLLM_ENABLE_RESPONSES_API_STORE=1, or send the item "
            "itself (many clients do with store set to false)."
        )
    return "A response is stored when it has ended, unless it was created with store set to false."


def _shown(name: str) -> str:
    return name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}…"


def _not_needed(_serving: Any, settings: Settings) -> str | None:
    return None if settings.item_reference else "VLLM_STABLE_IDS_ITEM_REFERENCE is off"


PATCH = Patch(
    name=NAME,
    what=(
        "Puts the item of a stored response where an input item of type `item_reference` names it "
        "by its id. An id that the store does not have gets 400 with the id. Calls of the server's "
        "own tools, which vLLM does not take as input, are left out."
    ),
    why=(
        "vLLM does not know `item_reference`: 500 `'role'` on the simple path, 400 `Unknown input "
        "type: item_reference` on gpt-oss. The Vercel AI SDK sends it from its second request on."
    ),
    upstream=(),
    needed_since="0.15",
    delete_when="vLLM resolves `item_reference`",
    not_needed=_not_needed,
    hooks=(
        HookSpec(
            # A request that is refused inside of it is cleaned up after: vLLM since 0.23 gives
            # back cache blocks that another server keeps for the request.
            name="_create_responses",
            old_name="create_responses",
            kind=inspect.iscoroutinefunction,
            parameters=("request",),
            make_wrapper=lambda _setup, _original: _create,
        ),
    ),
)
