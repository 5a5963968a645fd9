"""The tests' endpoint with the two further doors of vLLM: the list of models and the tokenizer.

Its tokenizer counts a token for each word, and three for each message.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from model_server import Fault, ModelServer, Script, _Handler, error, model_server

TOO_LONG = "This model's maximum context length is {limit} tokens. Please reduce the length."


@dataclass
class TokenizingServer:
    """A server with a tokenizer.

    Attributes:
        server: the endpoint itself.
        limit: told as max_model_len; None tells none.
        tokenizes: whether there is a tokenizer.
        enforces: prompts beyond the limit are refused.
        counted: bodies that were counted.
        lookups: how often the list of models was asked for.
    """

    server: ModelServer
    limit: int | None = None
    tokenizes: bool = True
    enforces: bool = False
    counted: list[dict[str, Any]] = field(default_factory=list)
    lookups: int = 0

    @property
    def url(self) -> str:
        return self.server.url


def words(messages: list[dict[str, Any]]) -> int:
    return sum(3 + len(str(message["content"]).split()) for message in messages)


@contextmanager
def tokenizing_server(script: Script, **settings: Any) -> Iterator[TokenizingServer]:
    """Run a server with a tokenizer; `settings` are attributes of it."""
    with model_server(script) as server:
        tokenizing = TokenizingServer(server, **settings)

        class Handler(_Handler):
            def do_GET(self) -> None:  # noqa: N802
                tokenizing.lookups += 1
                if self.path != "/v1/models":
                    return self.send(404, {"error": {"message": "not found"}}, {})
                model: dict[str, Any] = {"id": "tested-model", "object": "model"}
                if tokenizing.limit is not None:
                    model["max_model_len"] = tokenizing.limit
                other = {"id": "another-model", "max_model_len": 7}
                return self.send(200, {"object": "list", "data": [other, model]}, {})

            def do_POST(self) -> None:  # noqa: N802
                if not self.path.endswith("/tokenize"):
                    return super().do_POST()
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path != "/tokenize" or not tokenizing.tokenizes:
                    return self.send(404, {"detail": "Not Found"}, {})
                tokenizing.counted.append(body)
                return self.send(200, {"count": words(body["messages"]), "tokens": []}, {})

            def _answer(self, body: dict[str, Any], fault: Fault) -> None:
                limit = tokenizing.limit or 0
                if tokenizing.enforces and words(body["messages"]) > limit:
                    fault = error(400, TOO_LONG.format(limit=limit))
                super()._answer(body, fault)

        server.RequestHandlerClass = Handler
        yield tokenizing
