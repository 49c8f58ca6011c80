"""Fields of upstream's objects are set, and set back where something goes wrong."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ConfigDict

from vllm_stable_ids.edits import Edits


class Call(BaseModel):
    """An item as openai has them, which may have fields that its class does not know."""

    model_config = ConfigDict(extra="allow")

    type: str = "function_call"
    id: str | None = None


def test_a_field_is_set_and_set_back() -> None:
    item, edits = Call(), Edits()
    edits.correct(item, {"id": "fc_1"}, "done")
    assert item.model_dump() == {"type": "function_call", "id": "fc_1"}
    assert edits.repaired == [("id", "done", "function_call")]
    edits.undo()
    assert item == Call()


def test_a_field_that_the_class_does_not_know_is_set_and_set_back() -> None:
    item, edits = Call.model_validate({"namespace": "a"}), Edits()
    edits.set(item, "namespace", "b")
    assert item.model_dump()["namespace"] == "b"
    edits.undo()
    assert item.model_dump() == {"type": "function_call", "id": None, "namespace": "a"}


def test_what_stands_is_not_set_back() -> None:
    item, edits = Call(), Edits()
    edits.set(item, "id", "fc_1")
    edits.settle()
    edits.undo()
    assert item.id == "fc_1"


def test_a_field_that_is_not_there_is_not_made() -> None:
    item, edits = Call(), Edits()
    with pytest.raises(KeyError):
        edits.set(item, "call_id", "call_1")
    edits.undo()
    assert item == Call()
