"""The settings that the environment has."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


Switch = Annotated[bool, BeforeValidator(_stripped)]
"""On or off; white space around the word, common in environment files, is ignored."""


PREFIX = "VLLM_STABLE_IDS_"


class Settings(BaseSettings):
    """The plugin's switches; each is read from the environment when vLLM starts."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True)

    enabled: Switch = Field(
        default=True,
        validation_alias="VLLM_STABLE_IDS",
        description="Off: nothing is patched.",
    )
    vocabulary: Switch = Field(
        default=True,
        description=(
            "Send response.content_part.* for reasoning, as the OpenAI API does, where vLLM "
            "has response.reasoning_part.*. Off: vLLM's own response.reasoning_part.* events stay."
        ),
    )
    item_reference: Switch = Field(
        default=True,
        description=(
            "Put the item of a stored response where an input item of type item_reference names "
            "it. Off: vLLM answers with an error, as it does by itself."
        ),
    )


def variables() -> dict[str, str]:
    """The variable of each setting, and the setting's name."""
    return {
        str(field.validation_alias or f"{PREFIX}{name.upper()}"): name
        for name, field in Settings.model_fields.items()
    }


def off_means(name: str) -> str:
    """What it means that a setting is off, as a clause."""
    return (Settings.model_fields[name].description or "").partition("Off: ")[2].removesuffix(".")


def load() -> tuple[Settings, list[str]]:
    """Read the settings; a value that is neither on nor off leaves the default in force.

    A server that did not start because of a misspelt switch would hurt its users more than one
    that logs a warning.

    Returns:
        The settings, and a message for each value that is ignored.
    """
    try:
        return Settings(), []
    except ValidationError as error:
        wrong = {str(detail["loc"][0]): detail["input"] for detail in error.errors()}
    problems = []
    defaults: dict[str, Any] = {}
    for variable, name in variables().items():
        field = Settings.model_fields[name]
        # An alias is reported by itself, a field without one by its own name.
        key = variable if field.validation_alias else name
        if key in wrong:
            defaults[key] = field.default
            problems.append(
                f"{variable}={wrong[key]!r} is neither on (1, true, on, yes) nor off "
                f"(0, false, off, no); using the default, {'on' if field.default else 'off'}"
            )
    return Settings(**defaults), problems
