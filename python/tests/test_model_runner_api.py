"""Models behind a plain address: what is posted, what comes back, and what goes wrong."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from medeval.errors import UserError
from medeval.evaluation.model_runner import ModelRunner
from medeval.inference.guard import RefusedError
from medeval.inference.openai_replies import LONGEST
from medeval.models.medical_task import MedicalTask

KEY = "sk-secret-0123456789"
ROWS = [{"question": f"question {number}"} for number in range(5)]


@dataclass(frozen=True)
class Response:
    """What is sent back for a batch."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0


def label_all(batch: list[Any], before: int) -> Response:
    return Response(body=[{"label": row["question"], "score": 0.5} for row in batch])


class BatchServer(ThreadingHTTPServer):
    """An endpoint on the loopback that answers batches by a function."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, respond: Callable[[list[Any], int], Response]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.respond = respond
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/predict"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news here."""


class _Handler(BaseHTTPRequestHandler):
    server: BatchServer

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        before = self.server.bodies.count(body)
        self.server.bodies.append(body)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        response = self.server.respond(body, before)
        time.sleep(response.seconds)
        body = response.body
        text = body if isinstance(body, str | bytes) else json.dumps(body)
        raw = text.encode() if isinstance(text, str) else text
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


@contextmanager
def batch_server(
    respond: Callable[[list[Any], int], Response] = label_all,
) -> Iterator[BatchServer]:
    server = BatchServer(respond)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def api_runner(url: str, folder: Path, **given: Any) -> ModelRunner:
    runner = ModelRunner(folder=folder / "models", endpoints=folder / "endpoints.toml")
    parameters = {"endpoint": url, "api_key": KEY, "backoff_factor": 0.01, **given}
    runner.load_model("m", model_type="api", **parameters)
    return runner


def run(runner: ModelRunner, size: int = 2) -> list[Any]:
    return runner.run_model("m", ROWS, batch_size=size, data_class="open")


def labels(*numbers: int) -> list[Any]:
    return [{"label": f"question {number}", "score": 0.5} for number in numbers]


def test_the_batch_is_posted_as_it_is_with_a_bearer_token(tmp_path: Path) -> None:
    with batch_server() as server:
        runner = api_runner(server.url, tmp_path, headers={"X-Version": "3"})
        assert run(runner) == labels(0, 1, 2, 3, 4)
    assert server.bodies == [ROWS[:2], ROWS[2:4], ROWS[4:]]
    for headers in server.headers:
        assert headers["authorization"] == f"Bearer {KEY}"
        assert headers["content-type"] == "application/json"
        assert headers["x-version"] == "3"


def test_an_output_that_is_a_mapping_stays_as_it_is_and_other_values_are_labels(
    tmp_path: Path,
) -> None:
    answers = [{"answer": "yes"}, "no", 3, None, {"label": "a", "score": 1}]
    with batch_server(lambda batch, before: Response(body=answers)) as server:
        outputs = run(api_runner(server.url, tmp_path), size=5)
    assert outputs == [
        {"answer": "yes"},
        {"label": "no", "score": 1.0},
        {"label": "3", "score": 1.0},
        {"error": {"type": "empty", "attempts": 1}},
        {"label": "a", "score": 1},
    ]


def test_a_failed_batch_moves_no_later_answer_onto_its_place(tmp_path: Path) -> None:
    def second_fails(batch: list[Any], before: int) -> Response:
        return Response(500, "broken") if ROWS[2] in batch else label_all(batch, before)

    with batch_server(second_fails) as server:
        outputs = run(api_runner(server.url, tmp_path))
    failed = {"error": {"type": "server", "attempts": 1, "status": 500, "batch": 2}}
    assert outputs == [*labels(0, 1), failed, failed, *labels(4)]
    assert len(server.bodies) == 3


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            [{"label": "only one"}],
            {"type": "WrongLength", "attempts": 1, "batch": 2, "returned": 1},
        ),
        ({"outputs": []}, {"type": "NotAList", "attempts": 1, "batch": 2}),
        ("<html>", {"type": "broken_reply", "attempts": 2, "status": 200, "batch": 2}),
    ],
)
def test_a_reply_of_another_form_is_an_error_for_its_batch(
    tmp_path: Path, body: Any, error: dict[str, Any]
) -> None:
    def first_is_wrong(batch: list[Any], before: int) -> Response:
        return Response(body=body) if ROWS[0] in batch else label_all(batch, before)

    with batch_server(first_is_wrong) as server:
        outputs = run(api_runner(server.url, tmp_path, max_retries=1))
    assert outputs == [{"error": error}, {"error": error}, *labels(2, 3, 4)]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_what_may_pass_is_tried_again_as_often_as_allowed(tmp_path: Path, status: int) -> None:
    def fails(batch: list[Any], before: int) -> Response:
        return Response(status, "") if before < 2 else label_all(batch, before)

    with batch_server(fails) as server:
        assert run(api_runner(server.url, tmp_path, max_retries=2), size=5) == labels(0, 1, 2, 3, 4)
        assert len(server.bodies) == 3
    with batch_server(fails) as server:
        outputs = run(api_runner(server.url, tmp_path, max_retries=1), size=5)
        assert len(server.bodies) == 2
    assert [each["error"]["attempts"] for each in outputs] == [2] * 5


def test_nothing_is_tried_again_unless_that_is_asked_for(tmp_path: Path) -> None:
    with batch_server(lambda batch, before: Response(503, "")) as server:
        run(api_runner(server.url, tmp_path), size=5)
    assert len(server.bodies) == 1


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_that_is_refused_is_not_tried_again(tmp_path: Path, status: int) -> None:
    with batch_server(lambda batch, before: Response(status, "")) as server:
        outputs = run(api_runner(server.url, tmp_path, max_retries=3))
    assert len(server.bodies) == 3
    # Whatever the words are, less text would mend a request that is too large.
    code = {"code": "context_length_exceeded"} if status == 413 else {}
    error = {"type": "request", "attempts": 1, "status": status, **code}
    assert outputs == [{"error": {**error, "batch": size}} for size in (2, 2, 2, 2, 1)]


@pytest.mark.parametrize(("status", "kind"), [(401, "key"), (403, "key"), (404, "model")])
def test_what_every_batch_would_meet_is_met_once(tmp_path: Path, status: int, kind: str) -> None:
    with batch_server(lambda batch, before: Response(status, "")) as server:
        outputs = run(api_runner(server.url, tmp_path, max_retries=3))
    assert len(server.bodies) == 1
    assert {each["error"]["type"] for each in outputs} == {kind}
    assert [each["error"]["attempts"] for each in outputs] == [1, 1, 0, 0, 0]


def test_an_endpoint_that_asks_for_a_long_wait_is_not_waited_for(tmp_path: Path) -> None:
    busy = Response(429, "", {"Retry-After": "3600"})
    with batch_server(lambda batch, before: busy) as server:
        outputs = run(api_runner(server.url, tmp_path, max_retries=3), size=5)
    assert outputs[0]["error"] == {"type": "limit", "attempts": 1, "status": 429, "batch": 5}


def test_no_connection_and_no_reply_in_time_are_told_apart(tmp_path: Path) -> None:
    with batch_server(lambda batch, before: Response(seconds=1.0)) as server:
        outputs = run(api_runner(server.url, tmp_path, timeout=0.1), size=5)
        assert outputs[0]["error"]["type"] == "timeout"
        url = server.url
    outputs = run(api_runner(url, tmp_path, max_retries=1), size=5)
    assert outputs[0]["error"]["type"] == "connection"
    assert outputs[0]["error"]["attempts"] == 2


def test_a_redirection_is_not_followed(tmp_path: Path) -> None:
    with batch_server() as elsewhere:
        moved = Response(307, "", {"Location": elsewhere.url})
        with batch_server(lambda batch, before: moved) as server:
            outputs = run(api_runner(server.url, tmp_path))
        assert elsewhere.bodies == []
    assert outputs[0]["error"]["status"] == 307


def test_the_key_is_written_nowhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def echoes(batch: list[Any], before: int) -> Response:
        if ROWS[0] in batch:
            return Response(400, {"error": {"code": KEY, "message": KEY}})
        return Response(body=[f"key {KEY}"] * len(batch))

    with batch_server(echoes) as server:
        runner = api_runner(server.url, tmp_path, headers={"X-Secret": KEY})
        model = runner.load_model(
            {"name": "n", "type": "api", "endpoint": server.url, "api_key": KEY}
        )
        outputs = run(runner)
    told = json.dumps([outputs, runner.describe("m")]) + repr(model) + "".join(capfd.readouterr())
    assert outputs[4] == {"label": "key [key]", "score": 1.0}
    assert KEY not in told
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) == 1  # the audit
    assert KEY not in written[0].read_text(encoding="utf-8")


def test_the_key_may_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESTED_KEY", KEY)
    with batch_server() as server:
        run(api_runner(server.url, tmp_path, api_key=None, key_variable="TESTED_KEY"))
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_what_is_missing_or_wrong_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs endpoint"):
        api_runner("", tmp_path)
    with pytest.raises(ValueError, match="needs api_key"):
        api_runner("http://127.0.0.1:9/x", tmp_path, api_key=None)
    with pytest.raises(ValueError, match="no header can carry"):
        api_runner("http://127.0.0.1:9/x", tmp_path, api_key="ключ")
    with pytest.raises(UserError, match="a user, a query or a fragment"):
        api_runner("http://127.0.0.1:9/x?key=1", tmp_path)
    runner = api_runner("http://127.0.0.1:9/x", tmp_path)
    with pytest.raises(ValueError, match="takes no options: top_p"):
        runner.run_model("m", ROWS, top_p=1)
    with pytest.raises(ValueError, match="cannot be posted as JSON"):
        runner.run_model("m", [{"value": float("nan")}], data_class="open")


def test_credentialed_inputs_go_to_no_endpoint_that_is_not_declared(tmp_path: Path) -> None:
    task = MedicalTask(task_id="p", task_type="qa", inputs=ROWS)
    with batch_server() as server:
        runner = api_runner(server.url, tmp_path)
        for given in ({}, {"task": task}, {"data_class": "credentialed"}):
            with pytest.raises(RefusedError, match="Nothing was sent"):
                runner.run_model("m", ROWS, **given)  # type: ignore[arg-type]
        assert server.bodies == []
        declared = f'[[endpoint]]\nbase_url = "{server.url}"\nruns_locally = true\n'
        (tmp_path / "endpoints.toml").write_text(declared, encoding="utf-8")
        runner = api_runner(server.url, tmp_path)
        assert runner.run_model("m", ROWS, task=task) == labels(0, 1, 2, 3, 4)


def test_every_request_leaves_a_line_in_the_audit_without_text(tmp_path: Path) -> None:
    with batch_server(lambda batch, before: Response(503, "")) as server:
        run(api_runner(server.url, tmp_path, max_retries=1))
    text = (tmp_path / "models" / "audit.jsonl").read_text(encoding="utf-8")
    assert len(text.splitlines()) == len(server.bodies) == 6
    assert "question" not in text


def test_a_body_that_cannot_be_decoded_is_an_error_of_its_batch_and_hides_the_key(
    tmp_path: Path,
) -> None:
    def first_is_garbled(batch: list[Any], before: int) -> Response:
        told = {"Content-Encoding": "gzip"}
        return Response(body="no gzip", headers=told) if ROWS[0] in batch else label_all(batch, 0)

    with batch_server(first_is_garbled) as server:
        outputs = run(api_runner(server.url, tmp_path, max_retries=1))
    error = {"type": "broken_reply", "attempts": 2, "code": "DecodingError", "batch": 2}
    assert outputs == [{"error": error}, {"error": error}, *labels(2, 3, 4)]
    assert KEY not in json.dumps(outputs)


def test_a_key_that_an_endpoint_quotes_escaped_is_in_no_output(tmp_path: Path) -> None:
    key = "sk-pl/anted+KEY0123=="
    echo = "".join(f"\\u{ord(each):04x}" for each in key)
    body = f'[{{"label": "{echo}"}}, {{"label": "{key.replace("/", chr(92) + "/")}"}}]'
    with batch_server(lambda batch, before: Response(body=body)) as server:
        runner = api_runner(server.url, tmp_path, api_key=key)
        outputs = runner.run_model("m", ROWS[:2], data_class="open")
    assert outputs == [{"label": "[key]"}, {"label": "[key]"}]


@pytest.mark.parametrize("status", [200, 400])
def test_a_response_is_cut_at_its_size_and_read_as_utf_8(tmp_path: Path, status: int) -> None:
    bomb = Response(status, gzip.compress(b"[" + b" " * LONGEST), {"Content-Encoding": "gzip"})
    with batch_server(lambda batch, before: bomb) as server:
        outputs = run(api_runner(server.url, tmp_path / "a", max_retries=0))
    assert {output["error"]["type"] for output in outputs} == {"broken_reply"}
    named = {"Content-Type": "application/json; charset=base64"}
    with batch_server(
        lambda batch, before: Response(200, ["\u00e9"] * len(batch), named)
    ) as server:
        assert run(api_runner(server.url, tmp_path / "b"))[0]["label"] == "\u00e9"


def test_a_sentence_stops_the_batches_only_when_it_comes_twice_in_a_row(tmp_path: Path) -> None:
    used_up = Response(403, {"error": {"message": "Your balance is insufficient"}})

    def respond(batch: list[Any], before: int) -> Response:
        return used_up if batch[0] != ROWS[2] else label_all(batch, before)

    with batch_server(respond) as server:
        run(api_runner(server.url, tmp_path / "a"))
        assert len(server.bodies) == 3
    with batch_server(lambda batch, before: used_up) as server:
        run(api_runner(server.url, tmp_path / "b"))
        assert len(server.bodies) == 2
