"""What endpoints do and what becomes of a run: by a table, and where a table cannot say it."""

from __future__ import annotations

import random
import resource
import signal
import socket
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from commands import contents
from inference_runs import (
    MODEL,
    QUICK,
    TURNS,
    Dialogue,
    ask,
    content,
    lines,
    open_items,
    run_of,
    run_record,
    usual_answer,
)
from model_server import (
    LIMIT,
    SERVER,
    Body,
    Fault,
    ModelServer,
    RuledEndpoint,
    Script,
    error,
    model_server,
    slow,
)
from tables import read_lines, refused, rows_of, table

from medeval.errors import UserError
from medeval.inference.cost import Budget, Price, Prices, kept_spending
from medeval.inference.errors import RetryPolicy
from medeval.inference.guard import DataUseGuard, Endpoint
from medeval.inference.journal import Journal
from medeval.inference.python_model import PythonModel
from medeval.inference.run import AUDIT, RESPONSES, STEPS, Progress, RunConfig, read_answers
from medeval.inference.types import Episode, Outcome, Sample

# What a start of a run is given; the rest of a row is expected of it.
GIVEN = {
    *("items", "dialogues", "prompts", "system", "data_class", "asks", "fails", "too_long"),
    *("reads", "rules", "parameters", "concurrency", "attempts", "timeout", "retry"),
    *("max_cost", "priced", "declared"),
}


@pytest.mark.parametrize("row", rows_of("endpoint_runs"))
def test_run_ends_as_the_table_says(row: dict[str, Any], tmp_path: Path) -> None:
    # What is given stays from start to start; what is expected does not.
    given = {name: row[name] for name in GIVEN & set(row)}
    expected = {name: row[name] for name in set(row) - GIVEN - {"starts"}}
    with model_server() as server:
        for start in row.get("starts", [expected]):
            given |= {name: start[name] for name in GIVEN & set(start)}
            hold(given, {n: v for n, v in start.items() if n not in GIVEN}, server, tmp_path)


def hold(
    given: Mapping[str, Any], expected: dict[str, Any], server: ModelServer, folder: Path
) -> None:
    """Start a run and compare what comes of it; `expected` names sums, texts and lines."""
    assert expected
    server.script = RuledEndpoint([*given.get("rules", []), {"text": "A"}]).script
    for name in expected.pop("forget", []):
        (folder / name).unlink()
    for name in expected.pop("blocked", []):
        (folder / name).mkdir()
    asked, connected = server.seen.requests, server.seen.connections
    before = content(folder) if (folder / RESPONSES).exists() else []
    declared = {server.url: Endpoint(base_url=server.url, runs_locally=True)}
    gate = DataUseGuard(declared if given.get("declared") else {}, folder / AUDIT)
    found: dict[str, Any] = {"raises": "", "stopped": ""}
    model = {"parameters": given.get("parameters", {}), "timeout": given.get("timeout", 5.0)}
    try:
        ended = ask(server.url, folder, samples_of(given), config_of(given), gate, **model)
    except UserError as error:
        found["raises"] = str(error)
    else:
        found["stopped"], counts = ended.stopped, ended.progress.ledger.as_json()
        assert counts.pop("asked") == sum(counts.values())
        found["counts"] = {name: count for name, count in counts.items() if count}
        found["errors"] = dict(ended.progress.errors)
        found |= {"before": ended.progress.before, "cost": str(ended.progress.spent.known)}
        found["uncounted"], spent = ended.progress.uncounted, ended.spent
        found["spent"] = spent and [str(spent.cost), spent.unknown, str(spent.charged)]
        assert kept_spending(folder / RESPONSES) == spent
        assert not (spent and "max_cost" in given) or spent.charged <= given["max_cost"]
    for name in ("raises", "stopped"):
        told = expected.pop(name, "")
        assert told in found[name]
        assert bool(told) == bool(found[name])
    files = [path for path in folder.iterdir() if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    written = "".join(path.read_text(encoding="utf-8") for path in files)
    assert expected.pop("nowhere", "\0") not in written + found["raises"] + found["stopped"]
    assert expected.pop("kept", "") in written
    found["requests"] = server.seen.requests - asked
    found["connections"] = server.seen.connections - connected
    assert expected.pop("at_least", 0) <= found["requests"] <= expected.pop("at_most", 1_000)
    assert_has(server.seen.bodies[-1:], expected.pop("sent", []))
    journal = content(folder)
    assert_has(journal, expected.pop("lines", []))
    found |= {"outcomes": [line["outcome"] for line in journal], "unchanged": journal == before}
    found |= {"last": [line["item"] for line in lines(folder)][-1:]}
    found["reasons"] = [each for line in journal if (each := line.get("episode", {}).get("reason"))]
    audit = read_lines(folder / AUDIT) if (folder / AUDIT).is_file() else []
    found["audit"] = sorted(f"{line['data_class']} {line['ground']}" for line in audit)
    found["learned"] = run_record(folder)["learned"]
    found["recorded"] = run_record(folder).get("errored", {})
    found["turns"] = [f"{line['item']}/{line['turn']}" for line in turns_in(folder)]
    assert {name: found[name] for name in expected} == expected


def assert_has(found: Any, expected: Any) -> None:
    """Hold that what is expected is there: of an object some keys, of a list each in its place."""
    if isinstance(expected, dict):
        for name, value in expected.items():
            assert (name in found) == (value != "absent"), name
            if value != "absent":
                assert_has(found[name], value)
    elif isinstance(expected, list):
        for each, value in zip(found, expected, strict=bool(expected)):
            assert_has(each, value)
    else:
        assert found == expected


def samples_of(given: Mapping[str, Any]) -> Iterator[Sample | Episode]:
    """Yield what is asked: of a number so many, and of names each; `a/1` is a further sample."""
    closed = given.get("data_class", "open")
    by_name = closed if isinstance(closed, dict) else {}
    of_all = {"data_class": "open" if by_name else closed, "parameters": given.get("asks", {})}
    system = [{"role": "system", "content": given["system"]}] if "system" in given else []
    prompts = [(f"{number:03}", prompt) for number, prompt in enumerate(given.get("prompts", ()))]
    prompts += [(name, f"question {name}") for name in names_of(given.get("items", 0), "item")]
    for name, prompt in prompts:
        item, _, sample = name.partition("/")
        messages = [*system, {"role": "user", "content": prompt}]
        its = {"data_class": by_name[name]} if name in by_name else {}
        yield Sample(item, messages, sample=int(sample or 0), **{**of_all, **its})
    for name in names_of(given.get("dialogues", 0), "case"):
        item, _, sample = name.partition("/")
        fails, too_long = given.get("fails", {}).get(name, ""), given.get("too_long", "unparsed")
        yield Dialogue(item, sample=int(sample or 0), fails=fails, too_long=too_long, **of_all)


def names_of(many: int | list[str], kind: str) -> list[str]:
    return many if isinstance(many, list) else [f"{kind}-{number:03}" for number in range(many)]


def config_of(given: Mapping[str, Any]) -> RunConfig:
    # Each reply costs 10, and 20 at the most where 20 tokens are allowed.
    price = Price(model=MODEL, input=Decimal(0), output=Decimal(1_000_000))
    limit = given.get("max_cost")
    return RunConfig(
        concurrency=given.get("concurrency", 4),
        retries=RetryPolicy(given.get("attempts", 8), first_wait=0.01, longest_wait=0.05),
        retry=frozenset(map(Outcome, given.get("retry", ()))),
        can_read=(lambda item, answer: answer in ("A", "C")) if given.get("reads") else None,
        prices=Prices(price=(price,)) if given.get("priced", limit) else Prices(),
        budget=Budget(Decimal(limit) if limit else None),
    )


def turns_in(folder: Path) -> list[dict[str, Any]]:
    """Return the turns of all conversations in their order, without what differs by run."""
    path = folder / STEPS
    kept = [without(line, "measured") for line in read_lines(path)] if path.exists() else []
    return sorted(kept, key=lambda line: (line["item"], line["sample"], line["turn"]))


def without(line: dict[str, Any], left_out: str) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name != left_out}


@pytest.mark.parametrize("turns", [1, TURNS])
def test_samples_under_faults_all_end_answered_and_in_order(tmp_path: Path, turns: int) -> None:
    chance = random.Random(7)
    # An endpoint that meets one of these answers when it is asked again.
    faults = [Fault(**rule) for rule in table("journal")["passing"]]
    script = Script(lambda body, before: chance.choice(faults) if chance.random() < 0.2 else None)
    items = open_items(160 // turns)
    samples = items if turns == 1 else [Dialogue(item.id) for item in items]
    with model_server(script) as server:
        ended = ask(server.url, tmp_path, samples, RunConfig(concurrency=16, retries=QUICK))
        assert server.seen.requests == 160 + ended.progress.retries
        assert server.seen.most_open <= 16
    assert ended.stopped == ""
    assert ended.progress.retries > 20
    assert ended.progress.ledger[Outcome.ANSWERED] == ended.progress.ledger.asked == len(items)
    assert (ended.progress.input_tokens, ended.progress.output_tokens) == (16_000, 1_600)
    answers = list(read_answers(tmp_path / RESPONSES, items))
    assert [answer.item for answer in answers] == [item.id for item in items]
    asked = [(item.id, turn) for item in items for turn in range(turns)]
    if turns == 1:
        assert [answer.answer for answer in answers] == [usual_answer(item) for item in items]
    else:
        steps = turns_in(tmp_path)
        assert [(line["item"], line["turn"]) for line in steps] == asked
        last = [line["text"] for line in steps if line["turn"] == turns - 1]
        assert [answer.answer for answer in answers] == last
    assert len((tmp_path / AUDIT).read_text().splitlines()) == 160 + ended.progress.retries


def test_items_are_read_as_they_are_needed_and_a_broken_one_ends_the_run(tmp_path: Path) -> None:
    ended = most_ahead = 0

    def note(progress: Progress) -> None:
        nonlocal ended
        ended = progress.ledger.asked

    def items() -> Iterator[Sample]:
        nonlocal most_ahead
        for number, item in enumerate(open_items(40)):
            most_ahead = max(most_ahead, number - ended)
            yield item
        raise UserError("line 41 is broken")

    options = RunConfig(concurrency=3, retries=QUICK, on_progress=note)
    with model_server() as server, pytest.raises(UserError, match="line 41 is broken"):
        ask(server.url, tmp_path, items(), options)
    assert most_ahead <= 3
    # Those under way came to their ends.
    assert [line["outcome"] for line in lines(tmp_path)] == ["answered"] * 40


@pytest.mark.parametrize("status", [429, 503])
def test_a_told_wait_is_kept_and_kept_by_all(tmp_path: Path, status: int) -> None:
    told = error(status, "slow down", {"Retry-After": "0.6"})
    times: list[float] = []

    def fault(body: Body, before: int) -> Fault | None:
        times.append(time.monotonic())
        # The second item is under way when the first is told to wait; both go on after it.
        return told if len(times) == 1 else slow(0.2) if len(times) == 2 else None

    with model_server(Script(fault)) as server:
        ask(server.url, tmp_path, open_items(5), RunConfig(concurrency=2, retries=QUICK))
    assert len(times) == 6
    assert times[2] - times[0] >= 0.6


def test_only_a_call_that_was_one_too_many_means_fewer_at_a_time(tmp_path: Path) -> None:
    all_slots = threading.Barrier(4)

    def fault(body: Body, before: int) -> Fault | None:
        if before == 0:
            return SERVER
        all_slots.wait(timeout=30)
        return None

    options = RunConfig(concurrency=4, retries=QUICK)
    with model_server(Script(fault)) as server:
        ended = ask(server.url, tmp_path, open_items(12), options, timeout=60.0)
    assert ended.progress.ledger[Outcome.ANSWERED] == 12


# What went wrong for others: endpoints that go away, full disks


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
        with little_room(room):
            told = refused("full", ask, server.url, tmp_path, open_items(60))
        assert told.startswith(str(tmp_path / AUDIT))
        assert told.endswith("the disk is full. Nothing was sent.")
        assert server.seen.requests == 1


def test_a_journal_that_cannot_be_written_anew_stays_as_it_was(tmp_path: Path) -> None:
    def function(item: Sample) -> str | None:
        return None if item.id == "item-001" else "A"

    model = PythonModel(function, MODEL, DataUseGuard({}, tmp_path / AUDIT))
    run_of(tmp_path, model).execute(open_items(3), RunConfig(concurrency=4, retries=QUICK))
    assert [line["outcome"] for line in lines(tmp_path)].count("errored") == 1
    before = contents(tmp_path)
    with pytest.raises(UserError, match="It is as it was") as told, little_room(100):
        Journal(tmp_path / RESPONSES).discard(lambda line: line["outcome"] == Outcome.ERRORED)
    assert str(told.value).startswith(str(tmp_path / RESPONSES))
    assert contents(tmp_path) == before
