"""The page's server, on the loopback address alone.

Whoever else is on the machine, or whatever page is open in the browser, gets nothing: the address holds a
random token, requests must name the server's own host (against DNS rebinding), and nothing is served but the
page and the windows that the console shows.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, ClassVar, Protocol

from accuracy_tui.player import PlayerError
from accuracy_tui.player.browser_page import PAGE

_SILENT_SECONDS = 15.0
"""A connection that sends nothing for so long is closed."""

_MOST_CONNECTIONS = 32
_MOST_BODY = 4096

_kept: dict[str, Any] = {}
"""The port and the token of this program's first page: a tunnel and a page, once open, go on to be of use."""


class Clips(Protocol):
    """What is served."""

    def state(self, since: int) -> dict[str, Any]: ...
    def video(self, number: int, *, around: bool) -> bytes | None: ...
    def event(self, told: dict[str, Any]) -> None: ...


class PageServer(ThreadingHTTPServer):
    """Serves from threads of its own until it is closed.

    Raises:
        PlayerError: no port on the loopback address can be had.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    allow_reuse_port = False  # nobody else may listen there beside us

    def __init__(self, clips: Clips) -> None:
        self.clips = clips
        self._mutex = threading.Lock()
        self._open: dict[socket.socket, bool] = {}  # and whether it has shown the token
        try:
            super().__init__(("127.0.0.1", _kept.get("port", 0)), _Handler)
        except OSError:
            _kept.clear()
            try:
                super().__init__(("127.0.0.1", 0), _Handler)
            except OSError as error:
                raise PlayerError(f"no port can be had: {error.strerror}") from error
        self.port: int = self.server_address[1]
        self.token: str = _kept.setdefault("token", secrets.token_urlsafe(24))
        _kept["port"] = self.port
        self.address = f"http://127.0.0.1:{self.port}/{self.token}/"
        threading.Thread(target=self.serve_forever, args=(0.05,), name="page", daemon=True).start()

    def server_bind(self) -> None:
        """Without asking a name server what this host is called, as the base class would."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def close(self) -> None:
        """Ends it and the connections that are still open."""
        self.shutdown()
        self.server_close()
        with self._mutex:
            open_ones, self._open = self._open, {}
        for connection in open_ones:
            _end(connection)

    def trust(self, connection: socket.socket) -> None:
        """Notes that a connection has shown the token."""
        with self._mutex:
            if connection in self._open:
                self._open[connection] = True

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._mutex:
            strangers = [connection for connection, known in self._open.items() if not known]
            crowded = len(self._open) >= _MOST_CONNECTIONS
            if crowded and strangers:  # who is silent, or slow, makes room
                self._open.pop(strangers[0])
                _end(strangers[0])
            if not crowded or strangers:
                self._open[request] = False
        if crowded and not strangers:
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._mutex:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that goes away in the middle is no news, and nothing may be printed over the console."""


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    timeout = _SILENT_SECONDS
    protocol_version = "HTTP/1.1"
    server_version = "accuracy-tui"
    sys_version = ""
    _NO_STORE: ClassVar[dict[str, str]] = {
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
    }

    def do_GET(self) -> None:
        path = self._path()
        if path is None:
            return
        clips = self.server.clips
        if path == "":
            self._page()
        elif match := re.fullmatch(r"state\?since=(-?[0-9]{1,15})", path):
            state = json.dumps(clips.state(int(match[1]))).encode()
            self._answer(200, state, {"Content-Type": "application/json"})
        elif match := re.fullmatch(r"clip/([0-9]{1,9})(-around)?\.mp4", path):
            self._video(clips.video(int(match[1]), around=match[2] is not None))
        else:
            self._refuse(404)

    def do_POST(self) -> None:
        path = self._path()
        if path is None:
            return
        length = self.headers.get("Content-Length", "")
        origin = self.headers.get("Origin")
        if path != "event" or not re.fullmatch(r"[0-9]{1,6}", length) or int(length) > _MOST_BODY:
            self._refuse(404)
        elif origin is not None and origin not in {f"http://{host}" for host in self._hosts()}:
            self._refuse(403)
        else:
            try:
                told = json.loads(self.rfile.read(int(length)))
            except (ValueError, RecursionError):
                told = None
            if not isinstance(told, dict):
                self._refuse(400)
                return
            self.server.clips.event(told)
            self._answer(204, b"", {})

    def _path(self) -> str | None:
        """What follows the token; None where the request was refused."""
        if self.headers.get("Host") not in self._hosts() or len(self.headers.get_all("Host", [])) != 1:
            self._refuse(403)
            return None
        prefix = f"/{self.server.token}/"
        token = self.path[: len(prefix)]
        if not secrets.compare_digest(token.encode("utf-8", "replace"), prefix.encode()):
            self._refuse(404)
            return None
        self.server.trust(self.connection)
        return self.path[len(prefix) :]

    def _hosts(self) -> set[str]:
        return {f"127.0.0.1:{self.server.port}", f"localhost:{self.server.port}"}

    def _page(self) -> None:
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; media-src 'self'; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        page = PAGE.replace("NONCE", nonce).encode()
        headers = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy}
        self._answer(200, page, headers)

    def _video(self, video: bytes | None) -> None:
        if video is None:
            self._refuse(404)
            return
        headers = {"Content-Type": "video/mp4", "Accept-Ranges": "bytes"}
        match = re.fullmatch(r"bytes=([0-9]{1,12})-([0-9]{0,12})", self.headers.get("Range", ""))
        if match is None:
            self._answer(200, video, headers)
            return
        start = int(match[1])
        end = min(int(match[2]) if match[2] else len(video) - 1, len(video) - 1)
        if start > end:
            self._answer(416, b"", {"Content-Range": f"bytes */{len(video)}"})
            return
        headers["Content-Range"] = f"bytes {start}-{end}/{len(video)}"
        self._answer(206, video[start : end + 1], headers)

    def _refuse(self, status: int) -> None:
        self.close_connection = True
        self._answer(status, b"", {"Connection": "close"})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**self._NO_STORE, **headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is the console's, and the address holds the token."""
