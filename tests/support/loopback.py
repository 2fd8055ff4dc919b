"""A server on 127.0.0.1 that speaks enough of the Gemini and DashScope APIs, with scripted faults.

Each request to embed takes the next scripted answer, or succeeds when none is left. What came in is kept.
"""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

KEY = "key-AbC123-never-to-be-seen"


@dataclass(frozen=True)
class Reply:
    """An answer with this status, body and headers, whatever was asked."""

    status: int = 200
    body: object = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Vector:
    """A right answer, but with these values as the vector."""

    values: object


class Drop:
    """The connection is closed without an answer."""


class Truncate:
    """The connection is closed in the middle of the answer's body."""


class Stall:
    """No answer before the server is closed."""


Fault = Reply | Vector | Drop | Truncate | Stall


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def form(self) -> dict[str, bytes]:
        """The fields of a multipart form."""
        head = f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode()
        message = BytesParser(policy=HTTP).parsebytes(head + self.body)
        return {
            str(part.get_param("name", header="content-disposition")): part.get_payload(decode=True)
            for part in message.iter_parts()
        }


def content_vector(content: bytes, dimension: int) -> list[float]:
    """The vector that the server gives a clip or text: different for different content, the same again."""
    seed = int.from_bytes(hashlib.sha256(content).digest()[:8])
    return [float(value) for value in np.random.default_rng(seed).normal(size=dimension)]


def inline_video(part: dict[str, Any]) -> bytes:
    """The video of a part; Google's JSON may have names in either case."""
    (inline,) = part.values()
    assert (inline.get("mimeType") or inline["mime_type"]) == "video/mp4"
    return base64.urlsafe_b64decode(inline["data"])


class Loopback:
    """The server. ``*_faults`` are taken from the left; where none is left the answer is the right one."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.embed_faults: deque[Fault] = deque()
        self.policy_faults: deque[Fault] = deque()
        self.storage_faults: deque[Fault] = deque()
        self.stored: dict[str, bytes] = {}
        self.gate: threading.Barrier | None = None
        """Requests to embed wait here for each other, where it is set."""
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"loopback": self}))
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator[Loopback]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.closing.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def embeddings(self) -> list[Received]:
        return [request for request in self.received if "mbed" in request.path]

    def answer(self, request: Received) -> Fault:
        """The scripted or right answer to a request, which is kept."""
        with self._lock:
            self.received.append(request)
            if request.path == "/storage":
                faults, right = self.storage_faults, self._store
            elif request.path == "/api/v1/uploads":
                faults, right = self.policy_faults, self._policy
            elif request.path == "/v1beta/models/gemini-embedding-2:batchEmbedContents":
                faults, right = self.embed_faults, self._gemini
            elif request.path == "/api/v1/services/embeddings/multimodal-embedding/multimodal-embedding":
                faults, right = self.embed_faults, self._dashscope
            else:
                return Reply(404, {"error": {"message": f"no {request.path}"}})
            fault = faults.popleft() if faults else None
            if fault is not None and not isinstance(fault, Vector):
                return fault
            gate = self.gate if faults is self.embed_faults else None
        if gate is not None:
            gate.wait(timeout=30)
        return right(request, fault)

    def _gemini(self, request: Received, vector: Vector | None) -> Reply:
        if request.headers.get("x-goog-api-key") != KEY:
            return Reply(400, gemini_error(400, "API key not valid.", reason="API_KEY_INVALID"))
        (item,) = request.json["requests"]
        (part,) = item["content"]["parts"]
        content = part["text"].encode() if "text" in part else inline_video(part)
        values = vector.values if vector else content_vector(content, item["outputDimensionality"])
        return Reply(200, {"embeddings": [{"values": values}]})

    def _dashscope(self, request: Received, vector: Vector | None) -> Reply:
        if refusal := self._dashscope_key(request):
            return refusal
        (content,) = request.json["input"]["contents"]
        if "video" in content:
            assert request.headers["x-dashscope-ossresourceresolve"] == "enable"
            data = self.stored[content["video"]]
        else:
            data = content["text"].encode()
        values = vector.values if vector else content_vector(data, request.json["parameters"]["dimension"])
        output = {"embeddings": [{"index": 0, "type": "vl", "embedding": values}]}
        return Reply(200, {"request_id": "1", "output": output, "usage": {"input_tokens": 1}})

    def _policy(self, request: Received, _: object) -> Reply:
        if refusal := self._dashscope_key(request):
            return refusal
        assert request.query == {"action": ["getPolicy"], "model": ["qwen3-vl-embedding"]}
        data = {
            "policy": "a policy",
            "signature": "a signature",
            "upload_dir": "a/folder",
            "upload_host": f"{self.url}/storage",
            "expire_in_seconds": 300,
            "max_file_size_mb": 50,
            "oss_access_key_id": "an id",
            "x_oss_object_acl": "private",
            "x_oss_forbid_overwrite": "true",
        }
        return Reply(200, {"request_id": "2", "data": data})

    def _store(self, request: Received, _: object) -> Reply:
        form = request.form()
        assert form["policy"] == b"a policy"
        assert form["Signature"] == b"a signature"
        assert form["success_action_status"] == b"200"
        name = form["key"].decode()
        if f"oss://{name}" in self.stored:
            return Reply(409, "FileAlreadyExists")
        self.stored[f"oss://{name}"] = form["file"]
        return Reply(200)

    def _dashscope_key(self, request: Received) -> Reply | None:
        given = request.headers.get("authorization", "")
        if given == f"Bearer {KEY}":
            return None
        # The key comes back in the words of the refusal, as a careless gateway may do.
        return Reply(401, {"code": "InvalidApiKey", "message": f"Invalid API-key: {given}"})


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """A running server that both SDKs are sent to by the environment, with the right keys; no connection to
    anywhere else is made."""
    connect = socket.socket.connect

    def only_loopback(self: socket.socket, address: Any) -> None:
        assert address[0] == "127.0.0.1", f"a connection to {address}"
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", only_loopback)
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv(variable.lower(), raising=False)
    loopback = Loopback()
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", loopback.url)
    monkeypatch.setenv("DASHSCOPE_HTTP_BASE_URL", f"{loopback.url}/api/v1")
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    monkeypatch.setenv("DASHSCOPE_API_KEY", KEY)
    with loopback.running():
        yield loopback


def gemini_error(code: int, message: str, *, reason: str = "", retry_delay: str = "") -> object:
    """An error as Google APIs report it."""
    status = {400: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED"}[code]
    details: list[object] = []
    if reason:
        details.append({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason})
    if retry_delay:
        details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": retry_delay})
    return {"error": {"code": code, "message": message, "status": status, "details": details}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    loopback: Loopback

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def _handle(self) -> None:
        target = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.loopback.answer(
            Received(self.command, target.path, parse_qs(target.query), headers, body)
        )
        if isinstance(answer, Reply):
            plain = isinstance(answer.body, str | bytes)
            data = answer.body if isinstance(answer.body, bytes) else None
            if data is None:
                data = (answer.body if isinstance(answer.body, str) else json.dumps(answer.body)).encode()
            self._write(answer, data, "text/plain" if plain else "application/json")
            return
        self.close_connection = True
        if isinstance(answer, Stall):
            self.loopback.closing.wait(60)
        elif isinstance(answer, Truncate):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"embeddings": [')

    def _write(self, answer: Reply, data: bytes, content_type: str) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", content_type))
        self.send_header("Content-Length", str(len(data)))
        for name, value in answer.headers.items():
            if name != "Content-Type":
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass
