"""What the environment asks for."""

from __future__ import annotations

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """The plugin's switches; each is read from the environment when vLLM starts."""

    model_config = SettingsConfigDict(
        env_prefix="VLLM_STABLE_IDS_", env_ignore_empty=True, populate_by_name=True
    )

    enabled: bool = Field(
        default=True,
        validation_alias="VLLM_STABLE_IDS",
        description="Off: nothing is patched.",
    )
    vocabulary: bool = Field(
        default=True,
        description=(
            "Send response.content_part.* for reasoning, as the OpenAI API does, where vLLM "
            "has response.reasoning_part.*. Off: vLLM's own events."
        ),
    )


def load() -> tuple[Settings, list[str]]:
    """Read the settings; a value that cannot be read keeps its default.

    A server that refuses to start over a misspelt switch would hurt its users more than one
    that says so and goes on.

    Returns:
        The settings, and a message for each value that was set aside.
    """
    try:
        return Settings(), []
    except ValidationError as error:
        wrong = {str(detail["loc"][0]): detail for detail in error.errors()}
    problems = []
    kept: dict[str, bool] = {}
    for name, field in Settings.model_fields.items():
        variable = str(field.validation_alias or f"VLLM_STABLE_IDS_{name.upper()}")
        detail = wrong.get(name) or wrong.get(variable)
        if detail is not None:
            kept[name] = bool(field.default)
            problems.append(
                f"{variable}={detail['input']!r} is neither on (1, true, on, yes) nor off "
                f"(0, false, off, no); using the default, {'on' if field.default else 'off'}"
            )
    return Settings(**kept), problems
