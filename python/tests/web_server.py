"""A server on the loopback that answers each request by a function, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

Served = TypeVar("Served", bound="LoopbackServer")


@dataclass(frozen=True)
class Page:
    """What is sent back; a body that is neither text nor bytes is sent as JSON."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0


class LoopbackServer(ThreadingHTTPServer):
    """A server that nobody has to wait for when it is closed."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news here."""


class QuietHandler(BaseHTTPRequestHandler):
    """What answers a request without a word on the terminal."""

    def log_message(self, *args: Any) -> None:
        pass

    def named_headers(self) -> dict[str, str]:
        """Return the request's headers, their names in lower case."""
        return {name.lower(): value for name, value in self.headers.items()}

    def send(self, status: int, body: Any, headers: Mapping[str, str]) -> None:
        """Send a body: a text or bytes as they are, anything else as JSON."""
        text = body if isinstance(body, str | bytes) else json.dumps(body)
        raw = text.encode() if isinstance(text, str) else text
        self.send_response(status)
        for name, value in {"Content-Length": str(len(raw)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)


class WebServer(LoopbackServer):
    """The server; `asked` holds the path, headers (in lower case) and JSON of each request."""

    def __init__(self, respond: Callable[[str, Any], Page]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.respond = respond
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(QuietHandler):
    server: WebServer

    def do_GET(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "null")
        self.server.asked.append((self.path, self.named_headers(), given))
        page = self.server.respond(self.path, given)
        time.sleep(page.seconds)
        self.send(page.status, page.body, page.headers)

    do_POST = do_GET  # noqa: N815 - the name is the base class's


def web_server(respond: Callable[[str, Any], Page]) -> AbstractContextManager[WebServer]:
    """Run a server for the length of a block."""
    return serving(WebServer(respond))


@contextmanager
def serving(server: Served) -> Iterator[Served]:
    """Have a server answer for the length of a block."""
    thread = threading.Thread(target=server.serve_forever, args=(0.005,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
