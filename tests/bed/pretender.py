"""An HTTP server that answers by a function of the request, and may speak TLS.

It stands for a server of the Responses API that is wrong, or stores, or forgets.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import re
import ssl
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Protocol

from bed.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


MODELS = {"object": "list", "data": [{"id": "m", "object": "model"}]}
STORE_OFF = (
    "This vLLM engine does not support `store=True` and therefore does not support the background "
    "mode. To enable these features, set the environment variable "
    "`VLLM_ENABLE_RESPONSES_API_STORE=1` when launching the vLLM server."
)


@dataclass(frozen=True)
class Asked:
    """A request as it came; `body` is what its JSON says."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """What is answered; the connection ends with the last piece."""

    body: Iterable[bytes] = ()
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


class Answering(Protocol):
    """Answers a request."""

    def __call__(self, asked: Asked) -> Reply:
        """Return the reply."""


def reply_json(body: Any, status: int = 200) -> Reply:
    """A reply of JSON."""
    return Reply([json.dumps(body).encode()], status)


def reply_error(status: int, message: str) -> Reply:
    """An error as vLLM words it."""
    return reply_json({"error": {"message": message, "code": status}}, status)


def reply_stream(pieces: Iterable[bytes]) -> Reply:
    """An event stream."""
    return Reply(pieces, content_type="text/event-stream; charset=utf-8")


class Pretender(Serving):
    """The running server. Use it as a context manager.

    Attributes:
        url: Its base URL.
        asked: The requests that came, in order.
    """

    def __init__(self, answer: Answering, tls: ssl.SSLContext | None = None) -> None:
        """Start it on a loopback port."""
        asked: list[Asked] = []

        class Handler(BaseHTTPRequestHandler):
            """Answers one request."""

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

            def reply(self) -> None:
                """Answer."""
                length = int(self.headers.get("content-length", 0))
                body = json.loads(self.rfile.read(length)) if length else None
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked.append(Asked(self.command, self.path, headers, body))
                reply = answer(asked[-1])
                self.send_response(reply.status)
                for name, value in {"content-type": reply.content_type, **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                for piece in reply.body:
                    self.wfile.write(piece)

            do_GET = do_POST = reply  # noqa: N815 - the base class asks for them

        self.asked = asked
        super().__init__(Handler, tls)


class PretendVllm:
    """Answers as a vLLM does whose every stream is the same.

    Attributes:
        raw: The stream.
        response: The response that it ends with, which is what is stored.
        stores: Whether it stores.
    """

    def __init__(self, raw: bytes, *, stores: bool = True) -> None:
        """Take the stream."""
        self.raw = raw
        self.stores = stores
        data = [line[6:] for line in raw.splitlines() if line.startswith(b"data: ")]
        self.response = json.loads(data[-1])["response"]

    def __call__(self, asked: Asked) -> Reply:
        """Return the reply to a request."""
        if asked.target == "/v1/models":
            return reply_json(MODELS)
        if asked.method == "POST":
            return self.posted(asked.body)
        if not self.stores:
            return reply_error(404, f"Response with id '{self.response['id']}' not found.")
        after = re.search(r"starting_after=(\d+)", asked.target)
        return self.stored() if after is None else self.rejoined(int(after[1]))

    def posted(self, body: Mapping[str, Any]) -> Reply:
        """Return the reply to a request for a response."""
        if body.get("background") and not self.stores:
            return reply_error(400, STORE_OFF)
        return reply_stream([self.raw])

    def stored(self) -> Reply:
        """Return the stored response."""
        return reply_json(self.response)

    def rejoined(self, after: int) -> Reply:
        """Return the rest of the stream."""
        frames = self.raw.split(b"\n\n")
        return reply_stream([b"\n\n".join(frames[after + 1 :])])


def self_signed(folder: Path) -> ssl.SSLContext:
    """TLS with a certificate that nobody trusts, made with what comes with vLLM."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pretender")])
    now = dt.datetime.now(dt.timezone.utc)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    pem = serialization.Encoding.PEM
    file.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(pem)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
