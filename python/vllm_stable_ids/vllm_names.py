"""The names of vLLM's and openai's modules and classes; no other file has any of them.

Every process of vLLM loads this file, so it imports nothing.
"""

PACKAGE = "vllm"

PLUGINS_MODULE = "vllm.plugins"

PLUGIN_GROUP = "vllm.general_plugins"
"""The group of entry points that vLLM loads in each of its processes."""

SERVING_MODULE = "vllm.entrypoints.openai.responses.serving"
"""Where vLLM 0.15 and later make the events of a Responses stream."""

SERVING_CLASS = "OpenAIServingResponses"

CONTEXT_CLASS = "ParsableContext"
"""Runs the built-in tools of text models; the serving module imports it by name."""

ROUTER_MODULE = "vllm.entrypoints.openai.responses.api_router"
"""Where vLLM writes the events as frames. It imports the serving module during its own import."""

PROTOCOL_MODULE = "vllm.entrypoints.openai.responses.protocol"
"""Where vLLM overrides some of OpenAI's event classes and adds its own."""

REASONING_PART_CLASS = "ResponseReasoningPartAddedEvent"
"""The event class that vLLM has up to 0.31, and the OpenAI API never had."""

APP_MODULES = (
    "vllm.entrypoints.openai.api_server",  # up to 0.28
    "vllm.entrypoints.launchers.app",
    "vllm.entrypoints.launchers.api_server.entry",  # imports the function by name
)
"""Where `BUILD_APP` is defined or called."""

BUILD_APP = "build_app"
"""Makes the application of the API server."""

COMMAND_MODULE = "vllm.entrypoints.cli.serve"
"""What `vllm serve` imports in its first process, before it loads plugins."""

RUST_FRONTEND_CLASS = "RustFrontendProcessManager"

OPENAI_MODULE = "openai.types.responses"

DELTA_CLASSES = (
    "ResponseTextDeltaEvent",
    "ResponseReasoningTextDeltaEvent",
    "ResponseReasoningSummaryTextDeltaEvent",
    "ResponseRefusalDeltaEvent",
    "ResponseFunctionCallArgumentsDeltaEvent",
    "ResponseMcpCallArgumentsDeltaEvent",
    "ResponseCodeInterpreterCallCodeDeltaEvent",
    "ResponseCustomToolCallInputDeltaEvent",
)
"""OpenAI's classes of deltas that are text; vLLM has none of its own."""
