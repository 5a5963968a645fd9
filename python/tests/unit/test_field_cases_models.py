"""What went wrong for others: endpoints that go away, full disks."""

from __future__ import annotations

import resource
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from inference_runs import MODEL, QUICK, ask, content, lines, open_items, run_of
from model_server import LIMIT, Body, Fault, ModelServer, Script, model_server, slow

from medeval.errors import UserError
from medeval.inference.guard import DataUseGuard
from medeval.inference.journal import Journal
from medeval.inference.python_model import PythonModel
from medeval.inference.run import AUDIT, RESPONSES, RunConfig
from medeval.inference.types import Outcome, Sample


def test_an_endpoint_that_takes_fewer_at_a_time_refuses_few(tmp_path: Path) -> None:
    refused = 0
    servers: list[ModelServer] = []

    def fault(body: Body, before: int) -> Fault:
        nonlocal refused
        if servers[0].seen.open_now > 8:
            refused += 1
            return LIMIT
        return slow(0.05)

    with model_server(Script(fault)) as server:
        servers.append(server)
        options = RunConfig(concurrency=32, retries=QUICK)
        ended = ask(server.url, tmp_path, open_items(200), options)
    assert ended.progress.ledger[Outcome.ANSWERED] == len(lines(tmp_path)) == 200
    assert ended.stopped == ""
    # Of the first 32 at once 24 are too many; then one more is tried every few rounds.
    assert refused == ended.progress.retries < 60


def test_an_address_where_nobody_takes_the_connection_is_no_endpoint(tmp_path: Path) -> None:
    options = RunConfig(concurrency=5, retries=replace(QUICK, attempts=1))
    with socket.socket() as listening, ExitStack() as waiting:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        # The queue of connections is full: the kernel leaves further ones without a reply.
        for _ in range(4):
            first = waiting.enter_context(socket.socket())
            first.setblocking(False)
            first.connect_ex(listening.getsockname())
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        ended = ask(url, tmp_path, open_items(20), options, timeout=1.0)
    assert "no connection" in ended.stopped
    assert ended.progress.ledger.asked == 0


@contextmanager
def little_room(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond so many bytes."""
    usual, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    handled = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (usual, most))
        signal.signal(signal.SIGXFSZ, handled)


def test_a_disk_that_fills_up_stops_the_run_which_then_goes_on(tmp_path: Path) -> None:
    reply = "A" * 200  # so that the answers take more room than the audit
    with model_server(Script(reply=lambda body: reply)) as server:
        with pytest.raises(UserError) as told, little_room(6_000):
            ask(server.url, tmp_path, open_items(60))
        assert str(told.value).startswith(str(tmp_path / RESPONSES))
        assert "start the same run again" in str(told.value)
        kept = lines(tmp_path)
        assert 0 < len(kept) < 60
        assert all(line["text"] == reply for line in kept)
        ended = ask(server.url, tmp_path, open_items(60))
    assert ended.progress.before == len(kept)
    assert [line["item"] for line in content(tmp_path)] == [item.id for item in open_items(60)]


def test_what_stands_in_no_audit_as_a_whole_is_not_sent(tmp_path: Path) -> None:
    with model_server() as server:
        ask(server.url, tmp_path, open_items(1))
        room = (tmp_path / AUDIT).stat().st_size + 10
        with pytest.raises(UserError, match="full") as told, little_room(room):
            ask(server.url, tmp_path, open_items(60))
        assert str(told.value).startswith(str(tmp_path / AUDIT))
        assert str(told.value).endswith("the disk is full. Nothing was sent.")
        assert server.seen.requests == 1


def test_a_journal_that_cannot_be_written_anew_stays_as_it_was(tmp_path: Path) -> None:
    def function(item: Sample) -> str | None:
        return None if item.id == "item-001" else "A"

    model = PythonModel(function, MODEL, DataUseGuard({}, tmp_path / AUDIT))
    run_of(tmp_path, model).execute(open_items(3), RunConfig(concurrency=4, retries=QUICK))
    assert [line["outcome"] for line in lines(tmp_path)].count("errored") == 1
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(UserError, match="It is as it was") as told, little_room(100):
        Journal(tmp_path / RESPONSES).discard(lambda line: line["outcome"] == Outcome.ERRORED)
    assert str(told.value).startswith(str(tmp_path / RESPONSES))
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
