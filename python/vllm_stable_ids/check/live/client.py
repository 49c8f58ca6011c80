"""Asks a server over HTTP, and reads what it streams."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import re
import ssl
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlsplit

import httpx

from vllm_stable_ids.check.live.events import EndOfResponse
from vllm_stable_ids.check.live.failure import Failed, of_answer, of_compressed, of_transport
from vllm_stable_ids.check.live.limits import Deadline, too_much
from vllm_stable_ids.check.recognise import RECORD
from vllm_stable_ids.check.verdict import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from vllm_stable_ids.check.live.asking import Asking

CONNECT_S = 10.0
MOST_OF_AN_ERROR = 1 << 16
MOST_OF_A_NAME = 1 << 10
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
HEADER_VALUE = re.compile(r"[\x20-\x7e]*")
OWN_HEADERS = {
    *("accept-encoding", "connection", "content-encoding", "content-length", "content-type"),
    *("expect", "host", "keep-alive", "proxy-connection", "te", "trailer"),
    *("transfer-encoding", "upgrade"),
}
"""Headers that say how the request is sent; another value would make it a wrong one."""
ODD = re.compile(r"[\s\x00-\x1f]")
URL_ADVICE = "Write it as http://HOST:PORT, with or without /v1."


def base_of(url: str) -> str:
    """The address without `/v1` and what else may stand at its end.

    Raises:
        Failed: It is none.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise Failed(_no_url(str(error))) from None
    if parts.scheme.lower() not in {"http", "https"}:
        raise Failed(_no_url(f"it begins with {parts.scheme}://"))
    if not parts.hostname:
        raise Failed(_no_url("it has no host"))
    if ODD.search(url) or port == 0:
        raise Failed(_no_url("it has something in it that no address has"))
    if parts.username is not None or parts.query or parts.fragment:
        # Reports show the address.
        advice = f"{URL_ADVICE} A user goes into --header 'Authorization: …'."
        raise Failed(_no_url("it has a user, a query or a fragment", advice))
    path = re.sub(r"(?:/v1(?:/responses)?)?/*$", "", parts.path.rstrip("/"))
    return f"{parts.scheme.lower()}://{parts.netloc}{path}"


def without_secrets(url: str) -> str:
    """An address without what may be secret in it, whether it is one or not."""
    return re.sub(r"//[^/]*@", "//", re.split(r"[?#]", url, maxsplit=1)[0])


def _no_url(why: str, advice: str = URL_ADVICE) -> Reason:
    return Reason("url", f"This is no address of a server: {why}.", advice)


def header_of(text: str) -> tuple[str, str]:
    """A header as it is given on the command line.

    Raises:
        Failed: It is none.
    """
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if not colon or not HEADER_NAME.fullmatch(name) or not HEADER_VALUE.fullmatch(value):
        # The value may be a secret.
        message = f"--header {name if colon and name else '…'} is no header."
        raise Failed(Reason("header", message, "Write it as 'Name: value', in ASCII."))
    if name.lower() in OWN_HEADERS:
        message = f"--header {name} cannot be set: the checker sets it as its requests need it."
        raise Failed(Reason("header", message, "Leave it out."))
    return name, value


def _bearer(key: str) -> str:
    value = f"Bearer {key.strip()}"
    if not HEADER_VALUE.fullmatch(value):
        message = "The key has characters in it that no header can have."
        raise Failed(Reason("header", message, "Look at --api-key, or OPENAI_API_KEY."))
    return value


class Streamed(NamedTuple):
    """A stream as it came, and why it was not read on, if it was not."""

    raw: bytes
    stopped: Reason | None = None


class Server:
    """A server of the Responses API. Use it as a context manager."""

    def __init__(self, asking: Asking) -> None:
        """Connect to nothing yet.

        Raises:
            Failed: The address or a header is none.
        """
        self.base = base_of(asking.url)
        self._host = urlsplit(self.base).netloc
        self._timeout = asking.timeout
        self._max_bytes = asking.max_bytes
        self._deadline = Deadline(asking.max_time)
        given = dict(map(header_of, asking.headers))
        if asking.key and "authorization" not in {name.lower() for name in given}:
            given["Authorization"] = _bearer(asking.key)
        self._client = httpx.Client(
            headers={"Accept-Encoding": "identity", **given},
            timeout=httpx.Timeout(asking.timeout, connect=min(CONNECT_S, asking.timeout)),
            verify=_trust(insecure=asking.insecure or self.base.startswith("http:")),
            trust_env=not _is_loopback(urlsplit(self.base).hostname or ""),
        )

    def __enter__(self) -> Server:
        """Return the server; its time begins."""
        self._deadline.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self._deadline.__exit__(kind, error, trace)
        self._client.close()

    def models(self) -> list[str]:
        """The names of what it serves.

        Raises:
            Failed: It does not say.
        """
        asked = "GET /v1/models"
        listed = self._json(asked, "/v1/models")
        data = listed.get("data")
        entries = data if isinstance(data, list) else []
        names = [entry.get("id") for entry in entries if isinstance(entry, dict)]
        return [name for name in names if isinstance(name, str) and len(name) <= MOST_OF_A_NAME]

    def stored(self, response_id: str) -> dict[str, Any]:
        """A stored response.

        Raises:
            Failed: The server does not have it.
        """
        return self._json("GET /v1/responses/{id}", f"/v1/responses/{quote(response_id, safe='')}")

    def stream(self, body: dict[str, Any], *, to_the_end: bool = True) -> Streamed:
        """Stream a response.

        Args:
            body: The request.
            to_the_end: Read until the server ends; else until the response has ended. vLLM may
                leave the stream of a background response open.

        Raises:
            Failed: There is no stream.
        """
        asked = "POST /v1/responses"
        return self._stream(asked, "/v1/responses", to_the_end=to_the_end, body=body)

    def rejoined(self, response_id: str, after: int) -> Streamed:
        """Stream the rest of a stored response.

        Args:
            response_id: Which.
            after: The number of the last event that is known.

        Raises:
            Failed: There is no stream.
        """
        asked = "GET /v1/responses/{id}?stream=true"
        path = f"/v1/responses/{quote(response_id, safe='')}?stream=true&starting_after={after}"
        return self._stream(asked, path, to_the_end=False)

    def _json(self, asked: str, path: str) -> dict[str, Any]:
        with self._answer(asked, "GET", path) as answer:
            content, stopped = self._read(answer, asked)
        if stopped is not None:
            raise Failed(stopped)
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise Failed(
                Reason(
                    "not_json",
                    f"{asked} answered with {_type_of(answer)}, not with a JSON object.",
                    "Look at the address of the server.",
                    unquoted=f"{asked} answered not with a JSON object.",
                )
            )
        return body

    def _stream(
        self, asked: str, path: str, *, to_the_end: bool, body: dict[str, Any] | None = None
    ) -> Streamed:
        method = "GET" if body is None else "POST"
        with self._answer(asked, method, path, body) as answer:
            if "event-stream" not in answer.headers.get("content-type", ""):
                raise Failed(
                    Reason(
                        "not_a_stream",
                        f"{asked} answered with {_type_of(answer)}, not with an event stream.",
                        RECORD,
                        unquoted=f"{asked} answered not with an event stream.",
                    )
                )
            return self._read(answer, asked, is_whole=None if to_the_end else EndOfResponse())

    @contextlib.contextmanager
    def _answer(
        self, asked: str, method: str, path: str, body: dict[str, Any] | None = None
    ) -> Iterator[httpx.Response]:
        """The answer to a request, of which nothing but the head was read.

        Raises:
            Failed: There is none, or none that is worth reading.
        """
        self._deadline.check()
        with (
            self._failures(),
            self._client.stream(
                method,
                self.base + path,
                extensions={"trace": self._deadline.trace},
                **_with(body),
            ) as answer,
        ):
            encoding = answer.headers.get("content-encoding", "identity")
            is_plain = encoding.strip().lower() == "identity"
            if answer.status_code != httpx.codes.OK:
                raise Failed(of_answer(answer, _head(answer) if is_plain else b"", asked))
            if not is_plain:
                raise Failed(of_compressed(encoding, asked))
            yield answer

    def _read(
        self, answer: httpx.Response, asked: str, is_whole: EndOfResponse | None = None
    ) -> Streamed:
        """Read an answer within the limits.

        Args:
            answer: It.
            asked: The request.
            is_whole: Says when enough of it was read.
        """
        got = bytearray()
        try:
            for chunk in answer.iter_raw():
                got += chunk
                if len(got) > self._max_bytes:
                    del got[self._max_bytes :]
                    return Streamed(bytes(got), too_much(self._max_bytes, asked))
                if self._deadline.is_over or (is_whole is not None and is_whole.after(chunk)):
                    break
        except (httpx.RemoteProtocolError, httpx.ReadError):
            # What came before it is judged: it shows where the stream stops.
            if not got and not self._deadline.is_over:
                raise
        return Streamed(bytes(got), self._deadline.reason if self._deadline.is_over else None)

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        """Say what went wrong on the way."""
        try:
            yield
        except Failed:
            raise
        except UnicodeError:
            # Of a label that is empty or too long, which httpx leaves to the socket.
            raise Failed(_no_url("its host is no name")) from None
        except Exception as error:  # noqa: BLE001 - what libraries raise on nonsense is not only theirs
            self._deadline.check()
            raise Failed(of_transport(error, self._host, self._timeout)) from None


def _with(body: dict[str, Any] | None) -> dict[str, Any]:
    """A request's body; in ASCII, since a name can have what UTF-8 has not."""
    if body is None:
        return {}
    return {"content": json.dumps(body), "headers": {"Content-Type": "application/json"}}


def _head(answer: httpx.Response) -> bytes:
    """The start of an error's body, however long it is."""
    got = b""
    for chunk in answer.iter_raw():
        got += chunk
        if len(got) > MOST_OF_AN_ERROR:
            break
    return got


def _type_of(answer: httpx.Response) -> str:
    return answer.headers.get("content-type", "").partition(";")[0] or "something of no type"


def _is_loopback(host: str) -> bool:
    """Whether the host is this machine: proxy settings are not for it."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _trust(*, insecure: bool) -> ssl.SSLContext:
    """Whom to trust: nobody, or whom this machine and httpx do."""
    if insecure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context
