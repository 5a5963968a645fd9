"""What went wrong for others who asked models: limits, lost endpoints, cost, credentials."""

from __future__ import annotations

import json
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from inference_runs import (
    MODEL,
    QUICK,
    ask,
    content,
    lines,
    open_item,
    open_items,
)
from model_server import (
    DROP,
    LIMIT,
    QUOTA,
    Body,
    Fault,
    ModelServer,
    Script,
    error,
    model_server,
    prompt_of,
    slow,
)

from medeval.errors import UserError
from medeval.inference.batch import custom_id, import_batch
from medeval.inference.cost import Budget, Price, Prices, read_prices
from medeval.inference.endpoints import Endpoint
from medeval.inference.guard import DataUseGuard, RefusedError
from medeval.inference.journal import Journal
from medeval.inference.openai_model import OpenAIModel
from medeval.inference.python_model import PythonModel
from medeval.inference.run import (
    AUDIT,
    RESPONSES,
    Run,
    RunConfig,
    RunResult,
    settings_of,
)
from medeval.inference.types import CREDENTIALED, Item, Outcome
from medeval.models.clinical_case import read_case
from medeval.yier.replies import Extraction, read_reply

# Seconds that a thread of a test waits for what must not come.
PATIENCE = 60
OPENAI = "https://api.openai.com/v1"


def asked_with(
    function: Callable[[Item], Any], folder: Path, items: Iterable[Item], **more: Any
) -> RunResult:
    """Run a function of this process over items."""
    provider = PythonModel(function, MODEL, DataUseGuard({}, folder / AUDIT), **more)
    run = Run(folder, settings_of(provider, ""), provider)
    return run.execute(items, RunConfig(concurrency=4, retries=QUICK))


# Limits and quota


def http_date(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


def test_a_wait_until_a_date_is_kept(tmp_path: Path) -> None:
    times: list[float] = []

    def once(body: Body, before: int) -> Fault | None:
        times.append(time.monotonic())
        # A date has no fractions of a second.
        return None if before else error(429, "later", {"Retry-After": http_date(2.5)})

    with model_server(Script(once)) as server:
        ended = ask(server.url, tmp_path, [open_item("one")])
    assert ended.progress.ledger[Outcome.ANSWERED] == 1
    assert times[1] - times[0] >= 1.4


def test_a_used_up_quota_is_asked_once_however_large_the_prompt(tmp_path: Path) -> None:
    item = Item("large", [{"role": "user", "content": "x" * 1_100_000}], "open")
    with model_server(Script(lambda body, before: QUOTA)) as server:
        ended = ask(server.url, tmp_path, [item, *open_items(8)])
        assert server.seen.count(str(item.messages[0]["content"])) == 1
        # The first request goes ahead of the others, which then stay here.
        assert server.seen.requests == 1
    assert "quota is used up" in ended.stopped


def test_an_endpoint_that_takes_fewer_at_a_time_answers_all_with_few_refusals(
    tmp_path: Path,
) -> None:
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


# An endpoint that is not there


def test_nobody_listening_stops_the_run_and_nothing_is_lost(tmp_path: Path) -> None:
    items = open_items(300)
    with model_server() as server:
        url = server.url
    options = RunConfig(concurrency=4, retries=replace(QUICK, attempts=3))
    ended = ask(url, tmp_path, items, options)
    assert "no connection" in ended.stopped
    assert url in ended.stopped
    assert "5 items in a row" in ended.stopped
    assert ended.progress.ledger.asked == 0
    assert lines(tmp_path) == []


@pytest.mark.parametrize("concurrency", [1, 3, 8])
@pytest.mark.parametrize("away", [DROP, error(502, "Bad Gateway"), error(504, "Timeout")])
def test_an_endpoint_that_goes_away_stops_the_run_which_then_goes_on(
    tmp_path: Path, concurrency: int, away: Fault
) -> None:
    items = open_items(60)
    is_away = False
    answered = 0

    def fault(body: Body, before: int) -> Fault | None:
        nonlocal answered, is_away
        answered += not is_away
        is_away = is_away or answered > 20
        return away if is_away else None

    options = RunConfig(concurrency=concurrency, retries=replace(QUICK, attempts=2))
    with model_server(Script(fault)) as server:
        ended = ask(server.url, tmp_path, items, options)
        assert server.url in ended.stopped
        done = ended.progress.ledger[Outcome.ANSWERED]
        assert done == ended.progress.ledger.asked == 20
        assert server.seen.requests <= 20 + 2 * (5 + concurrency)
        is_away, answered = False, -1_000
        ended = ask(server.url, tmp_path, items, options)
    assert ended.stopped == ""
    assert ended.progress.before == 20
    assert ended.progress.ledger[Outcome.ANSWERED] == len(lines(tmp_path)) == 60


@pytest.mark.parametrize("concurrency", [1, 4])
def test_items_that_break_the_connection_are_errors_where_others_are_answered(
    tmp_path: Path, concurrency: int
) -> None:
    """Even several in a row, if fewer than would mean that nobody is there."""
    poisoned = {f"question item-{number:03}" for number in (0, 1, 2, 3, 9, 10, 19)}
    options = RunConfig(concurrency=concurrency, retries=replace(QUICK, attempts=2))
    script = Script(lambda body, before: DROP if prompt_of(body) in poisoned else None)
    with model_server(script) as server:
        ended = ask(server.url, tmp_path, open_items(20), options)
        assert server.seen.requests == 13 + 2 * 7
    assert ended.stopped == ""
    assert ended.progress.ledger[Outcome.ANSWERED] == 13
    assert ended.progress.errors == {"connection": 7}
    assert ended.progress.ledger.asked == len(lines(tmp_path)) == 20


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


# A function that hangs


def test_a_function_that_hangs_holds_up_no_other_item_nor_the_end(tmp_path: Path) -> None:
    # As many as may be under way at once.
    hanging = {f"item-{number:03}" for number in (3, 4, 5, 6)}
    never = threading.Event()
    waited_for: list[str] = []

    def function(item: Item) -> str:
        if item.id in hanging:
            # Whoever waits for a function to return gets an answer at last, which is one too many.
            never.wait(PATIENCE)
            waited_for.append(item.id)
        return "A"

    ended = asked_with(function, tmp_path, open_items(40), timeout=0.5)
    assert waited_for == []
    never.set()
    assert ended.progress.ledger[Outcome.ANSWERED] == 36
    assert ended.progress.errors == {"callable": 4}
    failed = [line for line in lines(tmp_path) if line["outcome"] == "errored"]
    assert {line["item"] for line in failed} == hanging
    assert {line["error"]["code"] for line in failed} == {"TimeoutError"}
    assert all("0.5 seconds" in line["error"]["detail"] for line in failed)
    assert all(line["measured"]["attempts"] == 1 for line in failed)


HANGS = """
import sys, threading
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_field_cases_models import asked_with, open_items
hang = lambda item: threading.Event().wait() if item.id == "item-001" else "A"
print(asked_with(hang, Path(sys.argv[2]), open_items(3), timeout=0.2).progress.ledger.as_json())
"""


def test_a_process_ends_though_a_function_still_hangs(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HANGS, str(Path(__file__).parent), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "'answered': 2" in done.stdout


# Resume


def with_little_room(url: str, folder: str) -> str:
    """Run when files may not grow beyond a few answers; return what it told."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, most))
    try:
        ask(url, Path(folder), open_items(60))
    except UserError as told:
        return str(told)
    return "nothing"


def test_a_disk_that_fills_up_stops_the_run_which_then_goes_on(tmp_path: Path) -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    reply = "A" * 200  # so that the answers take more room than the audit
    with model_server(Script(reply=lambda body: reply)) as server:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            told = pool.submit(with_little_room, server.url, str(tmp_path)).result()
        assert told.startswith(str(tmp_path / RESPONSES))
        assert "start the same run again" in told
        kept = lines(tmp_path)
        assert 0 < len(kept) < 60
        assert all(line["text"] == reply for line in kept)
        ended = ask(server.url, tmp_path, open_items(60))
    assert ended.progress.before == len(kept)
    assert [line["item"] for line in content(tmp_path)] == [item.id for item in open_items(60)]


def taken_out_with_little_room(path: str) -> str:
    """Open a journal to ask an item again when there is no room for writing it anew."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, most))
    try:
        Journal(Path(path), lambda line: line["outcome"] == Outcome.ERRORED)
    except UserError as told:
        return str(told)
    return "nothing"


def test_a_journal_that_cannot_be_written_anew_stays_as_it_was(tmp_path: Path) -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    def function(item: Item) -> str:
        if item.id == "item-001":
            raise ValueError
        return "A"

    asked_with(function, tmp_path, open_items(3))
    path = tmp_path / RESPONSES
    assert [line["outcome"] for line in lines(tmp_path)].count("errored") == 1
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        told = pool.submit(taken_out_with_little_room, str(path)).result()
    assert told.startswith(str(path))
    assert "It is as it was" in told
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


# Replies that the task cannot read

SIGNS = ["发热", "咳嗽", "皮疹", "腹痛"]


def can_read(item: Item, answer: str) -> bool:
    """Tell whether a reply to one of the items below is an answer; its options are its own."""
    options = SIGNS if int(item.id[-3:]) % 2 else SIGNS[::-1]
    return read_reply(answer, options).extraction is not Extraction.UNPARSED


def test_one_broken_reply_in_two_hundred_is_unparsed_and_not_wrong(tmp_path: Path) -> None:
    def reply(body: Body) -> str:
        is_broken = prompt_of(body) == "question item-137"
        return '{"answer": ["A", "C"' if is_broken else '{"answer": ["A", "C"]}'

    options = RunConfig(concurrency=16, retries=QUICK, can_read=can_read)
    with model_server(Script(reply=reply)) as server:
        ended = ask(server.url, tmp_path, open_items(200), options)
        assert server.seen.requests == 200  # a reply that came whole is not asked for again
    counts = ended.progress.ledger.as_json()
    assert (counts["asked"], counts["answered"], counts["unparsed"]) == (200, 199, 1)
    (broken,) = [line for line in lines(tmp_path) if line["outcome"] == "unparsed"]
    assert (broken["item"], broken["text"]) == ("item-137", '{"answer": ["A", "C"')


def test_a_batch_is_read_as_a_live_run_is(tmp_path: Path) -> None:
    items = open_items(3)
    asked = {"endpoint": "http://127.0.0.1:9/v1", "model": MODEL, "parameters": {}}
    run = Run(tmp_path, {**asked, "prompt_version": ""})
    replies = ["答案：A", "除了B都对", "<think>A</think>C"]
    answers = tmp_path / "answers.jsonl"
    with answers.open("w", encoding="utf-8") as file:
        for request, reply in zip(run.requests(items), replies, strict=True):
            choice = {"message": {"content": reply}, "finish_reason": "stop"}
            response = {"status_code": 200, "body": {"choices": [choice]}}
            file.write(json.dumps({"custom_id": custom_id(request), "response": response}) + "\n")
    import_batch(run, items, [answers], can_read=can_read)
    outcomes = [line["outcome"] for line in content(tmp_path)]
    assert outcomes == ["answered", "unparsed", "answered"]


# Cost

PRICE = Price(model=MODEL, input=Decimal(2), output=Decimal(5))
LIMITED = {"max_tokens": 20}
# One call of the tests' server at that price: 100 tokens in, 10 out.
COST = Decimal("0.00025")


PRICES = """
[[price]]
model = "tested-model"
input = 2
cached_input = 0.5
output = 5
reasoning_output = 8
"""


def test_cached_and_reasoning_tokens_have_their_own_prices(tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(PRICES)
    prices = read_prices(tmp_path / "prices.toml")
    usage = {
        "prompt_tokens": 100,
        "prompt_tokens_details": {"cached_tokens": 40},
        "completion_tokens": 10,
        "completion_tokens_details": {"reasoning_tokens": 6},
    }
    options = RunConfig(retries=QUICK, prices=prices)
    items = open_items(5)
    with model_server(Script(usage=usage)) as server:
        ended = ask(server.url, tmp_path / "run", items, options, parameters=LIMITED)
    each = (60 * Decimal(2) + 40 * Decimal("0.5") + 4 * Decimal(5) + 6 * Decimal(8)) / 1_000_000
    assert ended.progress.known_cost == 5 * each
    # At most: nothing read from the cache, and all of the longest reply thought.
    (price,) = prices.price
    assert price.at_most(100, 20) == (100 * Decimal(2) + 20 * 8) / Decimal(1_000_000)


def test_the_limit_holds_over_model_judges_and_retries_together(tmp_path: Path) -> None:
    """Every other call breaks off, and is booked at the most that it can have cost."""
    budget = Budget(14 * COST)
    script = Script(lambda body, before: DROP if before == 0 else None)
    stopped = []
    with model_server(script) as server:
        for name in ("model", "judge", "second judge"):
            options = RunConfig(
                concurrency=3, retries=QUICK, prices=Prices(price=(PRICE,)), budget=budget
            )
            items = [open_item(f"{name} {number}") for number in range(4)]
            place = tmp_path / name
            stopped.append(ask(server.url, place, items, options, parameters=LIMITED).stopped)
        assert server.seen.requests * COST <= budget.spent
    assert budget.spent <= 14 * COST
    assert "exceed the limit" in stopped[-1]
    booked = [
        Decimal(line["measured"]["charged"])
        for name in ("model", "judge", "second judge")
        for line in lines(tmp_path / name)
    ]
    assert 0 < sum(booked) <= budget.spent


def test_what_was_never_connected_costs_nothing(tmp_path: Path) -> None:
    with model_server() as server:
        url = server.url
    budget = Budget(8 * COST)
    options = RunConfig(
        retries=replace(QUICK, attempts=3), prices=Prices(price=(PRICE,)), budget=budget
    )
    ended = ask(url, tmp_path, open_items(3), options, parameters=LIMITED)
    assert ended.progress.errors == {"connection": 3}
    assert (budget.spent, ended.progress.known_cost) == (0, 0)


# Credentialed text to an open endpoint

CASE = {
    "hadm_id": 20000001,
    "pathology": "appendicitis",
    "demographics": None,
    "history_of_present_illness": "Mr. Quillfeather presented with rebound tenderness.",
    "lab_results": [],
    "microbiology_events": [],
    "radiology_reports": [],
    "physical_exams": "",
    "ground_truth": {"primary_diagnosis": ["Acute appendicitis"], "treatments": []},
    "data_class": "credentialed",
}


def case_item(**changes: Any) -> Item:
    """Return the item of a case as its JSON says it; None takes a field out."""
    fields = {name: value for name, value in (CASE | changes).items() if value != "removed"}
    case = read_case(json.dumps(fields), "cases.jsonl, line 1")
    message = {"role": "user", "content": case.history_of_present_illness}
    return Item(str(case.hadm_id), [message], case.data_class)


@pytest.mark.parametrize("data_class", ["credentialed", "removed"])
@pytest.mark.parametrize("purpose", ["answer", "judgment"])
def test_a_case_goes_to_no_public_endpoint_neither_to_answer_nor_to_judge(
    tmp_path: Path, data_class: str, purpose: Any
) -> None:
    item = case_item(data_class=data_class)
    assert item.data_class == CREDENTIALED
    gate = DataUseGuard({}, tmp_path / AUDIT)
    provider = OpenAIModel(OPENAI, MODEL, gate, purpose=purpose)
    run = Run(tmp_path, settings_of(provider, ""), provider)
    with pytest.raises(RefusedError) as refusal:
        run.execute([item], RunConfig())
    told = str(refusal.value)
    assert OPENAI in told
    assert "endpoints.toml" in told
    assert "docs/data_use.md" in told
    assert "Nothing was sent" in told
    assert "Quillfeather" not in told
    # The audit has a line per request that went.
    assert not (tmp_path / AUDIT).exists()
    assert lines(tmp_path) == []


def test_this_machines_own_address_is_declared_or_gets_nothing(tmp_path: Path) -> None:
    with model_server() as proxy:
        for name in ("127.0.0.1", "localhost"):
            url = proxy.url.replace("127.0.0.1", name)
            with pytest.raises(RefusedError, match="runs_locally = true"):
                ask(url, tmp_path / name, [case_item()])
            # An attestation that does not hold is no declaration either.
            attested = Endpoint(base_url=url, zero_retention=True, who="somebody")
            gate = DataUseGuard({url: attested}, tmp_path / AUDIT, date(2026, 6, 1))
            with pytest.raises(RefusedError, match="no_training is not true"):
                ask(url, tmp_path / f"{name}-attested", [case_item()], gate=gate)
        assert (proxy.seen.connections, proxy.seen.bytes) == (0, 0)
        gate = DataUseGuard(
            {proxy.url: Endpoint(base_url=proxy.url, runs_locally=True)}, tmp_path / AUDIT
        )
        ended = ask(proxy.url, tmp_path / "declared", [case_item()], gate=gate)
    assert ended.progress.ledger[Outcome.ANSWERED] == 1
