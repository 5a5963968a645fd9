"""An endpoint for chat completions on the loopback, real down to its sockets, that fails by script.

A reply repeats nothing of the prompt but a hash of it, unless the script says so. Which requests
fail is decided by `Script.fault`, which sees the whole body and how often this prompt came before,
or by rules that are data: `RuledEndpoint`.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from web_server import LoopbackServer, QuietHandler, serving

Body = dict[str, Any]

_TLS = Path(__file__).with_name("fixtures") / "tls"
# An authority of the tests' own, and what it signed: for models.example.org and 127.0.0.1. Made
# with openssl (a key and a certificate each); the authority's key was thrown away.
AUTHORITY = _TLS / "ca.pem"
_SIGNED = _TLS / "server.pem"
_MARKER = re.compile(r"^VERDICT-[0-9a-f]{16}$", re.MULTILINE)


@dataclass(frozen=True)
class Fault:
    """One way not to answer.

    Attributes:
        status: of the response; 0 for none.
        body: of the response; a mapping is sent as JSON, a text or bytes as they are.
        headers: of the response, over the usual ones.
        seconds: before anything is sent.
        drops: the connection is reset instead of answered.
        cuts: the connection is reset in the midst of the body.
        hangs: nothing is ever sent, until the server is closed.
    """

    status: int = 0
    body: Mapping[str, Any] | str | bytes = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    drops: bool = False
    cuts: bool = False
    hangs: bool = False


def error(
    status: int, message: str, headers: Mapping[str, str] | None = None, **more: str
) -> Fault:
    """Return an error in the layout of OpenAI."""
    return Fault(status, {"error": {"message": message, **more}}, headers or {})


LIMIT = error(429, "Rate limit reached", code="rate_limit_exceeded")
SERVER = error(500, "The server had an error")
BAD_REQUEST = error(400, "Invalid value for messages", code="invalid_value")


def slow(seconds: float) -> Fault:
    return Fault(seconds=seconds)


@dataclass
class Script:
    """What the server does.

    Attributes:
        fault: gives the fault for a body and the number of earlier requests with this prompt.
        reply: gives the text of an answer, or the choice's fields to be put over the usual ones.
        usage: counted tokens; None to leave them out.
    """

    fault: Callable[[Body, int], Fault | None] = lambda body, before: None
    reply: Callable[[Body], str | dict[str, Any]] = lambda body: f"answer {prompt_hash(body)}"
    usage: Mapping[str, Any] | None = field(
        default_factory=lambda: {"prompt_tokens": 100, "completion_tokens": 10}
    )


@dataclass
class Seen:
    """What came in.

    Attributes:
        connections: accepted.
        bytes: read from all of them, headers included.
        bodies: of the requests, in the order in which they came.
        headers: of the requests.
        open_now: requests that are being answered.
        most_open: the most of them at one moment.
    """

    connections: int = 0
    bytes: int = 0
    bodies: list[Body] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    open_now: int = 0
    most_open: int = 0

    @property
    def requests(self) -> int:
        return len(self.bodies)


def prompt_of(body: Body) -> str:
    return str(body["messages"][-1]["content"])


def prompt_hash(body: Body) -> str:
    return hashlib.sha256(prompt_of(body).encode()).hexdigest()[:12]


def marker_of(body: Body) -> str:
    """Return the marker that a judge is asked for; nothing where a prompt asks for none."""
    return (_MARKER.findall(prompt_of(body)) or [""])[-1]


def tool_calls(calls: Iterable[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Return calls of tools as a message has them; arguments that are no text become JSON."""
    functions = [
        {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)}
        for name, given in calls
    ]
    return [
        {"id": f"c{number}", "type": "function", "function": function}
        for number, function in enumerate(functions)
    ]


class RuledEndpoint:
    """An endpoint by rules; the first that fits a request answers it.

    A rule is for every request, or for those with `when` in their last message, of the `model`, in
    the `turn` (answers of the model before), for a prompt the first `times` it comes, for the one
    request that is the `nth`, for requests whose parameters, as JSON, have the text `sends`, or for
    those with a message of the `role`.

    It gives `text` (`$MARKER` is the judge's marker), `finish`, `thinking`, `refusal`, `calls`
    (tool and arguments), fields of the `reply` over these, and `usage`; or a response with `body`
    and `headers` as they are; or `status` with `message`, `code`, `type`, `param`, `retry_after`;
    or `drops`, `cuts` or `hangs`; or the usual after `seconds`.
    """

    def __init__(self, rules: list[dict[str, Any]]) -> None:
        self._rules = rules
        self._chosen: dict[int, dict[str, Any]] = {}
        self._count = 0
        self.script = Script(fault=self._fault, reply=self._reply)

    def _fits(self, rule: Mapping[str, Any], body: Body, before: int) -> bool:
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        sent = {name: value for name, value in body.items() if name != "messages"}
        return (
            rule.get("when", "") in prompt_of(body)
            and rule.get("model", body["model"]) == body["model"]
            and rule.get("turn", turn) == turn
            and before < rule.get("times", before + 1)
            and rule.get("nth", self._count) == self._count
            and rule.get("sends", "") in json.dumps(sent)
            and ("role" not in rule or rule["role"] in [m["role"] for m in body["messages"]])
        )

    def rule(self, body: Body, before: int) -> dict[str, Any]:
        fitting = (rule for rule in self._rules if self._fits(rule, body, before))
        return next(fitting, {"status": 404, "message": "no rule"})

    def _fault(self, body: Body, before: int) -> Fault | None:
        self._count += 1
        rule = self.rule(body, before)
        self._chosen[id(body)] = rule
        headers = dict(rule.get("headers", {}))
        if "retry_after" in rule:
            headers["Retry-After"] = str(rule["retry_after"])
        if "body" in rule:
            return Fault(rule.get("status", 200), rule["body"], headers)
        if "status" in rule:
            more = {name: rule[name] for name in ("code", "type", "param") if name in rule}
            return error(rule["status"], rule.get("message", ""), headers, **more)
        kinds = ("seconds", "drops", "cuts", "hangs")
        return Fault(**{name: rule[name] for name in kinds if name in rule})

    def _reply(self, body: Body) -> dict[str, Any]:
        return self.answer(self._chosen.pop(id(body)), body)

    def answer(self, rule: Mapping[str, Any], body: Body) -> dict[str, Any]:
        text = rule.get("text", "")
        text = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
        given: dict[str, Any] = {
            "content": text.replace("$MARKER", marker_of(body)),
            "finish_reason": rule.get("finish", "tool_calls" if "calls" in rule else "stop"),
        }
        if "thinking" in rule:
            given["reasoning_content"] = rule["thinking"]
        if "refusal" in rule:
            given["refusal"] = rule["refusal"]
        if "calls" in rule:
            given["tool_calls"] = tool_calls(rule["calls"])
        usage = {"usage": rule["usage"]} if "usage" in rule else {}
        return {**given, **rule.get("reply", {}), **usage}


class ModelServer(LoopbackServer):
    """The server; `url` is its base URL.

    It is a proxy as well, one that reads what goes through it: it answers in the place of whoever
    a client wants to be connected with, by a certificate of the tests' own authority.
    """

    def __init__(
        self, script: Script, *, is_tls: bool = False, address: tuple[str, int] = ("127.0.0.1", 0)
    ) -> None:
        super().__init__(address, _Handler)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(_SIGNED)
        self.scheme = "https" if is_tls else "http"
        if is_tls:
            self.socket = self.tls.wrap_socket(self.socket, server_side=True)
        self.script = script
        self.seen = Seen()
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.before: Counter[str] = Counter()

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.server_address[0]!s}:{self.server_address[1]}/v1"

    def shutdown(self) -> None:
        self.closing.set()
        super().shutdown()

    @property
    def proxy(self) -> str:
        return self.url.removesuffix("/v1")


class _Handler(QuietHandler):
    server: ModelServer
    protocol_version = "HTTP/1.1"
    # Else a body waits until its header is acknowledged, which a client delays by 40 ms.
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        with self.server.lock:
            self.server.seen.connections += 1

    def finish(self) -> None:
        super().finish()
        self.connection.close()

    def do_CONNECT(self) -> None:  # noqa: N802
        self.send_response(200)
        self.end_headers()
        self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb", -1)
        self.wfile = self.connection.makefile("wb", 0)

    def do_POST(self) -> None:  # noqa: N802
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        head = len(self.raw_requestline) + len(bytes(str(self.headers), "latin-1"))
        body = json.loads(raw)
        server = self.server
        with server.lock:
            seen = server.seen
            seen.bytes += head + len(raw)
            seen.bodies.append(body)
            seen.headers.append(self.named_headers())
            seen.open_now += 1
            seen.most_open = max(seen.most_open, seen.open_now)
            before = server.before[prompt_of(body)]
            server.before[prompt_of(body)] += 1
        try:
            self._answer(body, server.script.fault(body, before) or Fault())
        finally:
            with server.lock:
                seen.open_now -= 1

    def _answer(self, body: Body, fault: Fault) -> None:
        if fault.hangs:
            self.server.closing.wait()
            self.close_connection = True
            return
        if fault.seconds:
            time.sleep(fault.seconds)
        if fault.cuts:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b'{"choices": [')
        if fault.drops or fault.cuts:
            # Reset, not closed: the client sees a broken connection.
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.close_connection = True
            self.connection.close()
            return
        if fault.status:
            self.send(fault.status, fault.body, fault.headers)
        else:
            self.send(200, self._completion(body), {})

    def _completion(self, body: Body) -> dict[str, Any]:
        replied = self.server.script.reply(body)
        over = {"content": replied} if isinstance(replied, str) else dict(replied)
        finish_reason = over.pop("finish_reason", "stop")
        usage = over.pop("usage", self.server.script.usage)
        message = {"role": "assistant", "content": "", **over}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": f"{body['model']}-2026-01-01",
            "system_fingerprint": "fp_1",
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
            **({} if usage is None else {"usage": dict(usage)}),
        }

    def send(self, status: int, body: Any, headers: Mapping[str, str]) -> None:
        super().send(status, body, {"Content-Type": "application/json", **headers})


@contextmanager
def model_server(
    script: Script | None = None,
    *,
    is_tls: bool = False,
    address: tuple[str, int] = ("127.0.0.1", 0),
) -> Iterator[ModelServer]:
    """Run a server for the length of a block; on a free port, or at an address once it is free."""
    while True:
        try:
            server = ModelServer(script or Script(), is_tls=is_tls, address=address)
            break
        except OSError:
            if not address[1]:
                raise
            time.sleep(0.05)
    with serving(server):
        yield server
