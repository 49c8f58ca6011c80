"""What can go wrong when a server is asked, each with a message of its own."""

from __future__ import annotations

import json
import re
import socket
import ssl
from typing import TYPE_CHECKING, Any

import httpx

from vllm_stable_ids.check.verdict import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

UNAUTHORISED = {401, 403}
NO_ROUTE = {404, 405}
BAD_REQUESTS = {400, 422}
CLIPPED = 300

# What a server may lack without anything being wrong.
OPTIONAL = {"not_stored", "tools_off", "no_call", "no_items"}
# After these the rest would only say the same again.
FATAL = {
    *("dns", "refused_connection", "connection", "tls", "timeout"),
    *("unauthorised", "redirect", "no_route", "model", "not_a_stream"),
    *("compressed", "max_bytes", "max_time"),
}

STORE = "VLLM_ENABLE_RESPONSES_API_STORE=1"
NOT_STORED = f"The server does not store (set {STORE})."
RESTART = f"To judge this too, start vLLM with {STORE}; it keeps every response in memory then."
TOOLS = (
    "To judge this too, start vLLM with --enable-auto-tool-choice and the --tool-call-parser of "
    "the model."
)
ADDRESS = "Look at the address: that of a vLLM is http://HOST:8000, with or without /v1."
LOG = "The server's log says why."
TOO_LONG = "buffer too long"
"""What the client says where headers, which it reads whole, have no end."""


class Failed(Exception):  # noqa: N818 - a reason, not an error of ours
    """A request that gave nothing to judge."""

    def __init__(self, reason: Reason) -> None:
        """Keep why.

        Args:
            reason: It.
        """
        super().__init__(reason.message)
        self.reason = reason


def of_transport(error: Exception, host: str, timeout: float) -> Reason:
    """Why no answer came."""
    if isinstance(error, httpx.ConnectTimeout):
        message = f"{host} did not take the connection in time."
        return Reason("timeout", message, f"Is it the right host? {ADDRESS}")
    if isinstance(error, httpx.TimeoutException):
        return Reason(
            "timeout",
            f"The server sent nothing for {timeout:g} s.",
            f"It may be busy, or hang: {LOG} --timeout sets how long to wait.",
        )
    for cause in _causes(error):
        known = _of_cause(cause, host)
        if known is not None:
            return known
    if isinstance(error, httpx.RemoteProtocolError) and TOO_LONG in str(error):
        return Reason("connection", f"{host} sent headers that are too long.", LOG)
    if isinstance(error, httpx.RemoteProtocolError):
        return Reason("connection", f"{host} closed the connection, or speaks no HTTP.", LOG)
    what = f"The connection to {host} failed"
    return _quoting("connection", what, f"{_clipped(str(error))}.", ADDRESS)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and what it came from."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _of_cause(cause: BaseException, host: str) -> Reason | None:
    if isinstance(cause, ssl.SSLCertVerificationError):
        message = f"The certificate of {host} is not trusted: {cause.verify_message}."
        advice = "If you know the server, --insecure takes any certificate."
        return Reason("tls", message, advice)
    if isinstance(cause, ssl.SSLError):
        message = f"{host} does not speak TLS as it should: {cause.reason}."
        return Reason("tls", message, "If it has no https, ask for http://.")
    if isinstance(cause, socket.gaierror):
        name = host.rpartition(":")[0] or host
        return Reason("dns", f"There is no host of the name {name}.", ADDRESS)
    if isinstance(cause, ConnectionRefusedError):
        return Reason(
            "refused_connection",
            f"Nothing listens at {host}: connection refused.",
            f"Is the server up, and is that its port? {ADDRESS}",
        )
    if isinstance(cause, OSError) and cause.strerror:
        return Reason("connection", f"{host} cannot be reached: {cause.strerror}.", ADDRESS)
    return None


def of_compressed(encoding: str, asked: str) -> Reason:
    """Why an answer is not read that is compressed though that was not asked for.

    Unpacked, a few bytes may be any number.
    """
    what = f"The answer to {asked} is compressed, which was not asked for"
    return Reason(
        "compressed",
        f"{what} ({_clipped(encoding)}).",
        "Turn compression off for it, in the server or in the proxy before it.",
        unquoted=f"{what}.",
    )


def of_answer(answer: httpx.Response, body: bytes, asked: str) -> Reason:
    """Why an answer with another status than 200 is nothing to judge.

    Args:
        answer: It.
        body: What it says.
        asked: The request, as `POST /v1/responses`.
    """
    status = answer.status_code
    said = message_of(body) or ""
    if answer.is_redirect:
        target = answer.headers.get("location", "nowhere")
        return Reason(
            "redirect",
            f"{asked} is redirected to {_clipped(target)}.",
            "Redirects are not followed, since a key would go along. Give the address it names.",
            unquoted=f"{asked} is redirected.",
        )
    if status in UNAUTHORISED:
        what = f"The server does not let us in ({status})"
        return _quoting("unauthorised", what, said, "Give its key: --api-key, or OPENAI_API_KEY.")
    if status in NO_ROUTE:
        return _not_found(status, said, asked)
    if status in BAD_REQUESTS:
        return _bad_request(status, said)
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return _quoting("server_error", f"The server failed ({status})", said, LOG)
    return _quoting("refused", f"The server refused the request ({status})", said, LOG)


def _quoting(code: str, what: str, said: str, advice: str) -> Reason:
    message = f"{what}: {said}" if said else f"{what}."
    return Reason(code, message, advice, unquoted=f"{what}.")


def _not_found(status: int, said: str, asked: str) -> Reason:
    if re.search(r"\bresponse\b.*not found", said, re.IGNORECASE):
        return not_stored(status, said)
    if "model" in said.lower():
        what = f"The server does not know the model ({status})"
        return _quoting("model", what, said, "Name one that it has: --model.")
    return _quoting("no_route", f"There is no {asked} at this address ({status})", said, ADDRESS)


def _bad_request(status: int, said: str) -> Reason:
    if "VLLM_ENABLE_RESPONSES_API_STORE" in said:
        return not_stored(status, said)
    if any(word in said for word in ("tool-call-parser", "tool parser", "tool_choice")):
        return _quoting("tools_off", f"The server makes no such calls ({status})", said, TOOLS)
    what = f"The server refused the request ({status})"
    return _quoting("refused", what, said, "It is a plain request; the server's log may say more.")


def not_stored(status: int, said: str) -> Reason:
    """What was asked for is not stored."""
    what = f"{NOT_STORED[:-1]}; it answered {status}"
    return _quoting("not_stored", what, said, RESTART)


def message_of(body: bytes) -> str | None:
    """What an error says, as vLLM, OpenAI, FastAPI or a proxy write it, on one line."""
    try:
        told: Any = json.loads(body)
    except (ValueError, RecursionError):
        text = body.decode(errors="replace")
        if "<" in text:
            text = re.sub(r"<(style|script|head).*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
        return _clipped(" ".join(text.split())) or None
    for name in ("error", "detail", "message"):
        if isinstance(told, dict) and told.get(name):
            told = told[name]
    return _clipped(told if isinstance(told, str) else json.dumps(told))


def _clipped(text: str) -> str:
    return text if len(text) <= CLIPPED else text[:CLIPPED] + "…"
