"""What calls cost is known after everything that can end a run, and held against its limit."""

from __future__ import annotations

import asyncio
import json
import stat
import subprocess
import sys
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from inference_runs import MODEL, QUICK, ask, content, lines, open_items, provider_of
from model_server import BAD_REQUEST, BROKEN_JSON, HANG, Body, Fault, Script, model_server

from medeval.errors import UserError
from medeval.inference.cost import CostLedger, Price, Prices, Spent, charged_in, kept_spending
from medeval.inference.run import RESPONSES, Run, RunConfig, settings_of
from medeval.inference.types import Outcome

# A call of the tests' server has 10 tokens out, at most 20: 0.1 and 0.2.
PRICES = Prices(price=(Price(model=MODEL, input=Decimal(0), output=Decimal(10_000)),))
COST, MOST = Decimal("0.1"), Decimal("0.2")
LIMITED = {"max_tokens": 20}
ERRORED = frozenset({Outcome.ERRORED})


def priced(**more: Any) -> RunConfig:
    return RunConfig(**{"prices": PRICES, "retries": QUICK, "concurrency": 1, **more})


def spent(folder: Path) -> Spent:
    found = kept_spending(folder / RESPONSES)
    assert found is not None
    return found


def test_a_limit_outlasts_items_that_are_asked_again(tmp_path: Path) -> None:
    options = priced(
        max_cost=4 * MOST, retries=replace(QUICK, attempts=3), retry=ERRORED
    )  # three attempts, each booked at the most
    with model_server(Script(lambda body, before: BROKEN_JSON)) as server:
        for _ in range(3):
            ask(server.url, tmp_path, open_items(1), options, parameters=LIMITED)
        assert server.seen.requests == 4
    assert spent(tmp_path) == Spent(Decimal(0), 4, 4 * MOST)


def test_calls_of_an_item_without_a_line_are_counted(tmp_path: Path) -> None:
    options = priced(max_cost=3 * MOST)
    with model_server(Script(lambda body, before: BROKEN_JSON)) as server:
        ended = ask(server.url, tmp_path, open_items(1), options, parameters=LIMITED)
        assert lines(tmp_path) == []
        assert ended.spent == Spent(Decimal(0), 3, 3 * MOST)
        assert "the limit of 0.6, of which 0.6 is spent" in ended.stopped
        again = ask(server.url, tmp_path, open_items(1), options, parameters=LIMITED)
        assert server.seen.requests == 3
    assert again.spent == ended.spent


def test_costs_that_are_known_are_those_of_all_calls(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        return BROKEN_JSON if not before else None

    with model_server(Script(fault)) as server:
        ended = ask(server.url, tmp_path, open_items(3), priced(), parameters=LIMITED)
    assert ended.spent == Spent(3 * COST, 3, 3 * COST)
    assert ended.spent.as_json() == {"cost": None, "cost_of_known": "0.3", "unknown_calls": 3}


def test_a_failed_call_that_is_not_billed_costs_nothing_also_under_a_limit(tmp_path: Path) -> None:
    with model_server(Script(lambda body, before: BAD_REQUEST)) as server:
        options = priced(max_cost=MOST)
        ended = ask(server.url, tmp_path, open_items(3), options, parameters=LIMITED)
        assert server.seen.requests == 3
    assert ended.spent == Spent()


KILLED = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from inference_runs import ask, open_items
from test_inference_spending import LIMITED, priced
options = priced(max_cost=9, concurrency=2)
ask(sys.argv[2], Path(sys.argv[3]), open_items(2), options, parameters=LIMITED)
"""


@pytest.mark.slow
def test_calls_under_way_when_a_run_is_killed_are_booked_at_the_most(tmp_path: Path) -> None:
    with model_server(Script(lambda body, before: HANG)) as server:
        tests = str(Path(__file__).parent)
        process = subprocess.Popen([sys.executable, "-c", KILLED, tests, server.url, str(tmp_path)])
        deadline = time.monotonic() + 60
        while server.seen.requests < 2:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.kill()
        process.wait()
    assert spent(tmp_path) == Spent(Decimal(0), 2, 2 * MOST)


def test_calls_that_are_cancelled_are_booked_at_the_most(tmp_path: Path) -> None:
    async def cancelled(url: str) -> None:
        provider = provider_of(url, tmp_path, parameters=LIMITED)
        run = Run(tmp_path, settings_of(provider, ""), provider)
        options = priced(max_cost=Decimal(9))
        running = asyncio.create_task(run.process(open_items(1), options))
        while not server.seen.requests:
            await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    with model_server(Script(lambda body, before: HANG)) as server:
        asyncio.run(cancelled(server.url))
    assert spent(tmp_path) == Spent(Decimal(0), 1, MOST)


def test_without_prices_nothing_is_written_and_with_a_file_unknown_is_added(tmp_path: Path) -> None:
    with model_server() as server:
        ended = ask(server.url, tmp_path, open_items(2), parameters=LIMITED)
        assert ended.spent is None
        assert kept_spending(tmp_path / RESPONSES) is None
        # Two calls of which nobody knew the price, then two that have one, then one without again.
        ended = ask(server.url, tmp_path, open_items(4), priced(), parameters=LIMITED)
        assert ended.spent == Spent(2 * COST, 2, 2 * COST)
        ended = ask(server.url, tmp_path, open_items(5), parameters=LIMITED)
    assert ended.spent == Spent(2 * COST, 3, 2 * COST)
    path = tmp_path / "spent-responses.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_run_from_before_is_charged_with_what_its_lines_say(tmp_path: Path) -> None:
    with model_server() as server:
        ask(server.url, tmp_path, open_items(3), priced(), parameters=LIMITED)
        (tmp_path / "spent-responses.jsonl").unlink()
        assert charged_in(tmp_path) == 3 * COST
        options = priced(max_cost=3 * COST + MOST)
        ended = ask(server.url, tmp_path, open_items(9), options, parameters=LIMITED)
        assert server.seen.requests == 4  # a second one could cost more than is left
    assert ended.spent == Spent(4 * COST, 0, 4 * COST)
    assert spent(tmp_path) == ended.spent


def test_what_is_spent_in_a_folder_is_that_of_all_its_journals(tmp_path: Path) -> None:
    for name, cost in (
        ("spent-responses.jsonl", "1"),
        ("spent-judgments-a.jsonl", "0.5"),
        ("judging-2/spent-judgments.jsonl", "0.25"),
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'{{"call":1,"cost":"{cost}","charged":"{cost}"}}\n')
    assert charged_in(tmp_path) == Decimal("1.75")
    assert charged_in(tmp_path, beside=tmp_path / RESPONSES) == Decimal("0.75")
    assert charged_in(tmp_path, beside=tmp_path / "judgments") == Decimal("1.25")
    assert charged_in(tmp_path, beside=tmp_path / "judging-2" / "judgments") == Decimal("1.5")


def test_a_torn_last_line_is_dropped_and_a_broken_one_is_named(tmp_path: Path) -> None:
    journal, path = tmp_path / RESPONSES, tmp_path / "spent-responses.jsonl"
    whole = '{"call":1,"charged":"0.5"}\n'
    path.write_text(whole + '{"call":1,"co')
    with CostLedger(journal) as spending:
        assert spending.before == Spent(Decimal(0), 1, Decimal("0.5"))
        spending.end(spending.begin(Decimal(0)), COST, COST, is_new=True)
    assert path.read_text() == whole + '{"call":2,"cost":"0.1","charged":"0.1"}\n'
    for broken in ("{}\n", "[1]\n", '{"call":3,"charged":"much"}\n', "{\n"):
        path.write_text(whole + broken)
        with pytest.raises(UserError, match=r"spent-responses\.jsonl, line 2"):
            kept_spending(journal)


def test_what_cannot_be_written_is_told_before_the_next_call_and_loses_no_reply(
    tmp_path: Path,
) -> None:
    with model_server() as server:
        # It cannot be made there, as on a disk without room.
        (tmp_path / "spent-responses.jsonl").symlink_to(tmp_path / "nowhere" / "file")
        with pytest.raises(UserError, match=r"spent-responses\.jsonl: what a call costs could not"):
            ask(server.url, tmp_path, open_items(3), priced(), parameters=LIMITED)
        assert server.seen.requests == 1
    assert [line["outcome"] for line in content(tmp_path)] == ["answered"]


@pytest.mark.parametrize("outcome", [ValueError("no"), UserError("no")])
def test_a_reply_that_cannot_be_read_is_kept_before_that_is_told(
    tmp_path: Path, outcome: Exception
) -> None:
    def can_read(item: object, reply: str) -> bool:
        raise outcome

    with model_server() as server:
        with pytest.raises(type(outcome), match="no"):
            ask(server.url, tmp_path, open_items(2), priced(can_read=can_read))
        assert [line["outcome"] for line in content(tmp_path)] == ["unparsed"]
        ask(server.url, tmp_path, open_items(2), priced())
        assert server.seen.requests == 2


def test_replies_under_way_are_kept_when_one_cannot_be_read(tmp_path: Path) -> None:
    def can_read(item: Any, reply: str) -> bool:
        if item.id == "item-003":
            raise RuntimeError("no")
        return True

    def fault(body: Body, before: int) -> Fault | None:
        return None if "item-003" in json.dumps(body) else Fault(seconds=0.3)

    options = priced(can_read=can_read, concurrency=4)
    with model_server(Script(fault)) as server, pytest.raises(RuntimeError, match="no"):
        ask(server.url, tmp_path, open_items(4), options)
    assert [line["outcome"] for line in content(tmp_path)] == [*["answered"] * 3, "unparsed"]
