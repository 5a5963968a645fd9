"""A server on the loopback that answers each request by a function, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Page:
    """What is sent back; a body that is neither text nor bytes is sent as JSON."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0


class WebServer(ThreadingHTTPServer):
    """The server; `asked` holds the path, headers (in lower case) and JSON of each request."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, respond: Callable[[str, Any], Page]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.respond = respond
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news here."""


class _Handler(BaseHTTPRequestHandler):
    server: WebServer

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "null")
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append((self.path, headers, given))
        page = self.server.respond(self.path, given)
        time.sleep(page.seconds)
        body = page.body if isinstance(page.body, str | bytes) else json.dumps(page.body)
        raw = body.encode() if isinstance(body, str) else body
        self.send_response(page.status)
        for name, value in {"Content-Length": str(len(raw)), **page.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    do_POST = do_GET  # noqa: N815 - the name is the base class's


@contextmanager
def web_server(respond: Callable[[str, Any], Page]) -> Iterator[WebServer]:
    """Run a server for the length of a block."""
    server = WebServer(respond)
    thread = threading.Thread(target=server.serve_forever, args=(0.005,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
